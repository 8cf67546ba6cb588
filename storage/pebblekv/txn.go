package pebblekv

import (
	"context"
	"hash/maphash"

	"github.com/cockroachdb/pebble/v2"

	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/writebuf"
)

// work is the reusable memory of a writing transaction.
type work struct {
	buf    writebuf.Buffer
	prints []uint64 // fingerprints of the keys written and locked
	key    []byte   // scratch
}

// txn implements storage.Txn. The struct itself is not reused, so that a late
// Close after Commit cannot end somebody else's transaction.
type txn struct {
	view
	o          storage.TxnOptions
	work       *work // nil once closed, or read-only
	held       writebuf.Held
	memory     storage.Memory
	taken      int64 // of memory
	prev, next *txn  // in txnList
}

// txnList is the open writable transactions, ordered by their snapshot's time.
type txnList struct{ head, tail *txn }

func (l *txnList) insert(t *txn) {
	after := l.tail
	for after != nil && after.snap.ts > t.snap.ts { // only for transactions begun in the past
		after = after.prev
	}
	t.prev = after
	if after == nil {
		t.next, l.head = l.head, t
	} else {
		t.next, after.next = after.next, t
	}
	if t.next == nil {
		l.tail = t
	} else {
		t.next.prev = t
	}
}

func (l *txnList) remove(t *txn) {
	if t.prev == nil {
		l.head = t.next
	} else {
		t.prev.next = t.next
	}
	if t.next == nil {
		l.tail = t.prev
	} else {
		t.next.prev = t.prev
	}
	t.prev, t.next = nil, nil
}

// Begin implements storage.Store.
func (s *store) Begin(ctx context.Context, o storage.TxnOptions) (storage.Txn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	t := &txn{view: view{s: s}, o: o, memory: s.o.TxnMemory}
	if o.Memory != nil {
		t.memory = o.Memory
	}
	if len(o.Latch) > 0 {
		var err error
		if t.held, err = s.latches.Acquire(ctx, o.Latch); err != nil {
			return nil, err
		}
		t.o.Latch = nil
	}
	if !o.ReadOnly {
		t.work = s.buffers.Get().(*work)
	}
	s.mu.Lock()
	err := s.acquire(&t.view, o.At)
	if err == nil && !o.ReadOnly {
		if t.snap.ts < s.conflicts.horizon {
			s.open--
			s.snaps.release(t.snap) // not the last reference: At needs an open reader
			err = storage.ErrSnapshotTooOld
		} else {
			s.txns.insert(t)
		}
	}
	s.mu.Unlock()
	if err != nil {
		t.held.Release()
		return nil, err
	}
	return t, nil
}

// buffer returns the writes to read through, nil if there are none.
func (t *txn) buffer() *writebuf.Buffer {
	if t.work == nil || t.work.buf.Len() == 0 {
		return nil
	}
	return &t.work.buf
}

func (t *txn) Get(ctx context.Context, key, dst []byte) ([]byte, error) {
	if err := t.check(ctx); err != nil {
		return dst, err
	}
	if b := t.buffer(); b != nil {
		switch v, state := b.Get(key); state {
		case writebuf.Written:
			return append(dst, v...), nil
		case writebuf.Deleted:
			return dst, storage.ErrNotFound
		}
	}
	return t.get(key, dst)
}

func (t *txn) Has(ctx context.Context, key []byte) (bool, error) {
	if err := t.check(ctx); err != nil {
		return false, err
	}
	if b := t.buffer(); b != nil {
		if _, state := b.Get(key); state != writebuf.Untouched {
			return state == writebuf.Written, nil
		}
	}
	return t.has(key, true)
}

func (t *txn) GetMany(ctx context.Context, keys [][]byte, emit func(i int, value []byte) error) error {
	if err := t.check(ctx); err != nil {
		return err
	}
	return t.getMany(ctx, t.buffer(), keys, emit)
}

func (t *txn) Iter(ctx context.Context, r storage.Range, o storage.IterOptions) (storage.Iterator, error) {
	if err := t.check(ctx); err != nil {
		return nil, err
	}
	r = clip(r)
	it, err := t.iter(r, o)
	if err != nil {
		return nil, err
	}
	if b := t.buffer(); b != nil {
		return writebuf.Guard(writebuf.Merge(it, b, r, o.Reverse)), nil
	}
	return writebuf.Guard(it), nil
}

// checkWrite is called by every write with the bytes it adds.
func (t *txn) checkWrite(key []byte, n int) error {
	switch {
	case t.closed.Load():
		return storage.ErrClosed
	case t.work == nil:
		return storage.ErrReadOnly
	case n > t.s.o.ValueBytesMax:
		return storage.ErrValueTooLarge
	case t.work.buf.Bytes()+n > t.s.o.TxnBytesMax:
		return storage.ErrTxnTooLarge
	case !t.room(t.work.buf.Bytes() + n):
		return storage.ErrMemoryFull
	}
	return writebuf.CheckKey(key)
}

// What a transaction takes of the memory that all share: nothing while it is small, so
// that small ones are never refused, then in steps.
const (
	uncountedBytes = 64 << 10
	stepBytes      = 256 << 10
)

// room takes memory for a buffer of n bytes, and reports whether there is some.
func (t *txn) room(n int) bool {
	if m := t.memory; m != nil && int64(n) > t.taken+uncountedBytes {
		step := max(int64(n)-t.taken, stepBytes)
		if !m.Take(step) {
			return false
		}
		t.taken += step
	}
	return true
}

func (t *txn) Set(key, value []byte) error {
	if err := t.checkWrite(key, len(key)+len(value)); err != nil {
		return err
	}
	if len(value) == 0 {
		return storage.ErrInvalidKey
	}
	t.work.buf.Set(key, value)
	return nil
}

func (t *txn) Delete(key []byte) error {
	if err := t.checkWrite(key, len(key)); err != nil {
		return err
	}
	t.work.buf.Delete(key)
	return nil
}

func (t *txn) Lock(_ context.Context, keys ...[]byte) error {
	for _, k := range keys {
		if err := t.checkWrite(k, len(k)); err != nil {
			return err
		}
		t.work.buf.Lock(k)
	}
	return nil
}

func (t *txn) AppendLog(stream, rec []byte) error {
	if len(stream) > streamBytesMax {
		return storage.ErrValueTooLarge
	}
	if err := t.checkWrite(userStart, len(stream)+len(rec)); err != nil {
		return err
	}
	t.work.buf.AppendLog(stream, rec)
	return nil
}

func (t *txn) Claim(ctx context.Context, keys ...[]byte) error {
	if err := t.check(ctx); err != nil {
		return err
	}
	for _, key := range keys {
		print := maphash.Bytes(t.s.seed, key)
		t.s.mu.Lock()
		newer := t.s.conflicts.newer(print, t.snap.ts)
		t.s.mu.Unlock()
		if newer {
			return storage.ErrConflict
		}
	}
	return nil
}

func (t *txn) Savepoint() storage.Savepoint {
	if t.work == nil {
		return 0
	}
	return t.work.buf.Savepoint()
}

func (t *txn) RollbackTo(sp storage.Savepoint) {
	if t.work != nil {
		t.work.buf.RollbackTo(sp)
	}
}

func (t *txn) BufferedBytes() int {
	if t.work == nil {
		return 0
	}
	return t.work.buf.Bytes()
}

func (t *txn) Close() {
	if t.closed.Swap(true) {
		return
	}
	t.dropPoints()
	t.s.mu.Lock()
	ps := t.leave()
	t.s.mu.Unlock()
	t.finish(ps)
}

// leave takes the transaction off the store's books; store.mu is held.
func (t *txn) leave() (ps *pebble.Snapshot) {
	if t.work != nil {
		t.s.txns.remove(t)
	}
	return t.release()
}

// finish frees what leave left.
func (t *txn) finish(ps *pebble.Snapshot) {
	t.s.anchor.close(ps)
	t.held.Release()
	if w := t.work; w != nil {
		t.work = nil
		w.reset()
		t.s.buffers.Put(w)
		if t.taken > 0 {
			t.memory.Give(t.taken)
			t.taken = 0
		}
	}
}

// reset empties the memory for the next transaction.
func (w *work) reset() {
	w.buf.Reset()
	w.prints = w.prints[:0]
	if cap(w.prints) > 4096 {
		w.prints = nil
	}
}
