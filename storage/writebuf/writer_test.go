package writebuf

import (
	"errors"
	"sync/atomic"
	"testing"

	"github.com/cantledb/cantle/storage"
)

// memoryBudget is a memory budget for tests.
type memoryBudget struct{ left, taken int64 }

func (p *memoryBudget) Take(n int64) bool {
	if p.taken+n > p.left {
		return false
	}
	p.taken += n
	return true
}

func (p *memoryBudget) Give(n int64) { p.taken -= n }

// TestWriter checks that a Writer refuses writes beyond its bounds, takes memory for all copies of a large
// transaction, and returns all of it.
func TestWriter(t *testing.T) {
	var buf Buffer
	var closed atomic.Bool
	memory := &memoryBudget{left: 2 << 20}
	w := Writer{Buf: &buf, Bounds: &Bounds{Key: 10, Value: 300 << 10, Txn: 600 << 10, Copies: 2}, Memory: memory, Closed: &closed}
	is := func(what string, got, want error) {
		t.Helper()
		if !errors.Is(got, want) {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	is("a small value", w.Set([]byte("a"), make([]byte, 32<<10-1)), nil)
	if memory.taken != 0 {
		t.Errorf("%d bytes are taken for a small transaction", memory.taken)
	}
	is("a long key", w.Delete([]byte("abcdefghijk")), storage.ErrValueTooLarge)
	is("a long key to lock", w.Lock(t.Context(), []byte("abcdefghijk")), storage.ErrValueTooLarge)
	is("no key", w.Set(nil, []byte("v")), storage.ErrInvalidKey)
	is("no value", w.Set([]byte("b"), nil), storage.ErrInvalidKey)
	is("a large value", w.Set([]byte("b"), make([]byte, 300<<10)), storage.ErrValueTooLarge)
	is("a long stream", w.AppendLog(make([]byte, streamBytesMax+1), []byte("r")), storage.ErrValueTooLarge)
	sp := w.Savepoint()
	is("one of 250 KB", w.AppendLog([]byte("s"), make([]byte, 250<<10)), nil)
	if memory.taken < 2*282<<10-uncountedBytes {
		t.Errorf("%d bytes are taken for 282 KB in two copies", memory.taken)
	}
	is("another one", w.Set([]byte("c"), make([]byte, 250<<10)), nil)
	is("a third one", w.Set([]byte("d"), make([]byte, 250<<10)), storage.ErrTxnTooLarge)
	memory.left = memory.taken
	w.RollbackTo(sp)
	if n := w.BufferedBytes(); n != 32<<10 || w.Buf.Newest().IsEmpty() {
		t.Errorf("%d bytes after the way back", n)
	}
	other := Writer{Buf: &Buffer{}, Bounds: w.Bounds, Memory: memory, Closed: &closed}
	is("no memory", other.Set([]byte("a"), make([]byte, 100<<10)), storage.ErrMemoryFull)
	closed.Store(true)
	is("after the end", w.Delete([]byte("a")), storage.ErrClosed)
	closed.Store(false)
	w.Free()
	if memory.taken != 0 {
		t.Errorf("%d bytes are not given back", memory.taken)
	}
	ro := Writer{Bounds: w.Bounds, Closed: &closed}
	is("read-only", ro.Set([]byte("a"), []byte("v")), storage.ErrReadOnly)
	if ro.Savepoint() != 0 || ro.BufferedBytes() != 0 || !ro.Written().IsEmpty() {
		t.Error("a read-only writer has something")
	}
}
