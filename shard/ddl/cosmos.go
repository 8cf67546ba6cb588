package ddl

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/cosmos"
	"github.com/cantledb/cantle/collection/index"
	"github.com/cantledb/cantle/collection/shard"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/shard/cluster"
	"github.com/cantledb/cantle/shard/jobs"
)

// The rules of Azure Cosmos DB for MongoDB for collections, indexes and throughput, one function
// each. They apply if the environment of a command has an account (mql.Env.Cosmos).

// indexesMaxStrict is the maximum number of indexes of a collection in an account.
// Source: Azure Cosmos DB, "indexing".
const indexesMaxStrict = 500

// indexLimit returns the maximum number of indexes of a collection.
func indexLimit(o *cluster.Op) int {
	if o.Env.Strict() {
		return indexesMaxStrict
	}
	return indexesMax
}

// accountIndex returns the specification of a new index as Azure Cosmos DB means it: a TTL index {_ts: 1} expires
// documents by their last write, and version 1, which accounts list for all kinds, is removed. On the other address
// {_ts: 1} means an index by the last write if the collection has one, because the index is listed as {_ts: 1}.
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

// coversKey reports whether each shard of a sharded collection can enforce a unique index alone: the shard key is a
// prefix of the index or, on the Cosmos address, the fields of the shard key are among those of the index.
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

// Maximum numbers of fields and of unique indexes. Source: Azure Cosmos DB, "indexing",
// "concepts-limits".
const (
	compoundMaxStrict = 8
	uniqueMaxStrict   = 10
)

// checkIndexStrict rejects indexes that the Cosmos account of a command does not support. docs is the number of
// documents in the collection. Source: Azure Cosmos DB, "indexing". Errors: the errors of the rules.
func checkIndexStrict(o *cluster.Op, coll *catalog.Collection, spec *index.Spec, docs int64) error {
	account := o.Env.Cosmos
	if account == nil {
		return nil
	}
	if !spec.IsOrdered() {
		if err := account.Check(cosmos.IndexKind, spec.Kind.Name); err != nil {
			return err
		}
	}
	wildcard := spec.Kind.Name == "wildcard"
	for _, refused := range []struct {
		is   bool
		rule cosmos.RuleID
		help string
	}{
		{spec.Unique && docs > 0, cosmos.UniqueOnDocuments, ""},
		{spec.Partial != nil && spec.HasTTL, cosmos.TTLPartial, ""},
		{spec.Partial != nil && !spec.Unique, cosmos.PartialIndexes, ""},
		{spec.Partial != nil && spec.Unique, cosmos.PartialUniqueIndexes, ""},
		{spec.Sparse, cosmos.SparseIndexes, ""},
		{spec.Collation != nil, cosmos.IndexCollations, ""},
		{len(spec.Parts) > compoundMaxStrict, cosmos.IndexFieldsMany, fmt.Sprintf("Index exceeds the limit of %d fields", compoundMaxStrict)},
		{wildcard && (len(spec.Parts) > 1 || spec.HasTTL || spec.Unique), cosmos.WildcardOptions, "wildcard indexes cannot be compound, unique or expire documents"},
		{spec.WildcardProjection != nil, cosmos.WildcardOptions, "wildcardProjection is not supported"},
		{spec.HasTTL && slices.ContainsFunc(coll.UnstagedIndexes(), func(ix *catalog.Index) bool { return ix.HasTTL }), cosmos.TTLSeveral, ""},
		{spec.HasTTL && !spec.LastWrite && !wildcard, cosmos.TTLFields, ""},
		{spec.Unique && uniqueIndexes(coll) >= uniqueMaxStrict, cosmos.UniqueMany,
			fmt.Sprintf("A collection has at most %d unique indexes", uniqueMaxStrict)},
		{(spec.Unique || len(spec.Parts) > 1) && !wildcard && nested(coll, spec), cosmos.NestedFields, ""},
	} {
		if !refused.is {
			continue
		}
		var err error
		if refused.help == "" {
			err = account.CheckRule(refused.rule)
		} else {
			err = account.Refuse(refused.rule, refused.rule.Refusal("%s", refused.help))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// nested reports whether an index has a field inside another, apart from those of the shard key.
func nested(coll *catalog.Collection, spec *index.Spec) bool {
	return slices.ContainsFunc(spec.Fields(), func(name string) bool {
		return strings.Contains(name, ".") && !slices.ContainsFunc(coll.Key.Fields(), func(f shard.Field) bool { return f.Path.String() == name })
	})
}

// uniqueIndexes counts the unique indexes of a collection.
func uniqueIndexes(coll *catalog.Collection) (n int) {
	for _, ix := range coll.UnstagedIndexes() {
		if ix.Unique {
			n++
		}
	}
	return n
}

// checkAccount limits databases and collections as an account of Azure Cosmos DB does. Source: Azure Cosmos DB,
// "concepts-limits". Errors: the errors of the rule.
func checkAccount(o *cluster.Op, snap *catalog.Snapshot) error {
	if o.Env.Cosmos == nil || len(snap.Databases())+len(snap.Collections("")) < ratelimit.NamespacesMax {
		return nil
	}
	return o.Env.Cosmos.Refuse(cosmos.NamespacesMany,
		cosmos.NamespacesMany.Refusal("an account has at most %d databases and collections together; drop some that are not needed", ratelimit.NamespacesMax))
}

// checkName rejects spaces in the names of a new collection and its database.
// Source: Azure Cosmos DB for MongoDB, "custom-commands". Errors: the errors of the rule.
func checkName(o *cluster.Op, ns collection.Namespace) error {
	if o.Env.Cosmos == nil || !strings.Contains(ns.DB+ns.Coll, " ") {
		return nil
	}
	return o.Env.Cosmos.Refuse(cosmos.SpacesInNames, cosmos.SpacesInNames.Refusal("the name %q has a space, which names of an account do not have", ns))
}

// checkShared limits the number of collections that share a database's throughput. Such collections need no shard
// key.
// Source: Azure Cosmos DB, "set-throughput"; Azure Cosmos DB for MongoDB, "custom-commands".
// Errors: the errors of ratelimit.CheckShared.
func checkShared(snap *catalog.Snapshot, db string) error {
	return ratelimit.CheckShared(len(jobs.Sharing(snap, db)))
}
