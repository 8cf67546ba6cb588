package virtual

import (
	"cmp"
	"context"
	"slices"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/shard/cluster"
)

// Collection is a virtual collection: its documents are not stored, but computed when it is read. Examples are the
// collection of users, and those of the config database, which are derived from the catalog. If a client creates a
// collection of the same name, the created one replaces it. Manual: reference/config-database,
// reference/local-database.
type Collection struct {
	DB, Coll string
	Docs     func() []bson.Raw
	// Pages, if set, computes the documents page by page as cluster.Upper.Pages does, in place of Docs.
	Pages func(o *cluster.Op, filter bson.Raw) func(context.Context) ([]bson.Raw, error)
	// WhenFilled means that listCollections shows the collection only while it has documents.
	WhenFilled bool
	// OfMembers means that the collection is listed even if the server appears as a member of a replica set and the
	// collection is in config, where such a member has few collections.
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

// All returns the virtual collections in the order of their names, without system.views, which each database
// with views has.
func (v *Collections) All() []Collection { return v.rows }

// find returns the row of the virtual collection with a namespace, nil if there is none.
func (v *Collections) find(ns collection.Namespace) *Collection {
	for i := range v.rows {
		if row := &v.rows[i]; row.DB == ns.DB && row.Coll == ns.Coll {
			return row
		}
	}
	return nil
}

// Docs returns the documents of a virtual collection; ok is false if the namespace is not virtual, or is the
// system.views of a database without views. The cluster calls Docs to read such a collection.
func (v *Collections) Docs(_ *cluster.Op, ns collection.Namespace) (docs []bson.Raw, ok bool) {
	if ns.Coll == "system.views" {
		return v.viewDocs(ns.DB)
	}
	row := v.find(ns)
	switch {
	case row == nil:
		return nil, false
	case row.Pages != nil:
		return nil, true
	}
	return row.Docs(), true
}

// Pages returns the function that computes the documents of a virtual collection page by page; nil if the namespace is
// none, or is computed at once. The cluster calls Pages to read such a collection.
func (v *Collections) Pages(o *cluster.Op, ns collection.Namespace, filter bson.Raw) func(context.Context) ([]bson.Raw, error) {
	if row := v.find(ns); row != nil && row.Pages != nil {
		return row.Pages(o, filter)
	}
	return nil
}

// IsDerived reports whether the namespace is a view, a time series or a virtual collection, which have no stored
// documents of their own: commands read it by an aggregation.
func (v *Collections) IsDerived(ns collection.Namespace) bool {
	if coll := v.Cluster.Catalog().Collection(ns); coll != nil {
		return coll.IsView()
	}
	return v.Is(ns) || v.Cluster.Catalog().Series(ns) != nil
}

// Is reports whether the namespace is a virtual collection, which is read as a view is.
func (v *Collections) Is(ns collection.Namespace) bool {
	if ns.Coll == "system.views" {
		return v.Cluster.Catalog().Collection(ns) == nil && v.HasViews(ns.DB)
	}
	return v.find(ns) != nil && v.Cluster.Catalog().Collection(ns) == nil
}

// Names returns the names of the virtual collections that listCollections shows for a database. member means that
// the server appears to the client as a member of a replica set.
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
