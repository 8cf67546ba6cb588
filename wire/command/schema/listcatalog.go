package schema

import (
	"fmt"
	"slices"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/release"
	"github.com/cantledb/cantle/shard/cluster"
	"github.com/cantledb/cantle/wire/command"
)

// catalogDocs returns the documents of $listCatalog: the catalog entry of a collection, or, if the stage runs on admin,
// those of all collections. The form is that of entries in MongoDB's catalog; ident and idxIdent, the names of files
// there, are made of the numbers of the collection and its indexes.
// Errors: Location40602 for a time-series collection whose buckets have a namespace of their own, as for a view.
func (s *State) catalogDocs(o *cluster.Op, ns collection.Namespace, _ bson.Raw) (docs []bson.Raw, err error) {
	snapshot, one := s.Cluster.Catalog(), o.Env.Release.Has(release.SeriesOneNamespace)
	if ns.Coll != "" {
		switch coll := snapshot.Collection(ns); {
		case coll != nil && coll.Options.TimeSeries != nil && !one:
			return nil, mongoerr.New(40602, "$listCatalog is only valid as the first stage in a pipeline")
		case coll != nil:
			return []bson.Raw{catalogEntry(coll, coll.Namespace.Coll, coll.Kind())}, nil
		case s.Virtual.Is(ns):
			return []bson.Raw{virtualEntry(ns)}, nil
		}
		return nil, nil
	}
	withViews := "" // the last database with a view
	for _, coll := range snapshot.Collections("") {
		db := coll.Namespace.DB
		series := coll.Options.TimeSeries != nil && !one
		switch {
		case coll.IsView():
			docs = append(docs, viewEntry(coll, coll.Options.Raw.Elements()))
		case series:
			b := bson.NewBuilder(nil)
			b.String("viewOn", catalog.BucketsPrefix+coll.Namespace.Coll)
			docs = append(docs, viewEntry(coll, b.Doc().Elements()), catalogEntry(coll, catalog.BucketsPrefix+coll.Namespace.Coll, "collection"))
		default:
			docs = append(docs, catalogEntry(coll, coll.Namespace.Coll, coll.Kind()))
		}
		if (coll.IsView() || series) && withViews != db {
			withViews = db
			docs = append(docs, virtualEntry(collection.Namespace{DB: db, Coll: "system.views"}))
		}
	}
	for _, v := range s.Virtual.All() {
		if slices.Contains(s.Virtual.Names(v.DB, s.ReplicaSet.Name != ""), v.Coll) {
			docs = append(docs, virtualEntry(collection.Namespace{DB: v.DB, Coll: v.Coll}))
		}
	}
	return docs, nil
}

// entryHead begins an entry of the catalog.
func entryHead(ns collection.Namespace, kind string) *bson.Builder {
	b := bson.NewBuilder(nil)
	b.String("db", ns.DB)
	b.String("name", ns.Coll)
	b.String("type", kind)
	return b
}

// viewEntry returns the catalog entry of a view, whose definition has the fields of definition.
func viewEntry(view *catalog.Collection, definition []byte) bson.Raw {
	b := entryHead(view.Namespace, view.Kind())
	b.String("ns", view.Namespace.String())
	b.String("_id", view.Namespace.String())
	b.Splice(definition)
	return b.Doc()
}

// catalogEntry returns the catalog entry of a stored collection under a name, which for a time series can be that of its
// buckets.
func catalogEntry(coll *catalog.Collection, name, kind string) bson.Raw {
	ns := collection.Namespace{DB: coll.Namespace.DB, Coll: name}
	b := entryHead(ns, kind)
	if coll.Sharded() {
		b.String("shard", command.ShardName(coll.Map.Shards()[0].ID))
	}
	b.BeginDoc("md")
	b.String("ns", ns.String())
	b.BeginDoc("options")
	b.Binary("uuid", 4, coll.UUID[:])
	if coll.Options.Raw != nil {
		b.Splice(coll.Options.Raw.Elements())
	}
	b.End()
	indexes := slices.DeleteFunc(slices.Clone(shownIndexes(coll)), func(ix *catalog.Index) bool { return ix.State == catalog.IndexDropping })
	b.BeginArray("indexes")
	for _, ix := range indexes {
		appendEntryIndex(b, coll, ix)
	}
	b.End()
	b.End()
	b.BeginDoc("idxIdent")
	for _, ix := range indexes {
		b.String(ix.Name, fmt.Sprintf("index-%d-%d", coll.ID, ix.ID))
	}
	b.End()
	b.String("ns", ns.String())
	b.String("ident", fmt.Sprintf("collection-%d", coll.ID))
	return b.Doc()
}

// appendEntryIndex appends an index to the array indexes of a catalog entry; for a time series it is one of the buckets.
func appendEntryIndex(b *bson.Builder, coll *catalog.Collection, ix *catalog.Index) {
	series := coll.Options.TimeSeries != nil
	spec := ix.Raw()
	if series {
		spec = bucketIndexSpec(ix, coll.Options.MetaField)
	}
	b.BeginDoc("")
	b.Raw("spec", spec)
	b.Bool("ready", ix.State == catalog.IndexReady)
	b.Bool("multikey", ix.Multikey.Any())
	if ix.IsOrdered() && !series {
		b.BeginDoc("multikeyPaths")
		ix.Multikey.AppendComponents(b, ix.Fields())
		b.End()
	}
	b.Int64("head", 0)
	b.Bool("backgroundSecondary", false)
	b.End()
}

// virtualEntry returns the catalog entry of a virtual collection, which has no files.
func virtualEntry(ns collection.Namespace) bson.Raw {
	b := entryHead(ns, "collection")
	b.BeginDoc("md")
	b.String("ns", ns.String())
	b.BeginDoc("options")
	uuid := catalog.VirtualUUID(ns.String())
	b.Binary("uuid", 4, uuid[:])
	b.End()
	b.BeginArray("indexes")
	b.BeginDoc("")
	b.BeginDoc("spec")
	appendIDIndex(b)
	b.End()
	b.Bool("ready", true)
	b.Bool("multikey", false)
	b.End()
	b.End()
	b.End()
	b.String("ns", ns.String())
	return b.Doc()
}
