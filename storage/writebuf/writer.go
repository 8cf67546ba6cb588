package writebuf

import (
	"context"
	"sync/atomic"

	"github.com/cantledb/cantle/storage"
)

// Bounds are the maximum sizes, in bytes, of the writes of one transaction.
type Bounds struct {
	Key   int // maximum of one key; 0 = the same as Value
	Value int // maximum of a key and its value together, or of a log record and its stream
	Txn   int // maximum of all writes together
	// Copies is the number of copies of the writes that a commit has in memory at the same time; 0 = 1.
	Copies int
}

// streamBytesMax is the maximum length in bytes of the name of a change-log stream.
const streamBytesMax = 1 << 10

// A transaction takes its memory from the shared budget: nothing up to uncountedBytes, so that small transactions
// are never refused, then in steps of at least stepBytes.
const (
	uncountedBytes = 64 << 10
	stepBytes      = 256 << 10
)

// Writer implements the writing methods of storage.Txn: an engine embeds it. It checks sizes, keys and the memory
// budget, and fills a Buffer.
type Writer struct {
	Buf    *Buffer // nil: the transaction is read-only or has ended
	Bounds *Bounds
	Memory storage.Memory // nil = no limit
	Closed *atomic.Bool   // the transaction has ended

	taken int64 // of Memory
}

// check decides whether a write of key that adds n bytes is allowed. Every write calls it, and it takes the
// memory. Errors: as storage.Txn.Set.
func (w *Writer) check(key []byte, n int) error {
	switch {
	case w.Closed.Load():
		return storage.ErrClosed
	case w.Buf == nil:
		return storage.ErrReadOnly
	case n > w.Bounds.Value:
		return storage.ErrValueTooLarge
	case w.Buf.Bytes()+n > w.Bounds.Txn:
		return storage.ErrTxnTooLarge
	case !w.reserveMemory(int64(w.Buf.MemoryBytes()+n) * int64(max(w.Bounds.Copies, 1))):
		return storage.ErrMemoryFull
	}
	if err := CheckKey(key); err != nil {
		return err
	}
	if w.Bounds.Key > 0 && len(key) > w.Bounds.Key {
		return storage.ErrValueTooLarge
	}
	return nil
}

// reserveMemory takes bytes from the memory budget, so that the transaction has enough for n bytes in total, and
// reports whether the budget had them.
func (w *Writer) reserveMemory(n int64) bool {
	if w.Memory != nil && n > w.taken+uncountedBytes {
		step := max(n-w.taken, stepBytes)
		if !w.Memory.Take(step) {
			return false
		}
		w.taken += step
	}
	return true
}

// Free returns the memory that the transaction has taken to the budget, once the transaction has ended.
func (w *Writer) Free() {
	if w.taken > 0 {
		w.Memory.Give(w.taken)
		w.taken = 0
	}
}

// Written returns the layer of the transaction's writes of keys so far. Later writes, and rollbacks of these, do not
// change it.
func (w *Writer) Written() Layer {
	if w.Buf == nil {
		return Layer{}
	}
	return w.Buf.Snapshot()
}

// Set implements storage.Txn.
func (w *Writer) Set(key, value []byte) error {
	if err := w.check(key, len(key)+len(value)); err != nil {
		return err
	}
	if len(value) == 0 {
		return storage.ErrInvalidKey
	}
	w.Buf.Set(key, value)
	return nil
}

// Delete implements storage.Txn.
func (w *Writer) Delete(key []byte) error {
	if err := w.check(key, len(key)); err != nil {
		return err
	}
	w.Buf.Delete(key)
	return nil
}

// Lock implements storage.Txn.
func (w *Writer) Lock(_ context.Context, keys ...[]byte) error {
	for _, k := range keys {
		if err := w.check(k, len(k)); err != nil {
			return err
		}
		w.Buf.Lock(k)
	}
	return nil
}

// anyKey is a valid key, passed to check for log records, which have no key.
var anyKey = []byte{1}

// AppendLog implements storage.Txn.
func (w *Writer) AppendLog(stream, rec []byte) error {
	if len(stream) > streamBytesMax {
		return storage.ErrValueTooLarge
	}
	if err := w.check(anyKey, len(stream)+len(rec)); err != nil {
		return err
	}
	w.Buf.AppendLog(stream, rec)
	return nil
}

// Savepoint implements storage.Txn.
func (w *Writer) Savepoint() storage.Savepoint {
	if w.Buf == nil || w.Closed.Load() {
		return 0
	}
	return w.Buf.Savepoint()
}

// RollbackTo implements storage.Txn.
func (w *Writer) RollbackTo(sp storage.Savepoint) {
	if w.Buf != nil && !w.Closed.Load() {
		w.Buf.RollbackTo(sp)
	}
}

// BufferedBytes implements storage.Txn.
func (w *Writer) BufferedBytes() int {
	if w.Buf == nil {
		return 0
	}
	return w.Buf.Bytes()
}
