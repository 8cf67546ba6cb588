package status

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/shard/cluster"
)

// currentOpDocs is $currentOp. Manual: reference/operator/aggregation/currentOp.
func (s *State) currentOpDocs(o *cluster.Op, _ collection.Namespace, spec bson.Raw) ([]bson.Raw, error) {
	flag := func(name string) bool { return spec.Get(name).Truthy() }
	if flag("targetAllNodes") && s.ReplicaSet.Name != "" {
		return nil, mongoerr.New(mongoerr.FailedToParse, "The 'targetAllNodes' parameter of the $currentOp stage is for a mongos only")
	}
	return s.currentOps(currentOpArgs{
		idle: flag("idleConnections"), cursors: flag("idleCursors"), truncate: flag("truncateOps"),
		sessions: !spec.Has("idleSessions") || flag("idleSessions"),
		own:      s.RequireAuth && !flag("allUsers"), user: o.User,
	}), nil
}

// queryStatsDocs is $queryStats: there are none.
func (s *State) queryStatsDocs(*cluster.Op, collection.Namespace, bson.Raw) ([]bson.Raw, error) {
	return nil, nil
}
