package command

import "github.com/cantledb/cantle/collection/catalog"

// EachMap visits everything that has partitions: all collections but views.
func (s *Server) EachMap(visit func(coll *catalog.Collection)) {
	for _, coll := range s.Cluster.Catalog.Peek().Collections("") {
		if coll.Map != nil {
			visit(coll)
		}
	}
}

// Sharded visits the sharded collections.
func (s *Server) Sharded(visit func(coll *catalog.Collection)) {
	for _, coll := range s.Cluster.Catalog.Peek().Collections("") {
		if coll.Sharded() {
			visit(coll)
		}
	}
}
