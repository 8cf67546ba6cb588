package command

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/shard/cluster"
)

// stageInfo makes the documents of the aggregation stages about the server; it
// is cluster.Upper.Info.
// Errors: NotImplemented (238), NamespaceNotFound (26) and those of the stages.
func (s *Server) stageInfo(o *cluster.Op, ns collection.Namespace, kind string, spec bson.Raw) ([]bson.Raw, error) {
	for _, x := range s.sources {
		if x.Stage == kind {
			return x.Docs(o, ns, spec)
		}
	}
	return nil, mongoerr.NotImplementedYet(kind)
}
