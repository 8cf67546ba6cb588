package command

import (
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/shard/cluster"
	"github.com/cantledb/cantle/wire/session"
)

// activityDocs makes the documents of the stages about what clients do.
// Manual: reference/operator/aggregation/currentOp, listSessions,
// listLocalSessions.
func (s *Server) activityDocs(_ *cluster.Op, _ collection.Namespace, kind string, spec bson.Raw) ([]bson.Raw, error) {
	if kind == "$currentOp" {
		flag := func(name string) bool { return spec.Get(name).Truthy() }
		return s.currentOps(currentOpArgs{
			idle: flag("idleConnections"), cursors: flag("idleCursors"), truncate: flag("truncateOps"),
			sessions: !hasField(spec, "idleSessions") || flag("idleSessions"),
		}), nil
	}
	var docs []bson.Raw
	s.Sessions.Each(func(id session.ID, used time.Time) bool {
		b := bson.NewBuilder(nil)
		b.BeginDoc("_id")
		b.Binary("id", 4, id.UUID[:])
		b.Binary("uid", 0, id.Owner[:])
		b.End()
		b.DateTime("lastUse", used.UnixMilli())
		docs = append(docs, b.Doc())
		return true
	})
	return docs, nil
}
