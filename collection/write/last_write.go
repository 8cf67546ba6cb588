package write

import (
	"bytes"
	"errors"
	"math"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/keystring"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/keyspace"
)

// An index by the last write (index.Spec.LastWrite) has for each document
//
//   - an entry of null, whose stored value is the keystring of the other entry:
//     a later writer finds the other entry by it, as the document does not determine it;
//   - an entry of the date of the last write, or, for a document with its own
//     ttl, of the number of milliseconds since 1970 at which it ends. A document
//     whose ttl is -1 never ends and has none.
//
// So the job that deletes reads only entries that are due, and a change of expireAfterSeconds rewrites
// nothing. A build of the index and a copy of the collection (resharding, restore) restart the time of
// every document: documents live longer, never shorter.

// stamp writes the entries of a new document.
func (t *Target) stamp(env *mql.Env, ix *catalog.Index, doc bson.Raw, h keyspace.Hash) error {
	due := expiryEntry(env.NowMillis, doc)
	if err := t.put(ix, entry{values: stampKey, bits: due}, h); err != nil || due == nil {
		return err
	}
	return t.put(ix, entry{values: due}, h)
}

// restamp replaces the entries of an existing document.
func (t *Target) restamp(env *mql.Env, ix *catalog.Index, doc bson.Raw, h keyspace.Hash) error {
	if err := t.unstamp(env, ix, h); err != nil {
		return err
	}
	return t.stamp(env, ix, doc, h)
}

// unstamp removes the entries of a document in an index by the last write. If an index build has not reached the
// document yet, there are none.
func (t *Target) unstamp(env *mql.Env, ix *catalog.Index, h keyspace.Hash) error {
	for _, p := range t.Shard.Partitions {
		v, err := t.Txn.Get(env.Context(), t.entryKey(ix, entry{values: stampKey}, h, p), nil)
		if errors.Is(err, storage.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		if due := keyspace.EntryTypeBits(bytes.Clone(v)); due != nil {
			if err := t.unset(env, ix, entry{values: due}, h); err != nil {
				return err
			}
		}
	}
	return t.unset(env, ix, entry{values: stampKey}, h)
}

var stampKey = keystring.Append(nil, bson.Null, keystring.Ascending, nil, nil)

// expiryEntry returns the keystring of the index entry by which a document that is written now (milliseconds since
// 1970) expires; nil for never.
func expiryEntry(now int64, doc bson.Raw) []byte {
	b := bson.NewBuilder(nil)
	switch ttl, ok := ownTTL(doc); {
	case !ok:
		b.DateTime("", now)
	case ttl < 0:
		return nil
	default:
		b.Int64("", now+ttl*1000)
	}
	return keystring.Append(nil, b.Doc().Get(""), keystring.Ascending, nil, nil)
}

// ownTTL returns the number of seconds after its last write at which a document expires by its own field ttl, or -1
// for never; ok is false without a valid ttl. Invalid values are stored and ignored.
// Source: Azure Cosmos DB for MongoDB, "time-to-live".
func ownTTL(doc bson.Raw) (seconds int64, ok bool) {
	v := doc.Get("ttl")
	switch v.Type {
	case bson.TypeInt32, bson.TypeInt64, bson.TypeDouble:
	default:
		return 0, false
	}
	f, _ := v.AsFloat()
	if f != math.Trunc(f) || f > math.MaxInt32 || f != -1 && f < 1 {
		return 0, false
	}
	return int64(f), true
}
