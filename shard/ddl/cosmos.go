package ddl

import (
	"slices"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/index"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/shard/cluster"
)

// The rules of Azure Cosmos DB for MongoDB for collections, indexes and throughput, one
// function each. They hold where the environment of a command is Strict.

// indexesMaxStrict is how many indexes a collection may have.
// Source: Azure Cosmos DB, "indexing".
const indexesMaxStrict = 500

// mostIndexes is how many indexes a collection may have.
func mostIndexes(o *cluster.Op) int {
	if o.Env.Strict() {
		return indexesMaxStrict
	}
	return indexesMax
}

// accountIndex is the specification of a new index as the service means it: that of {_ts: 1}
// expires documents by their last write, and version 1, which accounts show for all kinds,
// says nothing. On the other address an index by the last write that the collection has
// is meant by {_ts: 1} as well: it is listed like that.
// Source: Azure Cosmos DB for MongoDB, "time-to-live".
func accountIndex(o *cluster.Op, coll *catalog.Collection, raw bson.Raw) bson.Raw {
	if !o.Env.Strict() {
		if slices.ContainsFunc(coll.Indexes, func(ix *catalog.Index) bool { return ix.LastWrite }) {
			return index.WithLastWrite(raw)
		}
		return raw
	}
	if v, ok := raw.Get("v").AsInt64(); ok && v == 1 {
		b := bson.NewBuilder(nil)
		for name, v := range raw.Fields() {
			if string(name) != "v" {
				b.ValueBytes(name, v)
			}
		}
		raw = b.Doc()
	}
	return index.WithLastWrite(raw)
}

// coversKey reports that a unique index on a sharded collection can be kept by each shard
// alone: the shard key is a prefix of it or, for the service, its fields are among it.
func coversKey(o *cluster.Op, coll *catalog.Collection, spec *index.Spec) bool {
	if !o.Env.Strict() {
		return coll.Key.IsPrefixOf(spec.Key)
	}
	for _, f := range coll.Key.Fields() {
		if !spec.Key.Get(f.Path.String()).IsNumber() {
			return false
		}
	}
	return true
}

// compoundMaxStrict is how many fields an index may have in Cosmos DB.
const compoundMaxStrict = 8

// checkIndexStrict refuses indexes that the service does not have. docs is how many documents
// the collection holds.
// Source: Azure Cosmos DB, "indexing". Errors: CannotCreateIndex (67).
func checkIndexStrict(o *cluster.Op, spec *index.Spec, docs int64) error {
	if !o.Env.Strict() {
		return nil
	}
	refuse := func(format string, args ...any) error {
		return mongoerr.New(mongoerr.CannotCreateIndex, format, args...)
	}
	switch {
	case spec.Unique && docs > 0:
		return refuse("The unique index cannot be modified. To change the unique index, remove the collection and re-create a new one.")
	case spec.Partial != nil && !spec.Unique:
		return refuse("partialFilterExpression is only supported for unique indexes")
	case spec.Sparse:
		return refuse("sparse indexes are not supported")
	case spec.Collation != nil:
		return refuse("indexes with a collation are not supported")
	case spec.Kind.Name == "hashed" || spec.Kind.Name == "text" || spec.Kind.Name == "2d":
		return refuse("%s indexes are not supported", spec.Kind.Name)
	case len(spec.Parts) > compoundMaxStrict:
		return refuse("Index exceeds the limit of %d fields", compoundMaxStrict)
	case spec.Kind.Name == "wildcard" && (len(spec.Parts) > 1 || spec.HasTTL || spec.Unique):
		return refuse("wildcard indexes cannot be compound, unique or expire documents")
	case spec.WildcardProjection != nil:
		return refuse("wildcardProjection is not supported")
	}
	return nil
}

// checkAccount bounds databases and collections as an account of Azure Cosmos DB
// does. Source: Azure Cosmos DB, "concepts-limits". Errors: BadValue (2).
func checkAccount(o *cluster.Op, snap *catalog.Snapshot) error {
	if !o.Env.Strict() || len(snap.Databases())+len(snap.Collections("")) < ratelimit.NamespacesMax {
		return nil
	}
	return mongoerr.New(mongoerr.BadValue, "an account has at most %d databases and collections together; drop some that are not needed", ratelimit.NamespacesMax)
}

// checkShared bounds the collections that share a database's throughput.
// They need no shard key.
// Source: Azure Cosmos DB, "set-throughput"; Azure Cosmos DB for MongoDB, "custom-commands".
// Errors: those of ratelimit.CheckShared.
func checkShared(snap *catalog.Snapshot, db string) error {
	return ratelimit.CheckShared(sharing(snap, db))
}
