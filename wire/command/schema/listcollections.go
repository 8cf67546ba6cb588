package schema

import (
	"slices"
	"strings"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/match"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/collection/release"
	"github.com/cantledb/cantle/collection/shard"
	"github.com/cantledb/cantle/shard/cluster"
	"github.com/cantledb/cantle/wire/arguments"
	"github.com/cantledb/cantle/wire/auth"
	"github.com/cantledb/cantle/wire/command"
)

// parseListCollections reads the arguments of listCollections. With authorizedCollections, the reply has only the
// collections on which the user has privileges; without access control, all collections.
// Manual: reference/command/listCollections.
func parseListCollections(c *command.Call) (command.Request, error) {
	var filter bson.Raw
	var nameOnly, authorized bool
	size := int64(-1)
	err := c.ReadArgs(
		arguments.Doc("filter", &filter),
		arguments.StrictBool("nameOnly", &nameOnly),
		arguments.StrictBool("authorizedCollections", &authorized),
		arguments.StrictBool("includePendingDrops", nil),
		arguments.CursorSize("cursor", &size),
	)
	if err != nil {
		return nil, err
	}
	needs := func(q *command.PrivilegeCheck) { // no privilege is needed to list the names of collections on which the user has privileges
		if !nameOnly || !authorized {
			q.Need(auth.ListCollections, collection.Namespace{DB: q.DB})
		}
	}
	return command.NewRequest(needs, func(c *command.Call) error {
		infos := collectionInfos(c, c.DB, listedCollections(c, filter), nameOnly)
		if authorized {
			infos = slices.DeleteFunc(infos, func(d bson.Raw) bool {
				name, _ := d.Get("name").Str()
				return !c.SeesName(collection.Namespace{DB: c.DB, Coll: name})
			})
		}
		docs, err := match.Keep(c.Env(), infos, filter)
		if err != nil {
			return err
		}
		return c.ReplyList(collection.Namespace{DB: c.DB, Coll: "$cmd.listCollections"}, docs, size)
	}), nil
}

// listedCollections returns the collections and views of the database, in the order of their names, whose descriptions
// the filter of listCollections can match. If the filter has names, as drivers send it before create, only these are
// looked up. system.views exists by other collections, so for that name all are returned.
func listedCollections(c *command.Call, filter bson.Raw) []*catalog.Collection {
	snapshot := c.Cluster.Catalog()
	names, ok := filteredNames(c.Env(), filter)
	if !ok || slices.Contains(names, "system.views") {
		return snapshot.Collections(c.DB)
	}
	var out []*catalog.Collection
	for _, name := range names {
		ns := collection.Namespace{DB: c.DB, Coll: name}
		coll := snapshot.Collection(ns)
		if coll == nil {
			coll = snapshot.Series(ns) // its buckets are described with it
		}
		if coll != nil {
			out = append(out, coll)
		}
	}
	slices.SortFunc(out, func(a, b *catalog.Collection) int { return strings.Compare(a.Namespace.Coll, b.Namespace.Coll) })
	return slices.Compact(out)
}

// filteredNames returns the names of which a description must have one to match the filter; ok is false if the filter
// does not determine them, or is not valid.
func filteredNames(env *mql.Env, filter bson.Raw) (names []string, ok bool) {
	if filter.IsEmpty() {
		return nil, false
	}
	f, err := match.Parse(env, filter)
	if err != nil {
		return nil, false
	}
	values, ok := match.Points(match.Normalize(f), "name")
	if !ok {
		return nil, false
	}
	for _, v := range values {
		if name, isText := v.Str(); isText {
			names = append(names, name)
		}
	}
	return names, true
}

// collectionInfos returns the descriptions of some collections and views of a database, and of its virtual collections,
// for listCollections.
func collectionInfos(c *command.Call, db string, colls []*catalog.Collection, nameOnly bool) []bson.Raw {
	var docs []bson.Raw
	views := false
	for _, coll := range colls {
		docs = append(docs, collectionInfo(coll, nameOnly, c.Release()))
		buckets := coll.Options.TimeSeries != nil && !c.Release().Has(release.SeriesOneNamespace)
		if buckets {
			docs = append(docs, bucketsInfo(coll, nameOnly))
		}
		views = views || coll.IsView() || buckets
	}
	if views {
		docs = append(docs, systemViewsInfo(db, nameOnly))
	}
	for _, name := range c.Server.Virtual.Names(db, c.Server.ReplicaSet.Name != "") {
		docs = append(docs, virtualInfo(db, name, nameOnly))
	}
	return docs
}

// collectionInfo returns the description of one collection for listCollections, for a client of release r.
func collectionInfo(coll *catalog.Collection, nameOnly bool, r release.Release) bson.Raw {
	b := bson.NewBuilder(nil)
	b.String("name", coll.Namespace.Coll)
	b.String("type", coll.Kind())
	if nameOnly {
		return b.Doc()
	}
	options := coll.Options.Raw
	if options == nil {
		options = bson.Empty
	}
	b.Raw("options", options)
	b.BeginDoc("info")
	b.Bool("readOnly", coll.IsView())
	series := coll.Options.TimeSeries != nil
	if !coll.IsView() && (!series || r.Has(release.SeriesOneNamespace)) {
		b.Binary("uuid", 4, coll.UUID[:])
	}
	b.End()
	if !coll.IsView() && !series && !coll.Options.Clustered {
		b.Raw("idIndex", coll.IDIndex().Raw())
	}
	return b.Doc()
}

// systemViewsInfo returns the description of the virtual collection system.views, which holds the views of a
// database. It exists as soon as the database has a view or a time series.
func systemViewsInfo(db string, nameOnly bool) bson.Raw {
	return virtualInfo(db, "system.views", nameOnly)
}

// virtualInfo returns the description of a virtual collection.
func virtualInfo(db, name string, nameOnly bool) bson.Raw {
	b := bson.NewBuilder(nil)
	b.String("name", name)
	b.String("type", "collection")
	if nameOnly {
		return b.Doc()
	}
	b.BeginDoc("options")
	if (collection.Namespace{DB: db, Coll: name}) == cluster.OplogNamespace {
		b.Bool("capped", true) // by this, tools recognize a log that they can tail
	}
	b.End()
	b.BeginDoc("info")
	b.Bool("readOnly", false)
	uuid := catalog.VirtualUUID(db + "." + name)
	b.Binary("uuid", 4, uuid[:])
	b.End()
	b.BeginDoc("idIndex")
	appendIDIndex(b)
	b.End()
	return b.Doc()
}

// appendIDIndex appends an _id index without options.
func appendIDIndex(b *bson.Builder) {
	b.Int32("v", 2)
	b.BeginDoc("key")
	b.Int32("_id", 1)
	b.End()
	b.String("name", "_id_")
}

// clusterCatalogDocs returns the documents of the stage $listClusterCatalog: the collections of a database, or of all
// databases if it runs on admin. Manual: reference/operator/aggregation/listClusterCatalog.
func (s *State) clusterCatalogDocs(o *cluster.Op, ns collection.Namespace, spec bson.Raw) (docs []bson.Raw, err error) {
	db, all := ns.DB, ns.DB == "admin"
	if all {
		db = ""
	}
	add := func(db string, info bson.Raw, sharded bool, shards []*shard.Descriptor) {
		b := bson.NewBuilder(nil)
		b.String("db", db)
		for it := info.Iter(); it.Next(); {
			if string(it.Name) == "name" {
				name, _ := it.Value.Str()
				b.String("ns", db+"."+name)
			} else {
				b.ValueBytes(it.Name, it.Value)
			}
		}
		b.Bool("sharded", sharded)
		if spec.Get("shards").Truthy() {
			b.BeginArray("shards")
			for _, d := range shards {
				b.String("", command.ShardName(d.ID))
			}
			b.End()
		}
		docs = append(docs, b.Doc())
	}
	for _, coll := range s.Cluster.Catalog().Collections(db) {
		var shards []*shard.Descriptor
		if coll.Map != nil {
			shards = coll.Map.Shards()
		}
		add(coll.Namespace.DB, collectionInfo(coll, false, o.Env.Release), coll.Sharded(), shards)
	}
	for _, v := range s.Virtual.All() {
		if all || v.DB == db {
			add(v.DB, virtualInfo(v.DB, v.Coll, false), false, nil)
		}
	}
	return docs, nil
}
