package rewind

import (
	"context"

	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/writebuf"
)

// scratch is a layer in the making: a transaction that receives the old documents and their entries, and is never
// committed.
type scratch struct {
	writebuf.Reads
	buf *writebuf.Buffer
}

func newScratch(base storage.Reader) *scratch {
	b := &writebuf.Buffer{}
	return &scratch{writebuf.Over(base, b.Newest()), b}
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
func (t *scratch) Snapshot() storage.Reader               { return t.At(t.buf.Snapshot()) }
func (t *scratch) Savepoint() storage.Savepoint           { return t.buf.Savepoint() }
func (t *scratch) RollbackTo(sp storage.Savepoint)        { t.buf.RollbackTo(sp) }
func (t *scratch) BufferedBytes() int                     { return t.buf.Bytes() }

// Close does nothing: the base stays open.
func (t *scratch) Close() {}

// Commit fails, because the past cannot be changed.
func (t *scratch) Commit(context.Context, storage.Durability) (storage.Timestamp, error) {
	return 0, storage.ErrReadOnly
}
