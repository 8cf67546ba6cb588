package write

import (
	"iter"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/keyspace"
)

// Prefetch reads ahead the keys that Insert will look up for documents at their positions: the keys of the records,
// and of their entries in unique indexes. A remote store reads them together; in a multi-document transaction it
// also locks them. For other stores, Prefetch does nothing.
// Errors: storage errors.
func (t *Target) Prefetch(env *mql.Env, docs iter.Seq2[bson.Raw, keyspace.Hash]) error {
	f, ok := t.Txn.(storage.Fetcher)
	if !ok {
		return nil
	}
	var keys [][]byte
	for doc, h := range docs {
		keys = t.AppendLookups(env, keys, doc, h)
	}
	return f.Prefetch(env.Context(), keys, t.Multi)
}

// AppendLookups appends to keys the store keys that Insert will look up for the document doc at position h.
func (t *Target) AppendLookups(env *mql.Env, keys [][]byte, doc bson.Raw, h keyspace.Hash) [][]byte {
	keys = append(keys, keyspace.AppendRecord(nil, t.Coll.ID, h, t.Coll.AppendID(nil, doc)))
	for _, ix := range t.Coll.Indexes {
		keys = t.AppendBuildLookups(env, keys, ix, doc)
	}
	return keys
}

// AppendBuildLookups appends to keys the store keys that Build will look up for a document: those of its entries in
// a unique index, in every index partition of the shard.
func (t *Target) AppendBuildLookups(env *mql.Env, keys [][]byte, ix *catalog.Index, doc bson.Raw) [][]byte {
	if !ix.Unique || !t.maintained(ix) {
		return keys
	}
	t.scratch.Reset()
	if _, err := t.newKeys.load(env, t, ix, doc); err != nil {
		return keys // Insert or Build reports the error
	}
	for _, e := range t.newKeys.list {
		for _, p := range t.Shard.Partitions {
			keys = append(keys, keyspace.AppendUnique(nil, t.Coll.ID, ix.ID, p, e.values))
		}
	}
	return keys
}
