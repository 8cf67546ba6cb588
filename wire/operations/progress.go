package operations

import (
	"sync/atomic"
	"time"

	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/collection/plan"
)

// Progress is what a running command tells of itself as it goes on, for those who look at it
// from outside. Safe for concurrent use.
type Progress struct {
	// Plan is how the read that the command runs now is carried out; nil before there is a
	// plan, and for a command without one.
	Plan atomic.Pointer[plan.Solution]
	// Memory is the budget that its blocking operators share.
	Memory atomic.Pointer[mql.Memory]
	// Locked is the time that it waited until writes were let in.
	Locked Wait
	// Idle is the time that it waited for something to happen: for a new document, for an
	// event. It counts as no work.
	Idle Wait
}

// Rest forgets a command that is over, and lets go of its plan.
func (p *Progress) Rest() {
	if p.Plan.Load() != nil {
		p.Plan.Store(nil)
	}
	p.Locked.reset()
	p.Idle.reset()
}

// Wait adds up how long a command waits for one kind of thing. Safe for concurrent use.
type Wait struct {
	since atomic.Int64 // in nanoseconds since 1970; 0 while it does not wait
	sum   atomic.Int64 // of the waits that are over, in nanoseconds
}

// Begin notes that the command waits from now on.
func (w *Wait) Begin(now time.Time) { w.since.Store(now.UnixNano()) }

// End notes that the command goes on.
func (w *Wait) End(now time.Time) {
	if since := w.since.Swap(0); since != 0 {
		w.sum.Add(max(0, now.UnixNano()-since))
	}
}

// On reports that the command waits at the moment.
func (w *Wait) On() bool { return w.since.Load() != 0 }

// Sum is how long the waits took that are over.
func (w *Wait) Sum() time.Duration { return time.Duration(w.sum.Load()) }

// Total is how long the command has waited in all.
func (w *Wait) Total(now time.Time) time.Duration {
	sum := w.sum.Load()
	if since := w.since.Load(); since != 0 {
		sum += max(0, now.UnixNano()-since)
	}
	return time.Duration(sum)
}

func (w *Wait) reset() {
	if w.sum.Load() != 0 || w.since.Load() != 0 {
		w.sum.Store(0)
		w.since.Store(0)
	}
}
