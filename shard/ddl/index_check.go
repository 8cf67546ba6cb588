package ddl

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/index"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/shard/cluster"
)

// How many indexes a collection may have. Manual: reference/limits#number-of-indexes;
// Azure Cosmos DB: "indexing".
const (
	indexesMax       = 64
	indexesMaxStrict = 500
)

// parseIndex reads a specification; without a collation it gets the
// collection's.
func parseIndex(o *cluster.Op, coll *catalog.Collection, raw bson.Raw) (*index.Spec, error) {
	if v := raw.Get("collation"); v.IsMissing() && len(coll.Options.CollationRaw) > 0 {
		b := bson.NewBuilder(nil)
		b.Splice(raw.Elements())
		b.Raw("collation", coll.Options.CollationRaw)
		raw = b.Doc()
	}
	if o.Env.Strict {
		raw = index.WithLastWrite(raw)
	}
	return index.ParseSpec(o.Env, raw)
}

// checkIndex compares a new index with those the collection has. same reports
// that there is nothing to do. docs is how many documents the collection holds.
func checkIndex(o *cluster.Op, coll *catalog.Collection, spec *index.Spec, docs int64) (same bool, err error) {
	if spec.IsID() {
		if !spec.Collation.Equal(coll.IDIndex().Collation) {
			own, _ := spec.Raw().Get("collation").Doc()
			return false, mongoerr.New(mongoerr.BadValue, "The _id index must have the same collation as the collection. Index collation: %s, collection collation: %s",
				shown(own), shown(coll.Options.CollationRaw))
		}
		return true, nil
	}
	if err := checkSeriesIndex(coll, spec); err != nil {
		return false, err
	}
	for _, ix := range coll.Indexes {
		if same, err := spec.Conflict(ix.Spec); same || err != nil {
			return same, err
		}
	}
	most := indexesMax
	if o.Env.Strict {
		most = indexesMaxStrict
	}
	if len(coll.Indexes) >= most {
		return false, mongoerr.New(mongoerr.CannotCreateIndex, "add index fails, too many indexes for %s key:%s", coll.Namespace, shown(spec.Key))
	}
	if spec.Unique {
		if err := checkUnique(o, coll, spec); err != nil {
			return false, err
		}
	}
	if o.Env.Strict {
		return false, checkIndexStrict(spec, docs)
	}
	return false, nil
}

// checkUnique refuses unique indexes that could only be kept per shard.
// Manual: core/sharding-shard-key#unique-indexes. Errors: CannotCreateIndex (67).
func checkUnique(o *cluster.Op, coll *catalog.Collection, spec *index.Spec) error {
	if !coll.Sharded() {
		return nil
	}
	ok := coll.Key.IsPrefixOf(spec.Key)
	if o.Env.Strict {
		ok = true
		for _, f := range coll.Key.Fields() {
			ok = ok && spec.Key.Get(f.Path.String()).IsNumber()
		}
	}
	if !ok || spec.Collation != nil {
		return mongoerr.New(mongoerr.CannotCreateIndex, "cannot create unique index over %s with shard key pattern %s", shown(spec.Key), coll.Key)
	}
	return nil
}

// compoundMaxStrict is how many fields an index may have in Cosmos DB.
const compoundMaxStrict = 8

// checkIndexStrict refuses what Azure Cosmos DB for MongoDB refuses.
// Source: Azure Cosmos DB, "indexing". Errors: CannotCreateIndex (67).
func checkIndexStrict(spec *index.Spec, docs int64) error {
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

// shown prints a document for a message.
func shown(r bson.Raw) string {
	if len(r) == 0 {
		return "{}"
	}
	return r.String()
}
