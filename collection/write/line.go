package write

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/keyspace"
)

// Line holds the next position of a capped collection and the number and size of its documents. It is a
// row that every transaction changes that writes to the collection. It is used if several servers share
// the store: their writers conflict on the row, so that positions are in the order of commits.
type Line struct {
	Next, First keyspace.Hash // the next position; no document is before First
	Docs, Bytes int64
}

// linePrefix is the prefix of the rows' names.
const linePrefix = "capped."

// LineKey returns the key of a collection's row.
func LineKey(id keyspace.CollectionID) []byte {
	return keyspace.AppendMeta(nil, keyspace.MetaVersion, fmt.Appendf(nil, "%s%d", linePrefix, id))
}

// LineKeys returns the range of all rows. A server that has the store exclusively removes them, because
// it does not maintain them.
func LineKeys() storage.Range {
	return keyspace.MetaPrefixRange(keyspace.MetaVersion, []byte(linePrefix))
}

// ReadLine reads the row of a collection. If there is none yet, it counts all documents.
func ReadLine(ctx context.Context, r storage.Reader, id keyspace.CollectionID) (l Line, err error) {
	v, err := r.Get(ctx, LineKey(id), nil)
	switch {
	case errors.Is(err, storage.ErrNotFound):
		return countLine(ctx, r, id)
	case err == nil && len(v) != 32:
		return l, fmt.Errorf("the next place of collection %d: %w", id, storage.ErrCorruption)
	case err != nil:
		return l, err
	}
	l.Next, l.First = keyspace.Hash(binary.BigEndian.Uint64(v)), keyspace.Hash(binary.BigEndian.Uint64(v[8:]))
	l.Docs, l.Bytes = int64(binary.BigEndian.Uint64(v[16:])), int64(binary.BigEndian.Uint64(v[24:]))
	return l, nil
}

func countLine(ctx context.Context, r storage.Reader, id keyspace.CollectionID) (l Line, err error) {
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
func (l Line) Save(t storage.Txn, id keyspace.CollectionID) error {
	v := binary.BigEndian.AppendUint64(nil, uint64(l.Next))
	v = binary.BigEndian.AppendUint64(v, uint64(l.First))
	v = binary.BigEndian.AppendUint64(v, uint64(l.Docs))
	return t.Set(LineKey(id), binary.BigEndian.AppendUint64(v, uint64(l.Bytes)))
}
