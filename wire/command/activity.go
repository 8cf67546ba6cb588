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
func (s *Server) activityDocs(o *cluster.Op, _ collection.Namespace, kind string, spec bson.Raw) ([]bson.Raw, error) {
	if kind == "$currentOp" {
		flag := func(name string) bool { return spec.Get(name).Truthy() }
		return s.currentOps(currentOpArgs{
			idle: flag("idleConnections"), cursors: flag("idleCursors"), truncate: flag("truncateOps"),
			sessions: !hasField(spec, "idleSessions") || flag("idleSessions"),
			own:      s.RequireAuth && !flag("allUsers"), user: o.User,
		}), nil
	}
	var docs []bson.Raw
	own := session.OwnerOf(o.User)
	all := !s.RequireAuth || spec.Get("allUsers").Truthy()
	var of map[session.Owner]bool
	if list, ok := spec.Get("users").Array(); ok {
		var err error
		if of, err = parseUsers(list, kind+".users"); err != nil {
			return nil, err
		}
	}
	s.Sessions.Each(func(id session.ID, used time.Time) bool {
		if of != nil && !of[id.Owner] || of == nil && !all && id.Owner != own {
			return true
		}
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
