package write

import (
	"bytes"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/keyspace"
)

// prepareUnique returns an error for an entry whose values another document already has, in an index with the option
// prepareUnique, which will become unique: the index may hold duplicates, but no new ones are added. The lock on the
// key of the corresponding unique entry makes two writers of the same values conflict.
// Manual: core/index-unique/convert-to-unique. Errors: DuplicateKey (11000).
func (t *Target) prepareUnique(env *mql.Env, ix *catalog.Index, e entry, doc bson.Raw, h keyspace.Hash) error {
	for _, p := range t.Shard.Partitions {
		key := keyspace.AppendUnique(nil, t.Coll.ID, ix.ID, p, e.values)
		if err := t.Txn.Lock(env.Context(), key); err != nil {
			return err
		}
		other, err := t.otherEntry(env, key, len(e.values), h)
		if err != nil {
			return err
		}
		if other {
			env.Meter.Add(int(t.Shard.ID), ratelimit.Failure, 1)
			return t.duplicate(ix, doc, e)
		}
	}
	return nil
}

// otherEntry reports whether another record than the target's has an index entry whose key begins with prefix, which
// ends with the entry's values.
func (t *Target) otherEntry(env *mql.Env, prefix []byte, values int, h keyspace.Hash) (bool, error) {
	it, err := t.Txn.Iter(env.Context(), keyspace.PrefixRange(prefix), storage.IterOptions{KeysOnly: true})
	if err != nil {
		return false, err
	}
	defer it.Close()
	for it.Next() {
		at, id, ok := keyspace.SplitEntryAt(it.Key(), values)
		if ok && (at != h || !bytes.Equal(id, t.id)) {
			return true, nil
		}
	}
	return false, it.Err()
}
