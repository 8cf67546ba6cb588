package command

import (
	"cmp"
	"slices"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/shard/cluster"
)

// Virtual is a collection that is made up when it is read: the users, what a sharded
// cluster keeps in its config database, told from the live catalog, and the like. A
// collection of that name that somebody made takes its place.
// Manual: reference/config-database, reference/local-database.
type Virtual struct {
	DB, Coll string
	Docs     func() []bson.Raw
	// WhenFilled leaves it out of listCollections while it has no documents.
	WhenFilled bool
	// OfMembers has a member of a replica set list it, although it is in config, of which
	// such a member has little.
	OfMembers bool
}

// AddVirtual adds virtual collections.
func (s *Server) AddVirtual(rows ...Virtual) {
	s.virtuals = append(s.virtuals, rows...)
	slices.SortFunc(s.virtuals, func(a, b Virtual) int { return cmp.Or(cmp.Compare(a.DB, b.DB), cmp.Compare(a.Coll, b.Coll)) })
}

// Virtuals are the virtual collections in the order of their names, but system.views, which
// each database has.
func (s *Server) Virtuals() []Virtual { return s.virtuals }

// findVirtual returns the row of a namespace, nil if it has none.
func (s *Server) findVirtual(ns collection.Namespace) *Virtual {
	for i := range s.virtuals {
		if v := &s.virtuals[i]; v.DB == ns.DB && v.Coll == ns.Coll {
			return v
		}
	}
	return nil
}

// VirtualDocs returns the documents of a virtual collection; ok is false when the
// namespace is none. It is what a cluster reads in the place of such a collection.
func (s *Server) VirtualDocs(_ *cluster.Op, ns collection.Namespace) (docs []bson.Raw, ok bool) {
	if ns.Coll == "system.views" {
		return s.viewDocs(ns.DB)
	}
	if v := s.findVirtual(ns); v != nil {
		return v.Docs(), true
	}
	return nil, false
}

// IsDerived reports a namespace without documents of its own, a view or a
// virtual collection: reads of it are aggregations.
func (c *Call) IsDerived(ns collection.Namespace) bool {
	if coll := c.Cluster.Catalog.Peek().Collection(ns); coll != nil {
		return coll.IsView()
	}
	return c.IsVirtual(ns) || c.Cluster.Catalog.Peek().Series(ns) != nil
}

// IsVirtual reports a namespace that is made up, so that reads of it go the way
// of views.
func (c *Call) IsVirtual(ns collection.Namespace) bool {
	if ns.Coll == "system.views" {
		return c.Cluster.Catalog.Peek().Collection(ns) == nil && c.HasViews(ns.DB)
	}
	return c.Server.findVirtual(ns) != nil && c.Cluster.Catalog.Peek().Collection(ns) == nil
}

// VirtualNames lists the virtual collections of a database that listCollections shows.
func (s *Server) VirtualNames(db string) (names []string) {
	for _, v := range s.virtuals {
		switch {
		case v.DB != db:
		case v.WhenFilled && len(v.Docs()) == 0:
		case db == "config" && s.ReplicaSet.Name != "" && !v.OfMembers:
		default:
			names = append(names, v.Coll)
		}
	}
	return names
}

// HasViews reports a database with views.
func (c *Call) HasViews(db string) bool {
	return slices.ContainsFunc(c.Cluster.Catalog.Peek().Collections(db), (*catalog.Collection).IsView)
}

// viewDocs is <db>.system.views. Manual: core/views.
func (s *Server) viewDocs(db string) (docs []bson.Raw, ok bool) {
	for _, coll := range s.Cluster.Catalog.Peek().Collections(db) {
		if !coll.IsView() {
			continue
		}
		b := bson.NewBuilder(nil)
		b.String("_id", coll.Namespace.String())
		b.Splice(coll.Options.Raw.Elements())
		docs = append(docs, b.Doc())
	}
	return docs, len(docs) > 0
}
