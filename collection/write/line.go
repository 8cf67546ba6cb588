package write

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/keyspace"
)

// Line is where the next document of a capped collection goes and what is in it, as a row that
// each transaction that writes to the collection changes. It is kept where several processes use
// the store: their writers conflict on it, so that places are given in the order of commits.
type Line struct {
	Next, First keyspace.Hash // the next place; no document lies before First
	Docs, Bytes int64
}

// linePrefix begins the names of the rows.
const linePrefix = "capped."

// LineKey is the key of a collection's row.
func LineKey(id keyspace.CollectionID) []byte {
	return keyspace.AppendMeta(nil, keyspace.MetaVersion, fmt.Appendf(nil, "%s%d", linePrefix, id))
}

// LineKeys are the keys of all rows. Who has the store alone removes them, because it does not
// keep them.
func LineKeys() storage.Range {
	return keyspace.MetaPrefixRange(keyspace.MetaVersion, []byte(linePrefix))
}

// ReadLine reads the row of a collection; the first time it looks through all documents.
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

// Save writes the row as it is after what a transaction has written.
func (l Line) Save(t storage.Txn, id keyspace.CollectionID) error {
	v := binary.BigEndian.AppendUint64(nil, uint64(l.Next))
	v = binary.BigEndian.AppendUint64(v, uint64(l.First))
	v = binary.BigEndian.AppendUint64(v, uint64(l.Docs))
	return t.Set(LineKey(id), binary.BigEndian.AppendUint64(v, uint64(l.Bytes)))
}
