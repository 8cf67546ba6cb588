package cluster

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/cantledb/cantle/storage"
)

// intents are the documents and the unique values that open multi-document
// transactions have written or removed, by record key and index key. The store lets the first to commit win; intents bring the
// loser's conflict forward to the statement, and make writes outside of
// transactions wait for the transaction instead of spoiling it. They are a
// courtesy: correctness is the store's.
// Manual: core/transactions-production-consideration#in-progress-transactions-and-write-conflicts.
type intents struct {
	n  atomic.Int64 // keys held
	mu sync.Mutex
	by map[string]*Txn
}

// claim notes that t writes a key. Errors: storage.ErrConflict when another open
// transaction has written it, or a commit since t began; storage errors.
func (x *intents) claim(ctx context.Context, t *Txn, key []byte) error {
	if err := t.Store.Claim(ctx, key); err != nil {
		return err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	switch x.by[string(key)] {
	case t:
		return nil
	case nil:
	default:
		return storage.ErrConflict
	}
	if x.by == nil {
		x.by = map[string]*Txn{}
	}
	k := string(key)
	x.by[k] = t
	t.claimed = append(t.claimed, k)
	x.n.Add(1)
	return nil
}

// check is for a write outside of transactions. Errors: *blocked when an open
// transaction has written the key.
func (x *intents) check(key []byte) error {
	if x.n.Load() == 0 {
		return nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if t := x.by[string(key)]; t != nil {
		return &blocked{t.ended}
	}
	return nil
}

// release drops the keys of a transaction that ended and lets those go on who
// wait for it. Repeated, it does nothing.
func (x *intents) release(t *Txn) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, k := range t.claimed {
		delete(x.by, k)
	}
	x.n.Add(-int64(len(t.claimed)))
	t.claimed = nil
	if !t.over {
		t.over = true
		close(t.ended)
	}
}

// blocked says that a write has to wait for a transaction.
type blocked struct{ ended <-chan struct{} }

// Error implements error.
func (b *blocked) Error() string { return "a transaction has written the document" }

// wait implements delay: until the transaction has ended.
func (b *blocked) wait(ctx context.Context) error {
	select {
	case <-b.ended:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
