package ratelimit

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// VirtualClock is a clock that tests can stop; it then moves only by Advance, so that throttling does not depend on the
// speed of the machine. Safe for concurrent use.
type VirtualClock struct {
	stopped atomic.Bool
	mu      sync.Mutex
	now     time.Time        // the time while the clock is stopped
	machine func() time.Time // the clock that it follows otherwise
	ahead   time.Duration    // added to machine, because of earlier stops and advances: the clock never goes back
}

// NewVirtualClock creates a stopped clock.
func NewVirtualClock(start time.Time) *VirtualClock {
	c := &VirtualClock{now: start, machine: func() time.Time { return start }}
	c.stopped.Store(true)
	return c
}

// FollowClock returns a clock that shows the time of another clock until it is stopped.
func FollowClock(machine func() time.Time) *VirtualClock { return &VirtualClock{machine: machine} }

// Stopped reports whether the clock moves only by Advance; false for nil.
func (c *VirtualClock) Stopped() bool { return c != nil && c.stopped.Load() }

// Now returns the clock's time.
func (c *VirtualClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.time()
}

func (c *VirtualClock) time() time.Time {
	if c.stopped.Load() {
		return c.now
	}
	return c.machine().Add(c.ahead)
}

// Stop stops the clock at the beginning of the next second, so that the number of requests that fit into a second
// does not depend on the moment of the stop. It returns the new time. A stopped clock stays as it is.
func (c *VirtualClock) Stop() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.stopped.Load() {
		c.now = c.time().Truncate(time.Second).Add(time.Second)
		c.stopped.Store(true)
	}
	return c.now
}

// Run makes a stopped clock follow its machine clock again, without going back.
func (c *VirtualClock) Run() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped.Load() {
		c.ahead = max(0, c.now.Sub(c.machine()))
		c.stopped.Store(false)
	}
}

// Advance moves the clock forward and returns its new time.
func (c *VirtualClock) Advance(d time.Duration) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if d = max(0, d); c.stopped.Load() {
		c.now = c.now.Add(d)
	} else {
		c.ahead += d
	}
	return c.time()
}

// waitVirtual waits until a bucket admits a request, as Bucket.Wait does, by advancing the virtual clock instead of
// sleeping. It returns the time by which it advanced, at most limit. Errors: ErrRetryTimeout, ctx.Err().
func (b *Budgets) waitVirtual(ctx context.Context, k *Bucket, c Class, limit time.Duration) (time.Duration, error) {
	var waited time.Duration
	for {
		if err := ctx.Err(); err != nil {
			return waited, err
		}
		wait := k.AdmitAs(b.Clock.Now(), c)
		if wait == 0 {
			return waited, nil
		}
		if waited+wait > limit {
			b.Clock.Advance(limit - waited)
			return limit, ErrRetryTimeout
		}
		b.Clock.Advance(wait)
		waited += wait
	}
}

// Kind is the kind of a statement; a RefuseRule may refuse only reads or only writes.
type Kind uint8

// The kinds of statement.
const (
	AnyKind Kind = iota
	ReadKind
	WriteKind
)

// RefuseRule refuses statements by their number, whatever the budgets, so that a test can throttle exactly the fifth
// write. Each statement of a bulk write is counted.
type RefuseRule struct {
	Collection uint64 // 0 for all
	Kind       Kind
	Nth        int64 // the first statement refused, counted from 1 after Inject
	Count      int64 // number of consecutive statements to refuse, at least 1; negative for all that follow
	Every      int64 // the rule repeats after so many statements; 0 for once
	RetryAfter time.Duration
}

// rules holds the rules of Inject, while there are any.
type rules struct {
	active atomic.Bool
	mu     sync.Mutex
	list   []activeRule
}

type activeRule struct {
	RefuseRule
	seen int64
}

// Inject replaces all rules; without rules the test mode is off.
func (b *Budgets) Inject(list ...RefuseRule) {
	b.rules.mu.Lock()
	defer b.rules.mu.Unlock()
	b.rules.list = nil
	for _, r := range list {
		b.rules.list = append(b.rules.list, activeRule{RefuseRule: r})
	}
	b.rules.active.Store(len(list) > 0)
}

// Injected counts one statement that is about to run, and returns the refusal if a rule of Inject refuses it,
// otherwise nil. Without rules it costs one atomic read.
func (b *Budgets) Injected(at ShardID, k Kind) *Throttled {
	if !b.rules.active.Load() {
		return nil
	}
	b.rules.mu.Lock()
	defer b.rules.mu.Unlock()
	var out *Throttled
	for i := range b.rules.list {
		r := &b.rules.list[i]
		if r.Collection != 0 && r.Collection != at.Collection || r.Kind != AnyKind && r.Kind != k {
			continue
		}
		r.seen++
		if r.hits() && out == nil {
			out = &Throttled{at, Standing{Limit: InjectedLimit}, r.RetryAfter}
		}
	}
	return out
}

// hits reports whether the rule refuses the statement that was counted last.
func (r *activeRule) hits() bool {
	past := r.seen - max(1, r.Nth)
	if past < 0 {
		return false
	}
	if r.Every > 0 {
		past %= r.Every
	}
	return r.Count < 0 || past < max(1, r.Count)
}
