package mql

import (
	"runtime"
	"sync/atomic"
	"time"

	"github.com/cantledb/cantle/ratelimit"
)

// CPUSlots limits how many long computations run at once, by two fair semaphores, so that even many of them delay
// short commands little. A slot is the right to run one of these computations.
type CPUSlots struct {
	// Interruptible has the slots of commands that have computed for slotTime. After slotTime, a command passes its
	// slot to a waiting command when it checks whether it must end (Env.Tick).
	Interruptible *ratelimit.Semaphore
	// Uninterruptible has the slots of work that cannot let other commands run in between: one call into JavaScript,
	// one match by backtracking.
	Uninterruptible *ratelimit.Semaphore
	// Clock returns the current time.
	Clock func() time.Time
	// overloaded is called when long work has requested a slot while overloadedFrom or more slots are in use; it may
	// be nil.
	overloaded     func(still func() bool)
	overloadedFrom int
	begun          atomic.Int64 // commands begun since the start
}

// NewCPUSlots limits long work to lanes goroutines that can be interrupted, and lanes/2 whose work cannot be (at
// least one of each). After long work has requested a slot, crowded is called if at least lanes/2 slots (and at
// least one) are in use; it may be nil and must not block. crowded may keep the function still, which reports
// whether that many slots are still in use.
func NewCPUSlots(lanes int, clock func() time.Time, crowded func(still func() bool)) *CPUSlots {
	return &CPUSlots{Interruptible: ratelimit.NewSemaphore(lanes), Uninterruptible: ratelimit.NewSemaphore(lanes / 2), Clock: clock,
		overloaded: crowded, overloadedFrom: max(1, lanes/2)}
}

// isOverloaded reports whether long work holds overloadedFrom or more slots.
func (p *CPUSlots) isOverloaded() bool {
	return p.Interruptible.InUse()+p.Uninterruptible.InUse() >= p.overloadedFrom
}

// notifyOverload calls overloaded if enough slots are in use. It is called after long work has requested a slot.
func (p *CPUSlots) notifyOverload() {
	if p.overloaded != nil && p.isOverloaded() {
		p.overloaded(p.isOverloaded)
	}
}

// slotTime is the time for which a command computes without a slot, and for which it keeps a slot while others wait.
// It equals the time slice of Go's scheduler.
const slotTime = 10 * time.Millisecond

// slotTimeout is the longest wait for an Interruptible slot, extended by as much again for every eight waiters. Then
// the command computes without a slot, as the holder may be blocked.
const slotTimeout = 200 * time.Millisecond

// aloneMax is the number of commands that may begin within slotTime while a long command still counts as alone and
// does not yield: a cursor's next batch, or the rare request of a quiet client.
const aloneMax = 2

// quickMax bounds the mean time of a goroutine's pieces of uninterruptible work. Below it, the goroutine goes before
// others that wait for an Uninterruptible slot.
const quickMax = 5 * time.Millisecond

// SlotHolder limits the processor time of a goroutine: once the goroutine has computed for slotTime, it needs
// one of the slots of CPUSlots. Not safe for concurrent use; Envs of one goroutine share it.
type SlotHolder struct {
	slots                *CPUSlots
	user                 string        // slots are handed out to users in turn
	since                time.Time     // start of the time that used does not contain yet; zero before the first check
	used                 time.Duration // time computed without a slot
	holds                bool
	begun                int64         // CPUSlots.begun at the start of this slotTime
	alone                bool          // at most aloneMax commands began in the previous slotTime
	uninterruptibleCalls int64         // number of pieces of uninterruptible work
	uninterruptibleTime  time.Duration // time of these pieces
}

// Begin resets l for a new command of user: without a slot, under the limits of p, which may be nil for no limit.
func (l *SlotHolder) Begin(p *CPUSlots, user string) {
	*l = SlotHolder{slots: p, user: user}
	if p != nil {
		l.begun = p.begun.Add(1)
	}
}

// Long makes the command take a slot now, without the first slotTime, because it will compute for long before its
// first check whether it must end. Errors: the context's cause.
func (l *SlotHolder) Long(e *Env) error {
	if l.slots == nil {
		return nil
	}
	l.used, l.since = slotTime, l.slots.Clock()
	return l.reschedule(e)
}

// fork returns a holder for another goroutine, without a slot.
func (l *SlotHolder) fork() *SlotHolder {
	if l == nil {
		return nil
	}
	f := &SlotHolder{slots: l.slots, user: l.user}
	if f.slots != nil {
		f.begun = f.slots.begun.Load()
	}
	return f
}

// reschedule limits the processor time of a long command where the command can wait: it takes a slot, keeps the
// slot, or passes it to a waiting command and waits for the next one. Errors: the context's cause.
func (l *SlotHolder) reschedule(e *Env) error {
	if l == nil || l.slots == nil {
		return nil
	}
	p := l.slots
	now := p.Clock()
	if l.since.IsZero() {
		l.since = now
		return nil
	}
	if l.used+now.Sub(l.since) < slotTime {
		if l.holds && !l.alone {
			// Lets short commands run that are ready, so that they need not wait for the end of a time slice of Go's
			// scheduler, which is a hundred times as long as they run. Without such commands, Gosched would only
			// wake a thread and move the goroutine to another processor.
			runtime.Gosched()
		}
		return nil
	}
	begun := p.begun.Load()
	l.alone, l.begun = begun-l.begun <= aloneMax, begun
	if l.holds {
		if !p.Interruptible.HasWaiters() {
			l.since = now
			return nil
		}
		l.holds = false
		p.Interruptible.Release()
	}
	entered, err := p.Interruptible.Acquire(e.ctx, l.user, false, slotTimeout)
	p.notifyOverload()
	l.holds, l.used, l.since = entered, 0, p.Clock()
	return err
}

// ReleaseSlot releases the goroutine's slot. It is called before the goroutine waits for something other than
// a processor, and at the end of a command. A goroutine that has computed for slotTime needs a slot
// again afterwards.
func (e *Env) ReleaseSlot() {
	l := e.Slot
	if l == nil || l.since.IsZero() {
		return
	}
	if l.holds {
		l.holds, l.used = false, slotTime
		l.slots.Interruptible.Release()
	} else {
		l.used += l.slots.Clock().Sub(l.since)
	}
	l.since = time.Time{}
}

// BeginUninterruptible waits for an Uninterruptible slot, for work that may take long and cannot let other commands
// run in between. The caller calls done at the end of the work. Goroutines whose uninterruptible work was short so
// far go first. Errors: the context's cause.
func (e *Env) BeginUninterruptible() (done func(), err error) {
	if err := e.Interrupted(); err != nil || e.Slot == nil || e.Slot.slots == nil {
		return func() {}, err
	}
	l := e.Slot
	e.ReleaseSlot()
	quick := l.uninterruptibleCalls > 0 && l.uninterruptibleTime < time.Duration(l.uninterruptibleCalls)*quickMax
	if _, err := l.slots.Uninterruptible.Acquire(e.ctx, l.user, quick, 0); err != nil {
		return func() {}, err
	}
	l.slots.notifyOverload()
	begun := l.slots.Clock()
	return func() {
		l.slots.Uninterruptible.Release()
		l.uninterruptibleCalls++
		l.uninterruptibleTime += l.slots.Clock().Sub(begun)
	}, nil
}

// UninterruptibleWaiting reports whether a goroutine waits to begin uninterruptible work.
func (e *Env) UninterruptibleWaiting() bool {
	return e.Slot != nil && e.Slot.slots != nil && e.Slot.slots.Uninterruptible.HasWaiters()
}
