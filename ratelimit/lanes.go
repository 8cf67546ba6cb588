package ratelimit

import (
	"container/list"
	"context"
	"sync"
	"time"
)

// Lanes bound how many goroutines do long work at the same time. Users take turns,
// however many of theirs ask, and each user's go in the order of asking. A nil *Lanes has room for all. Safe for concurrent use.
type Lanes struct {
	mu      sync.Mutex
	all     int
	free    int
	waiting list.List // of *laneWaiter: those that are preferred first, then by turn
	// turn is that of the last who waited and got a lane; turns have that of the last
	// goroutine of each user that waits.
	turn  uint64
	turns map[string]uint64
}

type laneWaiter struct {
	granted chan struct{}
	first   bool // preferred
	user    string
	turn    uint64 // a user's goroutines have turns that follow each other
}

// before reports whether w goes before another that asked later or at the same time.
func (w *laneWaiter) before(o *laneWaiter) bool {
	if w.first != o.first {
		return w.first
	}
	return w.turn <= o.turn
}

// NewLanes makes n lanes, at least one.
func NewLanes(n int) *Lanes {
	n = max(n, 1)
	return &Lanes{all: n, free: n}
}

// Enter waits for a lane for a user; Leave must follow if entered. A preferred one goes before
// those that are not. After patience, if not 0, it gives up, once for each eight that
// wait, so that those who hold lanes without using them cannot hold up everybody.
// Errors: the cause of ctx.
func (l *Lanes) Enter(ctx context.Context, user string, preferred bool, patience time.Duration) (entered bool, err error) {
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
	w := &laneWaiter{granted: make(chan struct{}), first: preferred, user: user, turn: max(l.turn, l.turns[user]) + 1}
	l.turns[user] = w.turn
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

// put adds a waiter where its turn is.
func (l *Lanes) put(w *laneWaiter) *list.Element {
	for e := l.waiting.Back(); e != nil; e = e.Prev() {
		if e.Value.(*laneWaiter).before(w) {
			return l.waiting.InsertAfter(w, e)
		}
	}
	return l.waiting.PushFront(w)
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
		w := e.Value.(*laneWaiter)
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
