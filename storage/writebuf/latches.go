package writebuf

import (
	"context"
	"hash/maphash"
	"slices"
	"sync"
)

// latchStripes is the number of queues over which latched keys are spread by hash. With 64 writers, two different
// keys share a queue in about one of sixteen writes, for the few microseconds of a single-document transaction.
const latchStripes = 1024

// Latches hold the queues of latched keys, in which transactions wait, first come first served, for short times
// (storage.TxnOptions.Latch); keys with the same hash share one. So writers of a hot key do not conflict.
// NewLatches creates them.
type Latches struct {
	seed    maphash.Seed
	stripes [latchStripes]latch
}

// latch is one queue of waiting transactions. Its holder passes the latch to the first waiter.
type latch struct {
	mu    sync.Mutex
	held  bool
	queue []chan struct{}
}

// HeldLatches lists the latches that one transaction holds, for Release. The zero value lists none.
type HeldLatches struct {
	l    *Latches
	one  [1]uint16
	many []uint16 // sorted, without repetition; nil if only one latch is held
}

// NewLatches creates free latches.
func NewLatches() *Latches { return &Latches{seed: maphash.MakeSeed()} }

// Acquire waits for the latches of all keys and returns them. It takes them in the order of their numbers, so that
// no two callers wait for each other. Errors: ctx.Err(); then no latch is held.
func (l *Latches) Acquire(ctx context.Context, keys [][]byte) (HeldLatches, error) {
	h := HeldLatches{l: l}
	stripes := h.one[:]
	if len(keys) == 1 {
		h.one[0] = l.stripe(keys[0])
	} else if len(keys) == 0 {
		return HeldLatches{}, nil
	} else {
		h.many = make([]uint16, len(keys))
		for i, k := range keys {
			h.many[i] = l.stripe(k)
		}
		slices.Sort(h.many)
		h.many = slices.Compact(h.many)
		stripes = h.many
	}
	for i, s := range stripes {
		if err := l.stripes[s].acquire(ctx); err != nil {
			for _, s := range stripes[:i] {
				l.stripes[s].release()
			}
			return HeldLatches{}, err
		}
	}
	return h, nil
}

// Release passes each held latch to its next waiter. A second Release does nothing.
func (h *HeldLatches) Release() {
	if h.l == nil {
		return
	}
	if h.many == nil {
		h.l.stripes[h.one[0]].release()
	}
	for _, s := range h.many {
		h.l.stripes[s].release()
	}
	*h = HeldLatches{}
}

func (l *Latches) stripe(key []byte) uint16 {
	return uint16(maphash.Bytes(l.seed, key) % latchStripes)
}

func (l *latch) acquire(ctx context.Context) error {
	l.mu.Lock()
	if !l.held {
		l.held = true
		l.mu.Unlock()
		return nil
	}
	turn := make(chan struct{})
	l.queue = append(l.queue, turn)
	l.mu.Unlock()
	select {
	case <-turn:
		return nil
	case <-ctx.Done():
	}
	l.mu.Lock()
	if i := slices.Index(l.queue, turn); i >= 0 {
		l.queue = slices.Delete(l.queue, i, i+1)
		l.mu.Unlock()
		return ctx.Err()
	}
	l.mu.Unlock()
	l.release() // this waiter got the latch when ctx ended: pass it on
	return ctx.Err()
}

func (l *latch) release() {
	l.mu.Lock()
	if len(l.queue) == 0 {
		l.held = false
	} else {
		close(l.queue[0])
		l.queue = slices.Delete(l.queue, 0, 1)
	}
	l.mu.Unlock()
}
