package cluster

import (
	"fmt"
	"strings"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/keystring"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/agg"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/changestream"
	"github.com/cantledb/cantle/collection/cosmos"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/collection/order"
	"github.com/cantledb/cantle/collection/plan"
	"github.com/cantledb/cantle/collection/shard"
)

// The rules of Azure Cosmos DB for MongoDB that the data plane enforces, one function
// each. They apply if the environment of a command has an account (mql.Env.Cosmos).

// checkSort rejects the sorts that Azure Cosmos DB for MongoDB rejects: on one field without an index, on several
// fields without a compound index of the same sequence, in the same directions or all reversed. A sort on one field
// of the shard key or with $meta needs no index; servesGridFS is an exception too. Every error ends with the call
// that creates the index.
// Source: Azure Cosmos DB for MongoDB, "indexing". Errors: BadValue (2).
func checkSort(env *mql.Env, q *plan.Query) error {
	coll, sort := q.Coll, q.Pattern
	if !env.Strict() || sort == nil {
		return nil
	}
	for _, p := range sort.Parts {
		if p.Meta != "" {
			return nil
		}
	}
	for _, ix := range coll.Indexes {
		if ix.State == catalog.IndexReady && !ix.Hidden && (servesSort(ix, sort) || servesGridFS(ix, q)) {
			return nil
		}
	}
	rule := cosmos.CompositeSorts
	if len(sort.Parts) == 1 {
		name := sort.Parts[0].Name
		for _, f := range coll.Key.Fields() {
			if f.Path.String() == name {
				return nil // the shard key is indexed implicitly
			}
		}
		rule = cosmos.Sorts
	}
	return env.Cosmos.Refuse(rule, rule.Refusal("Create the index with db.getCollection(%q).createIndex(%s)", coll.Namespace.Coll, sortIndex(sort)))
}

// servesSort reports whether Cosmos DB can answer a sort from an index.
func servesSort(ix *catalog.Index, sort *order.Pattern) bool {
	if len(sort.Parts) == 1 {
		name := sort.Parts[0].Name
		if ix.Kind.Name == "wildcard" {
			under, all := strings.CutSuffix(ix.Parts[0].Name, "$**")
			return all && strings.HasPrefix(name, under) && name != "_id"
		}
		return ix.IsOrdered() && ix.Fields()[0] == name
	}
	if !ix.IsOrdered() || len(ix.Fields()) != len(sort.Parts) {
		return false
	}
	dirs := ix.Dirs()
	for i, p := range sort.Parts {
		if ix.Fields()[i] != p.Name || (dirs[i] == p.Dir) != (dirs[0] == sort.Parts[0].Dir) {
			return false
		}
	}
	return true
}

// servesGridFS reports whether an index that drivers create for GridFS serves a query: the filter fixes the first
// field to one value, and the sort is by the second field.
func servesGridFS(ix *catalog.Index, q *plan.Query) bool {
	_, fixed := q.Equal(cosmos.GridFSKey(ix.Fields(), q.Pattern.Parts[0].Name))
	return fixed && len(q.Pattern.Parts) == 1 && ix.IsOrdered()
}

// sortIndex prints the key pattern of the index that serves a sort.
func sortIndex(sort *order.Pattern) string {
	fields := make([]string, len(sort.Parts))
	for i, p := range sort.Parts {
		dir := 1
		if p.Dir == keystring.Descending {
			dir = -1
		}
		fields[i] = fmt.Sprintf("%q: %d", p.Name, dir)
	}
	return "{" + strings.Join(fields, ", ") + "}"
}

// keyBytesMax is the maximum length of a shard key value in Cosmos DB, in bytes.
const keyBytesMax = 2048

// checkDocument rejects documents that are larger or nested more deeply than the Cosmos account allows.
// Source: Azure Cosmos DB, "concepts-limits". Errors: the errors of the rules LargeDocuments and DeepDocuments.
func checkDocument(env *mql.Env, doc bson.Raw) error {
	if env.Cosmos == nil {
		return nil
	}
	if len(doc) > env.Cosmos.DocumentMax() {
		if err := env.Cosmos.CheckRule(cosmos.LargeDocuments); err != nil {
			return err
		}
	}
	if doc.Depth() > cosmos.DepthMax {
		return env.Cosmos.CheckRule(cosmos.DeepDocuments)
	}
	return nil
}

// checkNew rejects new documents that Azure Cosmos DB for MongoDB rejects: those of checkDocument, and documents
// without a shard key, with an array in its place or on its path, or with a shard key that is too long.
// Source: Azure Cosmos DB, "partitioning-overview", "large-partition-keys".
// Errors: the errors of checkDocument, ShardKeyNotFound (61), BadValue (2).
func checkNew(env *mql.Env, coll *catalog.Collection, doc bson.Raw) error {
	if err := checkDocument(env, doc); err != nil || !env.Strict() || !coll.Sharded() {
		return err
	}
	if path, missing := coll.Key.Missing(doc); missing {
		return env.Cosmos.Refuse(cosmos.KeysMissing, shard.MissingKey(path))
	}
	if path, found := coll.Key.Array(doc); found {
		return env.Cosmos.Refuse(cosmos.KeysMissing, shard.MissingKey(path))
	}
	if n := len(coll.Key.AppendLogical(nil, doc)); n > keyBytesMax {
		return env.Cosmos.Refuse(cosmos.KeysLong, cosmos.KeysLong.Refusal("The shard key %s of the document has %d bytes; at most %d are allowed", coll.Key, n, keyBytesMax))
	}
	return nil
}

// confineTxn keeps a transaction within what Azure Cosmos DB allows: one unsharded
// collection.
// Source: Azure Cosmos DB for MongoDB, "use-multi-document-transactions".
// Errors: Location50841.
func (o *Op) confineTxn(coll *catalog.Collection) error {
	if !o.Env.Strict() || o.Txn == nil {
		return nil
	}
	if coll.Sharded() {
		if err := o.Env.Cosmos.CheckRule(cosmos.ShardedTransactions); err != nil {
			return err
		}
	}
	if o.Txn.confinedTo != 0 && o.Txn.confinedTo != coll.ID {
		if err := o.Env.Cosmos.CheckRule(cosmos.CrossCollectionTransactions); err != nil {
			return err
		}
	}
	o.Txn.confinedTo = coll.ID
	return nil
}

// checkTargeted rejects a write to a sharded collection if its filter does not fix the shard key. rule is the rule
// for writes to one document, or that for writes to many; its refusal is the error. Errors: ShardKeyNotFound (61).
func checkTargeted(env *mql.Env, q *plan.Query, rule cosmos.RuleID) error {
	if !env.Strict() || q == nil || !q.Coll.Sharded() || q.Targeted() {
		return nil
	}
	return env.Cosmos.Refuse(rule, rule.Refusal("query in command must target a single shard key; "+
		"add the shard key %s of %s to the filter", q.Coll.Key, q.Coll.Namespace))
}

// checkMove rejects an update that changes a field of the shard key, which Cosmos DB does not allow.
// Errors: ImmutableField (66).
func checkMove(env *mql.Env, field string) error {
	if !env.Strict() {
		return nil
	}
	return env.Cosmos.Refuse(cosmos.KeyChanges, cosmos.KeyChanges.Refusal("Performing an update on the path '%s' would modify the immutable field '%s'; "+
		"to move a document, delete it and insert it with the new shard key", field, field))
}

// refusedOneByOne reports whether an insert of which every document was throttled returns an error for each document,
// as Cosmos DB does, instead of one error for the command.
func refusedOneByOne(env *mql.Env) bool { return env.Strict() }

// checkWatched rejects a change stream on more than one collection, and one without $match and then $project directly
// after $changeStream, which the service requires.
// Source: Azure Cosmos DB for MongoDB, "change-streams". Errors: BadValue (2).
func checkWatched(env *mql.Env, p *agg.Pipeline) error {
	if !env.Strict() {
		return nil
	}
	if p.NS.Coll == "" {
		if err := env.Cosmos.CheckRule(cosmos.WatchedDatabases); err != nil {
			return err
		}
	}
	stages := p.Stages()
	if len(stages) < 3 || stages[1].Name() != "$match" || stages[2].Name() != "$project" {
		return env.Cosmos.CheckRule(cosmos.WatchedPipelines)
	}
	return nil
}

// restrictChanges makes a change stream deliver only the latest versions of documents, as Cosmos DB does, unless the
// account is lenient. It rejects a stream on a missing collection, and a stream without fullDocument: "updateLookup".
// Source: Azure Cosmos DB for MongoDB, "change-streams". Errors: BadValue (2).
func restrictChanges(env *mql.Env, snap *catalog.Snapshot, ns collection.Namespace, spec *changestream.Spec) error {
	if !env.Strict() {
		return nil
	}
	if ns.Coll != "" && snap.Collection(ns) == nil {
		if err := env.Cosmos.Refuse(cosmos.WatchedMissing, cosmos.WatchedMissing.Refusal("the collection %s does not exist", ns)); err != nil {
			return err
		}
	}
	if spec.FullDocument != changestream.FullLookup {
		if err := env.Cosmos.Refuse(cosmos.WatchedDocuments, cosmos.WatchedDocuments.Refusal("Change streams need the option fullDocument: \"updateLookup\"")); err != nil {
			return err
		}
	}
	spec.Latest = !env.Cosmos.Lenient
	return nil
}

// ExpireDue deletes the expired documents of collections before a command of the Cosmos address reads or writes them.
// On that address an expired document is in no answer, has no effect on a write, and its values are free in unique
// indexes, while MongoDB shows the document until it is deleted in the background. A transaction reads the state of
// its beginning, so the call precedes the transaction; a read in the past reads the state of its time.
// Source: Azure Cosmos DB, "time-to-live".
func (c *Cluster) ExpireDue(o *Op, nss ...collection.Namespace) error {
	if o.Env.Cosmos == nil || o.Txn != nil || o.At != 0 {
		return nil
	}
	snap := c.catalog.Peek()
	for _, ns := range nss {
		coll := snap.Collection(ns)
		if coll == nil || !coll.Expires() {
			continue
		}
		o.Env.ReleaseSlot()
		if err := c.definer.ExpireDue(o, coll); err != nil {
			return err
		}
	}
	return nil
}
