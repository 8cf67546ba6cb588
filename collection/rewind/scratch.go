package rewind

import (
	"context"

	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/writebuf"
)

// scratch is a transaction that is filled and never committed: a layer in the making.
type scratch struct {
	storage.Reader
	buf *writebuf.Buffer
}

func (t *scratch) now() layered { return layered{t.Reader, t.buf.Newest()} }

func (t *scratch) Get(ctx context.Context, key, dst []byte) ([]byte, error) {
	return t.now().Get(ctx, key, dst)
}

func (t *scratch) Has(ctx context.Context, key []byte) (bool, error) { return t.now().Has(ctx, key) }

func (t *scratch) GetMany(ctx context.Context, keys [][]byte, emit func(i int, value []byte) error) error {
	return t.now().GetMany(ctx, keys, emit)
}

func (t *scratch) Iter(ctx context.Context, r storage.Range, o storage.IterOptions) (storage.Iterator, error) {
	return t.now().Iter(ctx, r, o)
}

func (t *scratch) Set(key, value []byte) error {
	t.buf.Set(key, value)
	return nil
}

func (t *scratch) Delete(key []byte) error {
	t.buf.Delete(key)
	return nil
}

func (t *scratch) Lock(context.Context, ...[]byte) error  { return nil }
func (t *scratch) Claim(context.Context, ...[]byte) error { return nil }
func (t *scratch) AppendLog(_, _ []byte) error            { return nil }
func (t *scratch) Snapshot() storage.Reader               { return layered{t.Reader, t.buf.Snapshot()} }
func (t *scratch) Savepoint() storage.Savepoint           { return t.buf.Savepoint() }
func (t *scratch) RollbackTo(sp storage.Savepoint)        { t.buf.RollbackTo(sp) }
func (t *scratch) BufferedBytes() int                     { return t.buf.Bytes() }

// Commit refuses: the past cannot be changed.
func (t *scratch) Commit(context.Context, storage.Durability) (storage.Timestamp, error) {
	return 0, storage.ErrReadOnly
}
