package ratelimit

import (
	"container/list"
	"context"
	"sync"
	"time"
)

// Semaphore is a counting semaphore: it bounds how many goroutines do long work at the same time. Preferred goroutines
// are served first. Among the preferred, and among the others, users take turns, however many goroutines each of them
// has waiting; those of one user are served first come first served. A nil *Semaphore has no bound. Safe for
// concurrent use.
type Semaphore struct {
	mu      sync.Mutex
	size    int
	free    int
	waiting list.List // of *semaphoreWaiter: preferred ones first, then by turn
	// turn is the highest turn that was served. turns holds, for each user with waiting goroutines, the turn of the
	// goroutine that came last, from which the turn of the user's next goroutine is computed.
	turn  uint64
	turns map[string]uint64
}

type semaphoreWaiter struct {
	granted   chan struct{}
	preferred bool // preferred
	user      string
	turn      uint64 // the goroutines of one user have ascending turns
}

// before reports whether the waiter w is served before o, which began to wait later.
func (w *semaphoreWaiter) before(o *semaphoreWaiter) bool {
	if w.preferred != o.preferred {
		return w.preferred
	}
	return w.turn <= o.turn
}

// NewSemaphore creates a semaphore of n slots, at least one.
func NewSemaphore(n int) *Semaphore {
	n = max(n, 1)
	return &Semaphore{size: n, free: n}
}

// Acquire waits for a slot for a user; if entered is true, the caller calls Release. A preferred caller is served
// before others. If patience is above 0, Acquire gives up after this time, multiplied by one plus an eighth (rounded
// down) of the number of waiters, and returns false without an error. So goroutines that hold slots without using
// them cannot block all others. Errors: the cause of ctx.
func (l *Semaphore) Acquire(ctx context.Context, user string, preferred bool, patience time.Duration) (entered bool, err error) {
	if l == nil {
		return true, nil
	}
	l.mu.Lock()
	if l.free > 0 {
		l.free--
		l.mu.Unlock()
		return true, nil
	}
	if l.turns == nil {
		l.turns = map[string]uint64{}
	}
	w := &semaphoreWaiter{granted: make(chan struct{}), preferred: preferred, user: user, turn: max(l.turn, l.turns[user]) + 1}
	l.turns[user] = w.turn
	at := l.enqueue(w)
	var tired <-chan time.Time
	if patience > 0 {
		t := time.NewTimer(patience * time.Duration(1+l.waiting.Len()/8))
		defer t.Stop()
		tired = t.C
	}
	l.mu.Unlock()
	select {
	case <-w.granted:
		return true, nil
	case <-tired:
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-w.granted: // granted at the same time
		if err != nil {
			l.handOver()
		}
		return err == nil, err
	default:
		l.waiting.Remove(at)
		return false, err
	}
}

// enqueue inserts a waiter into the list at the place that before defines.
func (l *Semaphore) enqueue(w *semaphoreWaiter) *list.Element {
	for e := l.waiting.Back(); e != nil; e = e.Prev() {
		if e.Value.(*semaphoreWaiter).before(w) {
			return l.waiting.InsertAfter(w, e)
		}
	}
	return l.waiting.PushFront(w)
}

// Release releases a slot.
func (l *Semaphore) Release() {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.handOver()
}

// handOver gives a slot to the next waiter, or frees it.
func (l *Semaphore) handOver() {
	if e := l.waiting.Front(); e != nil {
		w := e.Value.(*semaphoreWaiter)
		l.waiting.Remove(e)
		l.turn = max(l.turn, w.turn)
		if l.turns[w.user] <= l.turn {
			delete(l.turns, w.user)
		}
		close(w.granted)
		return
	}
	clear(l.turns)
	l.free++
}

// InUse returns the number of slots in use.
func (l *Semaphore) InUse() int {
	if l == nil {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.size - l.free
}

// HasWaiters reports whether a goroutine waits.
func (l *Semaphore) HasWaiters() bool {
	if l == nil {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.waiting.Len() > 0
}
