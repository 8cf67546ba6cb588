// Package intents keeps the writes of open multi-document transactions: record keys and keys of
// unique indexes, and their collections. In the store, the first committer wins; intents report the
// loser's conflict already at the statement, and make writes outside of transactions and changes of
// a collection's definition wait for the transaction instead of breaking it. They are an
// optimisation: correctness is the store's.
// Manual: core/transactions-production-consideration.
package intents

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/keyspace"
)

// Table holds the intents of all open transactions. Safe for concurrent use.
type Table struct {
	// Now is the clock, by which Queue waits longer if transactions take long; nil = it does not. Not to be changed once
	// the table is used.
	Now func() time.Time

	n       atomic.Int64 // keys held
	mu      sync.Mutex
	by      map[string]*Holder
	writers map[keyspace.CollectionID][]*Holder
	queues  map[string][]*waiter // of keys for which transactions wait: see Queue
	hold    time.Duration        // moving average of the times for which transactions have held their keys: see held
}

// Holder is an open transaction, or one that has ended, with its intents: the keys and collections that it has
// written. Its fields are guarded by the Table.
type Holder struct {
	claimed []string
	since   time.Time // of the first of claimed
	written []keyspace.CollectionID
	over    bool
	blocks  bool          // a write outside of transactions has waited for this one
	ended   chan struct{} // closed when over
}

// NewHolder makes the Holder of a new transaction.
func NewHolder() *Holder { return &Holder{ended: make(chan struct{})} }

// Claim records that a transaction writes a key, before it does. Errors: storage.ErrConflict if another open
// transaction has written the key.
func (x *Table) Claim(h *Holder, key []byte) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	switch x.by[string(key)] {
	case h:
		return nil
	case nil:
	default:
		return storage.ErrConflict
	}
	x.take(h, string(key))
	return nil
}

// Wrote records that a transaction writes to a collection, for Await.
func (x *Table) Wrote(h *Holder, id keyspace.CollectionID) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if h.over || slices.Contains(h.written, id) {
		return
	}
	if x.writers == nil {
		x.writers = map[keyspace.CollectionID][]*Holder{}
	}
	x.writers[id] = append(x.writers[id], h)
	h.written = append(h.written, id)
}

// Check checks, before a write outside of transactions, that no open transaction has written the key. Errors:
// *Blocked otherwise, with which the write can wait for the end of that transaction.
func (x *Table) Check(key []byte) error {
	if x.n.Load() == 0 {
		return nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if h := x.by[string(key)]; h != nil {
		return &Blocked{x, h}
	}
	return nil
}

// Await waits for the end of the transactions that have written to a collection by now, before the collection's
// definition changes. It does not wait for transactions that begin meanwhile, so that the wait ends.
func (x *Table) Await(ctx context.Context, id keyspace.CollectionID) error {
	x.mu.Lock()
	writers := slices.Clone(x.writers[id])
	x.mu.Unlock()
	for _, h := range writers {
		if err := h.wait(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Release drops the intents of a transaction that has ended, and wakes the writers that wait for it. A second call
// does nothing.
func (x *Table) Release(h *Holder) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.held(h)
	x.drop(h, "")
	for _, id := range h.written {
		x.writers[id] = slices.DeleteFunc(x.writers[id], func(w *Holder) bool { return w == h })
		if len(x.writers[id]) == 0 {
			delete(x.writers, id)
		}
	}
	h.claimed, h.written = nil, nil
	if !h.over {
		h.over = true
		close(h.ended)
	}
}

// wait returns nil when the transaction has ended, and the cause if ctx ends before.
func (h *Holder) wait(ctx context.Context) error {
	select {
	case <-h.ended:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Blocked is the error of a write that must wait for a transaction, because that has written the same key.
type Blocked struct {
	x *Table
	h *Holder
}

// Error implements error.
func (b *Blocked) Error() string { return "a transaction has written the document" }

// Wait returns nil when the transaction has ended, and the cause if ctx ends before.
func (b *Blocked) Wait(ctx context.Context) error {
	b.x.mu.Lock()
	b.h.blocks = true
	b.x.mu.Unlock()
	return b.h.wait(ctx)
}
