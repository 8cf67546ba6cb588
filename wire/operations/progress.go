package operations

import (
	"sync/atomic"
	"time"

	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/collection/plan"
)

// Progress holds what a running command reports about itself to commands that observe it, such as currentOp. Safe
// for concurrent use.
type Progress struct {
	// Plan is the plan by which the command reads. It is nil before there is a plan, and for a command without one.
	Plan atomic.Pointer[plan.Solution]
	// Memory is the memory that its blocking operators share.
	Memory atomic.Pointer[mql.Memory]
	// Locked is the time for which the command waited for the lock against writes that the command fsync sets, or, as DDL,
	// for the transactions that have written to its collection.
	Locked Wait
	// Idle is the time for which the command waited for new documents or events; it does not count as work.
	Idle Wait
}

// Reset sets the waits to zero after a command, and releases the memory of the command's plan; Memory stays.
func (p *Progress) Reset() {
	if p.Plan.Load() != nil {
		p.Plan.Store(nil)
	}
	p.Locked.reset()
	p.Idle.reset()
}

// Wait adds up the times for which a command waits for one kind of event. Safe for concurrent use.
type Wait struct {
	since atomic.Int64 // in nanoseconds since 1970; 0 while it does not wait
	sum   atomic.Int64 // of finished waits, in nanoseconds
}

// Begin starts a wait.
func (w *Wait) Begin(now time.Time) { w.since.Store(now.UnixNano()) }

// End ends the wait.
func (w *Wait) End(now time.Time) {
	if since := w.since.Swap(0); since != 0 {
		w.sum.Add(max(0, now.UnixNano()-since))
	}
}

// Waiting reports whether the command is waiting.
func (w *Wait) Waiting() bool { return w.since.Load() != 0 }

// Sum returns the time of the finished waits.
func (w *Wait) Sum() time.Duration { return time.Duration(w.sum.Load()) }

// Total returns the duration of all waits together, including a wait that has not ended yet.
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
