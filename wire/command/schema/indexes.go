package schema

import (
	"strings"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/index"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/wire/arguments"
	"github.com/cantledb/cantle/wire/command"
)

// runCreateIndexes answers createIndexes.
// Manual: reference/command/createIndexes.
func runCreateIndexes(c *command.Call) error {
	ns, err := c.Namespace()
	if err != nil {
		return err
	}
	if err := c.CheckTxnLevel(); err != nil {
		return err
	}
	var specs []bson.Raw
	err = c.ReadArgs(
		arguments.Docs("indexes", &specs, index.SpecsMax).Required(),
		arguments.By("commitQuorum", func(v bson.Value) error {
			if v.Type != bson.TypeString && !v.IsNumber() {
				return mongoerr.WrongType(c.Field("commitQuorum"), v.Type.String(), "string", "long", "int", "decimal", "double")
			}
			return nil
		}),
		arguments.Bool("ignoreUnknownIndexOptions", nil),
		arguments.Bool("returnOnStart", nil),
		arguments.Bool("background", nil),
		c.ExpectUUID(ns),
		arguments.Ignored("v", "isTimeseriesNamespace"), // old tools send the version here too
	)
	switch {
	case err != nil:
		return err
	case len(specs) == 0:
		return mongoerr.New(mongoerr.BadValue, "Must specify at least one index to create")
	}
	if strings.HasPrefix(ns.Coll, "system.") && !command.SystemCollections[ns.Coll] {
		return mongoerr.New(mongoerr.InvalidNamespace, "Invalid system namespace: %s", ns)
	}
	for i, s := range specs {
		if strings.HasPrefix(ns.Coll, "system.") && s.Get("hidden").Truthy() {
			return mongoerr.New(mongoerr.BadValue, "Can't hide index on system collection")
		}
		if err := checkStableIndex(c, s); err != nil {
			return err
		}
		if specs[i], err = indexSpec(c, s); err != nil {
			return err
		}
	}
	if err := c.Cluster.CheckExpected(&c.Op); err != nil {
		return err
	}
	c.Respond("CreateIndexesResponse")
	made, err := c.Server.DDL.CreateIndexes(&c.Op, ns, specs)
	if err != nil {
		return err
	}
	if coll := c.Cluster.Catalog().Collection(ns); coll != nil && unlistedID(coll) {
		made.Before, made.After = made.Before-1, made.After-1
	}
	c.Reply.Int32("numIndexesBefore", int32(made.Before))
	c.Reply.Int32("numIndexesAfter", int32(made.After))
	c.Reply.Bool("createdCollectionAutomatically", made.Created)
	if made.Note != "" {
		c.Reply.String("note", made.Note)
	}
	return nil
}

// checkStableIndex refuses to create an index that version 1 of the stable API does not have, if the client requested
// such errors (apiStrict).
// Manual: reference/stable-api, reference/command/createIndexes.
// Errors: APIStrictError (323).
func checkStableIndex(c *command.Call, spec bson.Raw) error {
	if !c.StableOnly() {
		return nil
	}
	for it := spec.Iter(); it.Next(); {
		switch name := string(it.Name); name {
		case "background", "bucketSize", "sparse", "storageEngine":
			return c.Unstable("createIndexes.indexes." + name)
		}
	}
	key, _ := spec.Get("key").Doc()
	for it := key.Iter(); it.Next(); {
		if kind, _ := it.Value.Str(); kind == "text" || kind == "geoHaystack" {
			return mongoerr.New(mongoerr.APIStrictError, "%s indexes are not in API Version 1, and cannot be created with apiStrict:true.", kind)
		}
	}
	return nil
}

// indexSpec returns an index specification without the field ns of old dumps. With ignoreUnknownIndexOptions it also
// removes all unknown options.
// Errors: BadValue (2) for the name _id_ on another key and for a descending key on _id, InvalidOptions (72) for a
// clustered index.
func indexSpec(c *command.Call, s bson.Raw) (bson.Raw, error) {
	key, _ := s.Get("key").Doc()
	name, _ := s.Get("name").Str()
	first, _ := key.First()
	if name == "_id_" && (key.Len() != 1 || string(first.Name) != "_id") && !key.IsEmpty() {
		return nil, mongoerr.New(mongoerr.BadValue, "The index name '_id_' is reserved for the _id index, which must have key pattern {_id: 1}, found key: %s", key)
	}
	if key.Len() == 1 && string(first.Name) == "_id" && first.Value.IsNumber() {
		if n, ok := first.Value.AsInt64(); ok && n < 0 {
			return nil, mongoerr.New(mongoerr.BadValue, "The field 'key' for an _id index must be {_id: 1}, but got %s", key)
		}
	}
	if v, ok := s.Lookup("clustered"); ok && v.Truthy() {
		return nil, mongoerr.New(mongoerr.InvalidOptions, "Cannot create an index with the option 'clustered': the clustered index is made by create")
	}
	ignore := c.Body.Get("ignoreUnknownIndexOptions").Truthy()
	b := bson.NewBuilder(nil)
	for it := s.Iter(); it.Next(); {
		if field := string(it.Name); field == "ns" || ignore && !indexOptions[field] {
			continue
		}
		b.ValueBytes(it.Name, it.Value)
	}
	return b.Doc(), nil
}

// indexOptions are the fields of an index specification.
// Manual: reference/command/createIndexes.
var indexOptions = map[string]bool{
	"v": true, "key": true, "name": true, "unique": true, "sparse": true, "background": true, "hidden": true,
	"expireAfterSeconds": true, "partialFilterExpression": true, "collation": true, "wildcardProjection": true,
	"weights": true, "default_language": true, "language_override": true, "textIndexVersion": true,
	"2dsphereIndexVersion": true, "bits": true, "min": true, "max": true, "prepareUnique": true, "storageEngine": true,
	"dropDups": true, "bucketSize": true, index.LastWriteOption: true,
}

// runListIndexes answers listIndexes. Manual: reference/command/listIndexes.
func runListIndexes(c *command.Call) error {
	ns, err := c.ReadNamespace()
	if err != nil {
		return err
	}
	size := int64(-1)
	var uuids, info bool
	err = c.ReadArgs(
		arguments.CursorSize("cursor", &size),
		arguments.Bool("includeBuildUUIDs", &uuids),
		arguments.Bool("includeIndexBuildInfo", &info),
		arguments.Bool("isTimeseriesNamespace", nil),
	)
	if err != nil {
		return err
	}
	if uuids && info {
		return mongoerr.New(mongoerr.InvalidOptions, "The includeBuildUUIDs and includeIndexBuildInfo flags cannot both be set in the listIndexes command")
	}
	docs, err := indexDocs(c, ns, info)
	if err != nil {
		return err
	}
	return c.ReplyList(c.Named(ns), docs, size)
}

// indexDocs returns the descriptions of the indexes of a collection, for listIndexes; info adds the state of index
// builds.
// Errors: NamespaceNotFound (26), CommandNotSupportedOnView (166).
func indexDocs(c *command.Call, ns collection.Namespace, info bool) ([]bson.Raw, error) {
	coll := c.Cluster.Catalog().Collection(ns)
	if coll == nil {
		if series := c.Cluster.Catalog().Series(ns); series != nil {
			return bucketIndexDocs(series), nil
		}
		if _, ok := c.Server.Virtual.Docs(&c.Op, ns); ok {
			b := bson.NewBuilder(nil)
			appendIDIndex(b)
			return []bson.Raw{b.Doc()}, nil
		}
		return nil, mongoerr.New(mongoerr.NamespaceNotFound, "ns does not exist: %s", ns)
	}
	if coll.IsView() {
		return nil, mongoerr.ViewNotAllowed(ns.String())
	}
	if ns.Coll == "system.profile" { // has no index. Observed: MongoDB 8.2
		return nil, nil
	}
	var docs []bson.Raw
	if coll.Options.Clustered {
		b := bson.NewBuilder(nil)
		d, _ := coll.Options.Raw.Get("clusteredIndex").Doc()
		b.Splice(d.Elements())
		b.Bool("clustered", true)
		docs = append(docs, b.Doc())
	}
	for _, ix := range shownIndexes(coll) {
		if ix.State == catalog.IndexDropping {
			continue
		}
		spec := listedSpec(c, ns, ix.Spec)
		if !info {
			docs = append(docs, spec)
			continue
		}
		b := bson.NewBuilder(nil)
		b.Raw("spec", spec)
		if ix.State == catalog.IndexBuilding {
			b.BeginDoc("indexBuildInfo")
			b.End()
		}
		docs = append(docs, b.Doc())
	}
	return docs, nil
}

// listedSpec returns an index specification as listIndexes shows it: the bounds of a 2d index are doubles there,
// whereas $indexStats shows them as the client gave them (observed: MongoDB 8.2). On the Cosmos listener it has the
// form of an account.
func listedSpec(c *command.Call, ns collection.Namespace, x *index.Spec) bson.Raw {
	spec := x.Listed()
	if c.Strict() {
		spec = x.Account(ns.String())
	}
	if !spec.Has("min") && !spec.Has("max") {
		return spec
	}
	b := bson.NewBuilder(nil)
	for name, v := range spec.Fields() {
		if f, ok := v.AsFloat(); ok && (string(name) == "min" || string(name) == "max") {
			b.Double(string(name), f)
			continue
		}
		b.ValueBytes(name, v)
	}
	return b.Doc()
}

// runDropIndexes answers dropIndexes. Manual: reference/command/dropIndexes.
func runDropIndexes(c *command.Call) error {
	ns, err := c.Namespace()
	if err != nil {
		return err
	}
	var names []string
	var key bson.Raw
	given := false
	index, _ := c.Body.Lookup("index")
	err = c.ReadArgs(
		arguments.By("index", func(bson.Value) (err error) {
			given = true
			names, key, err = indexChoice(c, index)
			return err
		}).WithNull(),
		c.ExpectUUID(ns),
		arguments.Bool("isTimeseriesNamespace", nil),
	)
	if err != nil {
		return err
	}
	if !given {
		return mongoerr.MissingField(c.Field("index"))
	}
	if err := c.Cluster.CheckExpected(&c.Op); err != nil {
		return err
	}
	c.Respond("DropIndexesResponse")
	coll := c.Cluster.Catalog().Collection(ns)
	if coll != nil && coll.Options.Clustered && clusteredChosen(coll, names, key) {
		return mongoerr.New(5979800, "It is illegal to drop the clusteredIndex")
	}
	was, err := c.Server.DDL.DropIndexes(&c.Op, ns, names, key)
	if err != nil {
		return err
	}
	if coll != nil && (coll.Options.Clustered || coll.Options.TimeSeries != nil) {
		was--
	}
	c.Reply.Int32("nIndexesWas", int32(was))
	switch {
	case key == nil && len(names) == 1 && names[0] == "*":
		c.Reply.String("msg", "non-_id indexes dropped for collection")
	}
	return nil
}

// indexChoice reads the argument index of dropIndexes: a name, several names, "*" or a key pattern.
// Errors: TypeMismatch (14).
func indexChoice(c *command.Call, v bson.Value) (names []string, key bson.Raw, err error) {
	switch v.Type {
	case bson.TypeString:
		s, _ := v.Str()
		return []string{s}, nil, nil
	case bson.TypeDocument:
		d, _ := v.Doc()
		return nil, d, nil
	case bson.TypeArray:
		list, _ := v.Array()
		for it := list.Iter(); it.Next(); {
			s, ok := it.Value.Str()
			if !ok {
				return nil, nil, mongoerr.WrongType(c.Field("index."+string(it.Name)), it.Value.Type.String(), "string")
			}
			names = append(names, s)
		}
		return names, nil, nil
	}
	return nil, nil, mongoerr.WrongType(c.Field("index"), v.Type.String(), "string", "array", "object")
}

// clusteredChosen reports whether a choice names the clustered index.
func clusteredChosen(coll *catalog.Collection, names []string, key bson.Raw) bool {
	for _, n := range names {
		if n == coll.Options.ClusteredName {
			return true
		}
	}
	n, ok := key.Get("_id").AsInt64()
	return key != nil && key.Len() == 1 && ok && n == 1
}

// runReIndex replies with the indexes of the collection, but rebuilds none: index entries are always consistent with
// the documents.
// Manual: reference/command/reIndex.
func runReIndex(c *command.Call) error {
	ns, err := c.Namespace()
	if err != nil {
		return err
	}
	if err := c.NoArguments(); err != nil {
		return err
	}
	coll, err := c.Collection(ns)
	if err != nil {
		return err
	}
	c.Reply.Int32("nIndexesWas", int32(len(shownIndexes(coll))))
	c.Reply.Int32("nIndexes", int32(len(shownIndexes(coll))))
	c.Reply.BeginArray("indexes")
	for _, ix := range shownIndexes(coll) {
		c.Reply.Raw("", listedSpec(c, ns, ix.Spec))
	}
	c.Reply.End()
	return nil
}
