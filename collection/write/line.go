package write

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/keyspace"
)

// CappedState holds the next position of a capped collection and the number and size of its documents. It is a row
// that every transaction changes which writes to the collection. The row is used if several servers share the store:
// their writers conflict on it, so that positions are in the order of commits.
type CappedState struct {
	Next, First keyspace.Hash // the next position; no document is before First
	Docs, Bytes int64
}

// cappedPrefix is the prefix of the rows' names.
const cappedPrefix = "capped."

// CappedStateKey returns the key of a collection's row.
func CappedStateKey(id keyspace.CollectionID) []byte {
	return keyspace.AppendMeta(nil, keyspace.MetaVersion, fmt.Appendf(nil, "%s%d", cappedPrefix, id))
}

// CappedStateKeys returns the key range of the rows of all capped collections. A server that has the store
// exclusively removes the rows, because it does not maintain them.
func CappedStateKeys() storage.Range {
	return keyspace.MetaPrefixRange(keyspace.MetaVersion, []byte(cappedPrefix))
}

// ReadCappedState reads the row of a capped collection. If there is none yet, it counts all documents.
func ReadCappedState(ctx context.Context, r storage.Reader, id keyspace.CollectionID) (l CappedState, err error) {
	v, err := r.Get(ctx, CappedStateKey(id), nil)
	switch {
	case errors.Is(err, storage.ErrNotFound):
		return countCapped(ctx, r, id)
	case err == nil && len(v) != 32:
		return l, fmt.Errorf("the next place of collection %d: %w", id, storage.ErrCorruption)
	case err != nil:
		return l, err
	}
	l.Next, l.First = keyspace.Hash(binary.BigEndian.Uint64(v)), keyspace.Hash(binary.BigEndian.Uint64(v[8:]))
	l.Docs, l.Bytes = int64(binary.BigEndian.Uint64(v[16:])), int64(binary.BigEndian.Uint64(v[24:]))
	return l, nil
}

func countCapped(ctx context.Context, r storage.Reader, id keyspace.CollectionID) (l CappedState, err error) {
	it, err := r.Iter(ctx, keyspace.RecordRange(id), storage.IterOptions{})
	if err != nil {
		return l, err
	}
	defer it.Close()
	l.Next = 1
	for it.Next() {
		_, h, _, ok := keyspace.SplitRecord(it.Key())
		if !ok {
			return l, storage.ErrCorruption
		}
		l.Next, l.Docs, l.Bytes = h+1, l.Docs+1, l.Bytes+int64(len(it.Value()))
	}
	return l, it.Err()
}

// Save writes the row after the writes of a transaction.
func (l CappedState) Save(t storage.Txn, id keyspace.CollectionID) error {
	v := binary.BigEndian.AppendUint64(nil, uint64(l.Next))
	v = binary.BigEndian.AppendUint64(v, uint64(l.First))
	v = binary.BigEndian.AppendUint64(v, uint64(l.Docs))
	return t.Set(CappedStateKey(id), binary.BigEndian.AppendUint64(v, uint64(l.Bytes)))
}
