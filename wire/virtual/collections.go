package virtual

import (
	"cmp"
	"slices"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/shard/cluster"
)

// Collection is a collection that is made up when it is read: the users, what a sharded
// cluster keeps in its config database, told from the live catalog, and the like. A
// collection of that name that somebody made takes its place.
// Manual: reference/config-database, reference/local-database.
type Collection struct {
	DB, Coll string
	Docs     func() []bson.Raw
	// WhenFilled leaves it out of listCollections while it has no documents.
	WhenFilled bool
	// OfMembers has a member of a replica set list it, although it is in config, of which
	// such a member has little.
	OfMembers bool
}

// Collections are the virtual collections of a server, beside the catalog of its cluster.
type Collections struct {
	Cluster *cluster.Cluster
	rows    []Collection
}

// Add adds virtual collections, before the server serves.
func (v *Collections) Add(rows ...Collection) {
	v.rows = append(v.rows, rows...)
	slices.SortFunc(v.rows, func(a, b Collection) int { return cmp.Or(cmp.Compare(a.DB, b.DB), cmp.Compare(a.Coll, b.Coll)) })
}

// All are the virtual collections in the order of their names, but system.views, which
// each database has.
func (v *Collections) All() []Collection { return v.rows }

// find returns the row of a namespace, nil if it has none.
func (v *Collections) find(ns collection.Namespace) *Collection {
	for i := range v.rows {
		if row := &v.rows[i]; row.DB == ns.DB && row.Coll == ns.Coll {
			return row
		}
	}
	return nil
}

// Docs returns the documents of a virtual collection; ok is false when the
// namespace is none. It is what a cluster reads in the place of such a collection.
func (v *Collections) Docs(_ *cluster.Op, ns collection.Namespace) (docs []bson.Raw, ok bool) {
	if ns.Coll == "system.views" {
		return v.viewDocs(ns.DB)
	}
	if row := v.find(ns); row != nil {
		return row.Docs(), true
	}
	return nil, false
}

// IsDerived reports a namespace without documents of its own, a view or a
// virtual collection: reads of it are aggregations.
func (v *Collections) IsDerived(ns collection.Namespace) bool {
	if coll := v.Cluster.Catalog.Peek().Collection(ns); coll != nil {
		return coll.IsView()
	}
	return v.Is(ns) || v.Cluster.Catalog.Peek().Series(ns) != nil
}

// Is reports a namespace that is made up, so that reads of it go the way
// of views.
func (v *Collections) Is(ns collection.Namespace) bool {
	if ns.Coll == "system.views" {
		return v.Cluster.Catalog.Peek().Collection(ns) == nil && v.HasViews(ns.DB)
	}
	return v.find(ns) != nil && v.Cluster.Catalog.Peek().Collection(ns) == nil
}

// Names lists the virtual collections of a database that listCollections shows; member says
// that the server is shown as a member of a replica set.
func (v *Collections) Names(db string, member bool) (names []string) {
	for _, row := range v.rows {
		switch {
		case row.DB != db:
		case row.WhenFilled && len(row.Docs()) == 0:
		case db == "config" && member && !row.OfMembers:
		default:
			names = append(names, row.Coll)
		}
	}
	return names
}

// HasViews reports a database with views.
func (v *Collections) HasViews(db string) bool {
	return slices.ContainsFunc(v.Cluster.Catalog.Peek().Collections(db), (*catalog.Collection).IsView)
}

// viewDocs is <db>.system.views. Manual: core/views.
func (v *Collections) viewDocs(db string) (docs []bson.Raw, ok bool) {
	for _, coll := range v.Cluster.Catalog.Peek().Collections(db) {
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
