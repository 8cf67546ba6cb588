package write

import (
	"iter"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/keyspace"
)

// Prefetch tells a store that is far away which record keys Insert will look up one by one,
// for documents with their positions: it fetches them together. Other stores are not asked.
// Errors: storage errors.
func Prefetch(env *mql.Env, txn storage.Txn, coll *catalog.Collection, docs iter.Seq2[bson.Raw, keyspace.Hash]) error {
	f, ok := txn.(storage.Fetcher)
	if !ok {
		return nil
	}
	var keys [][]byte
	for doc, h := range docs {
		keys = append(keys, keyspace.AppendRecord(nil, coll.ID, h, coll.AppendID(nil, doc)))
	}
	return f.Prefetch(env.Context(), keys)
}
