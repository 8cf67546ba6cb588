package intents

import (
	"context"
	"slices"
	"time"

	"github.com/cantledb/cantle/storage"
)

// plainTurn is the time for which a key stays free after a transaction, before the next transaction in the key's
// queue gets it, if writes outside of transactions have waited for it: many of them take their turn in that time.
const plainTurn = time.Millisecond

// A queue waits for the transaction that has the key for holdFactor times as long as transactions have lately held
// their keys, if that is longer than the caller's patience, but at most holdMax: when clients are slow, as on a busy
// machine, a fixed time would empty the queue.
const (
	holdFactor = 8
	holdMax    = 100 * time.Millisecond
)

// waiter is a transaction in the queue of a key.
type waiter struct {
	h       *Holder
	granted chan struct{} // closed when the key is an intent of h
}

// Queue makes a key an intent of a transaction whose first write has found a conflict at it. The transaction waits
// for those that have the key or came before, first come first served. It keeps no other intent, so no two
// transactions wait for each other; the caller has rolled back what it has written.
//
// The wait ends if the key stays with one transaction for longer than patience (see holdFactor); 0 does not wait, and a
// negative patience ends with ctx only. Errors: storage.ErrConflict; the cause of ctx, after which the key may be an intent of h.
func (x *Table) Queue(ctx context.Context, h *Holder, key []byte, patience time.Duration) error {
	k := string(key)
	x.mu.Lock()
	x.drop(h, k)
	switch owner := x.by[k]; {
	case owner == h:
		x.mu.Unlock()
		return nil
	case owner == nil && len(x.queues[k]) == 0:
		x.take(h, k)
		x.mu.Unlock()
		return nil
	case patience == 0:
		x.mu.Unlock()
		return storage.ErrConflict
	}
	w := &waiter{h, make(chan struct{})}
	if x.queues == nil {
		x.queues = map[string][]*waiter{}
	}
	x.queues[k] = append(x.queues[k], w)
	owner := x.by[k]
	if patience > 0 {
		patience = max(patience, min(holdFactor*x.hold, holdMax))
	}
	x.mu.Unlock()

	var over <-chan time.Time
	if patience > 0 {
		t := time.NewTicker(patience)
		defer t.Stop()
		over = t.C
	}
	for {
		select {
		case <-w.granted:
			return nil
		case <-ctx.Done():
			x.mu.Lock()
			x.leave(k, w)
			x.mu.Unlock()
			return context.Cause(ctx)
		case <-over:
		}
		x.mu.Lock()
		now := x.by[k]
		if now == owner && x.leave(k, w) {
			x.mu.Unlock()
			return storage.ErrConflict
		}
		owner = now
		x.mu.Unlock()
	}
}

// held updates the average time for which transactions hold their keys, when one ends. The caller holds x.mu.
func (x *Table) held(h *Holder) {
	if len(h.claimed) > 0 && x.Now != nil {
		x.hold += (min(max(x.Now().Sub(h.since), 0), holdMax) - x.hold) / 8
	}
}

// leave removes a waiter from the queue of a key, and reports whether it was there. The caller holds x.mu.
func (x *Table) leave(k string, w *waiter) bool {
	queue := x.queues[k]
	i := slices.Index(queue, w)
	if i < 0 {
		return false
	}
	x.setQueue(k, slices.Delete(queue, i, i+1))
	return true
}

// setQueue sets the queue of a key. The caller holds x.mu.
func (x *Table) setQueue(k string, queue []*waiter) {
	if len(queue) == 0 {
		delete(x.queues, k)
	} else {
		x.queues[k] = queue
	}
}

// Free drops the intent of a transaction on a key that it has not written.
func (x *Table) Free(h *Holder, key []byte) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if k := string(key); x.by[k] == h {
		x.free(h, k)
		h.claimed = slices.DeleteFunc(h.claimed, func(c string) bool { return c == k })
	}
}

// drop drops the intents of a transaction on all keys but one. The caller holds x.mu.
func (x *Table) drop(h *Holder, except string) {
	kept := h.claimed[:0]
	for _, k := range h.claimed {
		if k == except {
			kept = append(kept, k)
			continue
		}
		x.free(h, k)
	}
	h.claimed = kept
}

// free ends the intent of a transaction on a key, which then goes to the next one in the queue. The caller holds x.mu
// and removes the key from h.claimed.
func (x *Table) free(h *Holder, k string) {
	delete(x.by, k)
	x.n.Add(-1)
	switch {
	case len(x.queues[k]) == 0:
	case h.blocks:
		time.AfterFunc(plainTurn, func() {
			x.mu.Lock()
			defer x.mu.Unlock()
			x.grant(k)
		})
	default:
		x.grant(k)
	}
}

// grant gives a free key to the first transaction in its queue. The caller holds x.mu.
func (x *Table) grant(k string) {
	for queue := x.queues[k]; x.by[k] == nil && len(queue) > 0; {
		w := queue[0]
		queue = slices.Delete(queue, 0, 1)
		x.setQueue(k, queue)
		if !w.h.over {
			x.take(w.h, k)
			close(w.granted)
		}
	}
}

// take makes a free key an intent of a transaction. The caller holds x.mu.
func (x *Table) take(h *Holder, k string) {
	if x.by == nil {
		x.by = map[string]*Holder{}
	}
	x.by[k] = h
	if len(h.claimed) == 0 && x.Now != nil {
		h.since = x.Now()
	}
	h.claimed = append(h.claimed, k)
	x.n.Add(1)
}
