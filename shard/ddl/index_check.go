package ddl

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/index"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/shard/cluster"
)

// indexesMax is the maximum number of indexes of a collection.
// Manual: reference/limits#number-of-indexes.
const indexesMax = 64

// parseIndex parses the specification of a new index. An index without a collation gets that of its collection, even
// one that is rejected in new specifications; an index of version 1, which has no collation, does not.
func parseIndex(o *cluster.Op, coll *catalog.Collection, raw bson.Raw) (*index.Spec, error) {
	version, _ := raw.Get("v").AsInt64()
	if v := raw.Get("collation"); v.IsMissing() && len(coll.Options.CollationRaw) > 0 && version != 1 {
		b := bson.NewBuilder(nil)
		b.Splice(raw.Elements())
		b.Raw("collation", coll.Options.CollationRaw)
		return index.ParseStoredSpec(o.Env, accountIndex(o, coll, b.Doc()), coll.Options.Collation.Version())
	}
	return index.ParseSpec(o.Env, accountIndex(o, coll, raw))
}

// storedIndex is parseIndex for a specification from a catalog.
func storedIndex(o *cluster.Op, _ *catalog.Collection, raw bson.Raw) (*index.Spec, error) {
	return index.ParseStoredSpec(o.Env, raw, mql.NewestCollator)
}

// checkIndex compares a new index with the existing ones of a collection, and checks that it is allowed. same is true
// if the collection has the index already. docs is the number of documents of the collection.
func checkIndex(o *cluster.Op, coll *catalog.Collection, spec *index.Spec, docs int64) (same bool, err error) {
	if spec.IsID() {
		if !spec.Collation.Equal(coll.IDIndex().Collation) {
			own, _ := spec.Raw().Get("collation").Doc()
			return false, mongoerr.New(mongoerr.BadValue, "The _id index must have the same collation as the collection. Index collation: %s, collection collation: %s",
				docText(own), docText(coll.Options.CollationRaw))
		}
		return true, nil
	}
	if err := checkSeriesIndex(coll, spec); err != nil {
		return false, err
	}
	for _, ix := range coll.UnstagedIndexes() {
		if same, err := spec.Conflict(ix.Spec); same || err != nil {
			return same, err
		}
	}
	if len(coll.Indexes) >= indexLimit(o) {
		return false, mongoerr.New(mongoerr.CannotCreateIndex, "add index fails, too many indexes for %s key:%s", coll.Namespace, docText(spec.Key))
	}
	if spec.Unique {
		if err := checkUnique(o, coll, spec); err != nil {
			return false, err
		}
	}
	return false, checkIndexStrict(o, coll, spec, docs)
}

// checkUnique rejects a unique index on a sharded collection if equal values can be on different shards, because each
// shard would only find its own duplicates.
// Manual: core/sharding-shard-key#unique-indexes. Errors: CannotCreateIndex (67).
func checkUnique(o *cluster.Op, coll *catalog.Collection, spec *index.Spec) error {
	if !coll.Sharded() {
		return nil
	}
	if !coversKey(o, coll, spec) || spec.Collation != nil {
		return mongoerr.New(mongoerr.CannotCreateIndex, "cannot create unique index over %s with shard key pattern %s", docText(spec.Key), coll.Key)
	}
	return nil
}

// docText prints a document for a message.
func docText(r bson.Raw) string {
	if len(r) == 0 {
		return "{}"
	}
	return r.String()
}
