package mql

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// computing returns an Env whose goroutine computes on p.
func computing(ctx context.Context, p *CPUSlots) *Env {
	e := NewEnv(ctx)
	e.Slot = &SlotHolder{}
	e.Slot.Begin(p, "")
	return e
}

// compute acts as a computation that takes d: each millisecond it calls e.Tick 128 times, by which a long command takes
// a slot.
func compute(t *testing.T, e *Env, d time.Duration) {
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(time.Millisecond) {
		for range 128 {
			if err := e.Tick(); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestCPUSlots requires that a short command never takes a slot, that only as many long commands compute at once as
// there are slots, in turns, and that ReleaseSlot of a copy of an Env releases the slot of the original, which stays
// long.
func TestCPUSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewCPUSlots(1, time.Now, nil)
		long := computing(t.Context(), p)
		compute(t, long, 15*time.Millisecond)
		if !long.Slot.holds {
			t.Fatal("a long command has no lane")
		}
		short := computing(t.Context(), p)
		compute(t, short, 8*time.Millisecond)
		if short.Slot.holds || p.Interruptible.HasWaiters() {
			t.Error("a short command asks for a lane")
		}
		copied := *long
		copied.ReleaseSlot()
		if long.Slot.holds {
			t.Error("a copy has a lane of its own")
		}
		compute(t, long, 3*time.Millisecond)
		if !long.Slot.holds {
			t.Error("a long command counts as short after a pause")
		}

		// Two long commands share the slot.
		done := make(chan time.Duration)
		for _, e := range []*Env{computing(t.Context(), p), long.Fork(t.Context())} {
			go func() {
				begun := time.Now()
				for range 30 * 128 { // about 30 ms
					if err := e.Tick(); err != nil {
						t.Error(err)
					}
					if e.ticks&127 == 0 {
						time.Sleep(time.Millisecond)
					}
				}
				e.ReleaseSlot()
				done <- time.Since(begun)
			}()
		}
		long.ReleaseSlot()
		if a, b := <-done, <-done; a < 35*time.Millisecond || b > 80*time.Millisecond {
			t.Errorf("they took %v and %v", a, b)
		}
		if ok, err := p.Interruptible.Acquire(t.Context(), "", false, time.Nanosecond); !ok || err != nil {
			t.Error("a lane was lost")
		}
	})
}

// TestSlotIsReleased requires that a command which waits for a slot ends when its context is cancelled.
func TestSlotIsReleased(t *testing.T) {
	p := NewCPUSlots(1, time.Now, nil)
	holder := computing(t.Context(), p)
	if err := holder.Slot.Long(holder); err != nil || !holder.Slot.holds {
		t.Fatal(err)
	}
	gone := errors.New("gone")
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(5*time.Millisecond, func() { cancel(gone) })
	e := computing(ctx, p)
	if err := e.Slot.Long(e); err != gone {
		t.Error(err)
	}
	e.ReleaseSlot()
	holder.ReleaseSlot()
	if p.Interruptible.HasWaiters() {
		t.Error("somebody waits")
	}
	none := NewEnv(t.Context()) // no processor: no limit
	compute(t, none, 2*time.Millisecond)
	none.ReleaseSlot()
}

// TestUninterruptible requires that one piece of uninterruptible work runs at a time, and that of two waiting commands
// the one whose pieces were shorter so far goes first.
func TestUninterruptible(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewCPUSlots(2, time.Now, nil)
		quick, slow, holder := computing(t.Context(), p), computing(t.Context(), p), computing(t.Context(), p)
		do := func(e *Env, d time.Duration) {
			done, err := e.BeginUninterruptible()
			if err != nil {
				t.Error(err)
			}
			time.Sleep(d)
			done()
		}
		do(quick, time.Millisecond)
		do(slow, time.Second)
		order := make(chan string, 2)
		done, err := holder.BeginUninterruptible()
		if err != nil {
			t.Fatal(err)
		}
		go func() { do(slow, time.Second); order <- "slow" }()
		synctest.Wait()
		go func() { do(quick, time.Millisecond); order <- "quick" }()
		synctest.Wait()
		if !holder.UninterruptibleWaiting() {
			t.Error("nobody waits")
		}
		done()
		if first := <-order; first != "quick" {
			t.Errorf("%s goes first", first)
		}
		<-order
	})
}

// TestOverloaded requires that the callback given to NewCPUSlots is called when long commands hold half of the slots,
// interruptible and uninterruptible ones together, and that the function it gets reports whether they still do.
func TestOverloaded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var still func() bool
		p := NewCPUSlots(4, time.Now, func(f func() bool) { still = f })
		first, second := computing(t.Context(), p), computing(t.Context(), p)
		compute(t, first, 15*time.Millisecond)
		if still != nil {
			t.Fatal("one of four lanes is a crowd")
		}
		compute(t, second, 15*time.Millisecond)
		if still == nil || !still() {
			t.Fatal("two of four lanes are none")
		}
		first.ReleaseSlot()
		if still() {
			t.Error("one is still a crowd")
		}
		done, err := second.BeginUninterruptible() // in an uninterruptible slot, and in no other
		if err != nil {
			t.Fatal(err)
		}
		compute(t, first, 15*time.Millisecond)
		if !still() {
			t.Error("lanes of both kinds are not counted together")
		}
		done()
		first.ReleaseSlot()
	})
}

// TestAlone requires that a long command counts as alone, and so does not yield, while no other begins; after more than
// aloneMax others have begun it does not, and later it does again, even beside a fork of itself. Each needless yield
// would cost a wake-up.
func TestAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewCPUSlots(1, time.Now, nil)
		long := computing(t.Context(), p)
		compute(t, long, 15*time.Millisecond)
		if !long.Slot.holds || !long.Slot.alone {
			t.Errorf("holds %v, alone %v with nobody beside", long.Slot.holds, long.Slot.alone)
		}
		for range aloneMax + 1 {
			computing(t.Context(), p)
		}
		compute(t, long, 15*time.Millisecond)
		if long.Slot.alone {
			t.Error("alone beside commands that have begun")
		}
		forked := long.Fork(t.Context())
		compute(t, forked, 15*time.Millisecond)
		compute(t, long, 25*time.Millisecond)
		if !forked.Slot.alone || !long.Slot.alone {
			t.Errorf("forked alone %v, long alone %v after the others", forked.Slot.alone, long.Slot.alone)
		}
	})
}
