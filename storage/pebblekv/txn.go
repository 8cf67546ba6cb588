package pebblekv

import (
	"context"
	"hash/maphash"

	"github.com/cockroachdb/pebble/v2"

	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/writebuf"
)

// work holds the memory of a writing transaction, which the next one reuses.
type work struct {
	buf          writebuf.Buffer
	prints       []uint64    // fingerprints of the written keys, then of the locked keys
	replacements []*hotValue // for each written key its new value in the hot cache, nil if it is not there
	ranges       bool        // the commit deletes ranges of keys; only outside of transactions
	key          []byte      // scratch
}

// txn implements storage.Txn. Only its buffers (work) are reused by later transactions: if the struct were too, a
// late Close after Commit could end another transaction.
type txn struct {
	view
	writebuf.Txn
	work       *work            // nil if closed or read-only
	left       bool             // the transaction has left the lists of the store
	unused     *pebble.Snapshot // to close, once it has left
	prev, next *txn             // in txnList
}

// txnList is a linked list of the open writable transactions, in order of their snapshots' timestamps. Its head
// bounds how far back the conflict table must reach.
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
	t := &txn{view: view{s: s, keeps: true}}
	t.Below, t.Closed = &t.view, &t.closed
	if err := t.Txn.Begin(ctx, t, &s.txnConfig, &o); err != nil {
		return nil, err
	}
	if !o.ReadOnly {
		t.work = s.buffers.Get().(*work)
		t.Write(&t.work.buf)
	}
	s.mu.Lock()
	err := s.acquire(&t.view, o.At)
	if err == nil && !o.ReadOnly {
		if t.snap.ts < s.conflicts.horizon {
			s.open--
			s.snaps.release(t.snap) // not the last reference: At requires an open reader
			err = storage.ErrSnapshotTooOld
		} else {
			s.txns.insert(t)
		}
	}
	s.mu.Unlock()
	if err != nil {
		t.Abandon()
		return nil, err
	}
	return t, nil
}

// Claim implements storage.Txn. It returns ErrConflict if one of the keys was, or may have been, committed after
// the transaction began.
func (t *txn) Claim(ctx context.Context, keys ...[]byte) error {
	if err := t.Check(ctx); err != nil {
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

// leave removes the transaction from the list of open ones, and releases its snapshot. The caller holds store.mu.
func (t *txn) leave() {
	if t.work != nil {
		t.s.txns.remove(t)
	}
	t.left, t.unused = true, t.release()
}

// Release implements writebuf.Engine: it ends the transaction and returns its buffers for reuse. The caller does
// not hold store.mu.
func (t *txn) Release() {
	t.dropPoints()
	if !t.left {
		t.s.mu.Lock()
		t.leave()
		t.s.mu.Unlock()
	}
	t.s.anchor.close(t.unused)
	if w := t.work; w != nil {
		t.work = nil
		w.reset()
		t.s.buffers.Put(w)
	}
}

// reset empties the buffers for the next transaction, and frees the large ones.
func (w *work) reset() {
	w.buf.Reset()
	clear(w.replacements)
	w.prints, w.replacements = w.prints[:0], w.replacements[:0]
	if cap(w.prints) > 4096 {
		w.prints, w.replacements = nil, nil
	}
}
