package ratelimit

import (
	"container/list"
	"context"
	"sync"
	"time"
)

// Lanes bound how many goroutines do long work at the same time, in the order in
// which they ask. A nil *Lanes has room for all. Safe for concurrent use.
type Lanes struct {
	mu      sync.Mutex
	all     int
	free    int
	waiting list.List // of *laneWaiter: those that are preferred first
}

type laneWaiter struct {
	granted chan struct{}
	first   bool // preferred
}

// NewLanes makes n lanes, at least one.
func NewLanes(n int) *Lanes {
	n = max(n, 1)
	return &Lanes{all: n, free: n}
}

// Enter waits for a lane; Leave must follow if entered. A preferred one goes before
// those that are not. After patience, if not 0, it gives up, once for each eight that
// wait, so that those who hold lanes without using them cannot hold up everybody.
// Errors: the cause of ctx.
func (l *Lanes) Enter(ctx context.Context, preferred bool, patience time.Duration) (entered bool, err error) {
	if l == nil {
		return true, nil
	}
	l.mu.Lock()
	if l.free > 0 {
		l.free--
		l.mu.Unlock()
		return true, nil
	}
	w := &laneWaiter{granted: make(chan struct{}), first: preferred}
	at := l.put(w)
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
	case <-w.granted: // at the same time
		if err != nil {
			l.pass()
		}
		return err == nil, err
	default:
		l.waiting.Remove(at)
		return false, err
	}
}

// put adds a waiter, after the last of its kind.
func (l *Lanes) put(w *laneWaiter) *list.Element {
	if w.first {
		for e := l.waiting.Front(); e != nil; e = e.Next() {
			if !e.Value.(*laneWaiter).first {
				return l.waiting.InsertBefore(w, e)
			}
		}
	}
	return l.waiting.PushBack(w)
}

// Leave gives a lane back.
func (l *Lanes) Leave() {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pass()
}

// pass hands a lane to the next who waits.
func (l *Lanes) pass() {
	if e := l.waiting.Front(); e != nil {
		l.waiting.Remove(e)
		close(e.Value.(*laneWaiter).granted)
		return
	}
	l.free++
}

// Taken returns how many are in a lane.
func (l *Lanes) Taken() int {
	if l == nil {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all - l.free
}

// Wanted reports whether somebody waits.
func (l *Lanes) Wanted() bool {
	if l == nil {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.waiting.Len() > 0
}
