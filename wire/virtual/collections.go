package virtual

import (
	"cmp"
	"slices"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/shard/cluster"
)

// Collection is a virtual collection, whose documents are computed when it is read: the
// users, the config database of a sharded cluster, derived from the current catalog, and
// others. If a client creates a collection of the same name, that one replaces it.
// Manual: reference/config-database, reference/local-database.
type Collection struct {
	DB, Coll string
	Docs     func() []bson.Raw
	// WhenFilled omits the collection from listCollections while it has no documents.
	WhenFilled bool
	// OfMembers makes a member of a replica set list the collection although it is in config,
	// where such a member has few collections.
	OfMembers bool
}

// Collections are the virtual collections of a server, in addition to the catalog of its
// cluster.
type Collections struct {
	Cluster *cluster.Cluster
	rows    []Collection
}

// Add adds virtual collections, before the server serves.
func (v *Collections) Add(rows ...Collection) {
	v.rows = append(v.rows, rows...)
	slices.SortFunc(v.rows, func(a, b Collection) int { return cmp.Or(cmp.Compare(a.DB, b.DB), cmp.Compare(a.Coll, b.Coll)) })
}

// All returns the virtual collections in the order of their names, without system.views,
// which each database has.
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

// Docs returns the documents of a virtual collection; ok is false if the namespace has
// none. A cluster reads such collections by it.
func (v *Collections) Docs(_ *cluster.Op, ns collection.Namespace) (docs []bson.Raw, ok bool) {
	if ns.Coll == "system.views" {
		return v.viewDocs(ns.DB)
	}
	if row := v.find(ns); row != nil {
		return row.Docs(), true
	}
	return nil, false
}

// IsDerived reports whether the namespace is a view or a virtual collection, which have no
// stored documents: reads of it are aggregations.
func (v *Collections) IsDerived(ns collection.Namespace) bool {
	if coll := v.Cluster.Catalog().Collection(ns); coll != nil {
		return coll.IsView()
	}
	return v.Is(ns) || v.Cluster.Catalog().Series(ns) != nil
}

// Is reports whether the namespace is a virtual collection; reads of it are processed like
// reads of views.
func (v *Collections) Is(ns collection.Namespace) bool {
	if ns.Coll == "system.views" {
		return v.Cluster.Catalog().Collection(ns) == nil && v.HasViews(ns.DB)
	}
	return v.find(ns) != nil && v.Cluster.Catalog().Collection(ns) == nil
}

// Names lists the virtual collections of a database that listCollections shows; member
// means that the server appears as a member of a replica set.
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

// HasViews reports whether the database has views.
func (v *Collections) HasViews(db string) bool {
	return slices.ContainsFunc(v.Cluster.Catalog().Collections(db), (*catalog.Collection).IsView)
}

// viewDocs returns the documents of <db>.system.views.
// Manual: core/views.
func (v *Collections) viewDocs(db string) (docs []bson.Raw, ok bool) {
	for _, coll := range v.Cluster.Catalog().Collections(db) {
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
