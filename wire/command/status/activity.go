package status

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/shard/cluster"
)

// currentOpDocs returns the documents of the stage $currentOp: the operations of all servers over the store, or with
// localOps only those of this server. Manual: reference/operator/aggregation/currentOp.
func (s *State) currentOpDocs(o *cluster.Op, _ collection.Namespace, spec bson.Raw) ([]bson.Raw, error) {
	flag := func(name string) bool { return spec.Get(name).Truthy() }
	if flag("targetAllNodes") && s.ReplicaSet.Name != "" {
		return nil, mongoerr.New(mongoerr.FailedToParse, "The 'targetAllNodes' parameter of the $currentOp stage is for a mongos only")
	}
	a := currentOpArgs{
		Idle: flag("idleConnections"), Cursors: flag("idleCursors"), Truncate: flag("truncateOps"),
		Sessions: !spec.Has("idleSessions") || flag("idleSessions"),
		Own:      s.RequireAuth && !flag("allUsers"), User: o.User.Key(),
	}
	if flag("localOps") {
		return s.currentOps(a), nil
	}
	return s.allServers(o.Env.Context(), a), nil
}
