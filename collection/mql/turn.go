package mql

import (
	"time"

	"github.com/cantledb/cantle/ratelimit"
)

// Processor bounds what commands that compute for long take of the processors, so
// that short ones never wait behind them.
type Processor struct {
	// Turns is held by commands that have run for a turn already; they hand it on
	// where they look whether they are to end (Env.Tick).
	Turns *ratelimit.Lanes
	// Solid is held by work that cannot be interrupted for the sake of others: one call
	// into JavaScript, one match by backtracking.
	Solid *ratelimit.Lanes
	// Clock is what the time is.
	Clock func() time.Time
	// crowded is told, when long work takes a lane, that it holds many of them.
	crowded func(still func() bool)
	many    int
}

// NewProcessor bounds long work to so many goroutines at once: those that take turns,
// and half as many whose work is solid. Whenever one is taken and half of the lanes,
// at least one, are, crowded is called, if not nil; it must not block, and may keep
// still, which tells whether so many are taken.
func NewProcessor(lanes int, clock func() time.Time, crowded func(still func() bool)) *Processor {
	return &Processor{Turns: ratelimit.NewLanes(lanes), Solid: ratelimit.NewLanes(lanes / 2), Clock: clock,
		crowded: crowded, many: max(1, lanes/2)}
}

// isCrowded reports whether long work holds many lanes.
func (p *Processor) isCrowded() bool { return p.Turns.Taken()+p.Solid.Taken() >= p.many }

// tell is called when long work has taken a lane.
func (p *Processor) tell() {
	if p.crowded != nil && p.isCrowded() {
		p.crowded(p.isCrowded)
	}
}

// turnMax is how long a command computes before it needs a lane, and keeps one that
// others want. It is the time that Go's scheduler gives a goroutine, too.
const turnMax = 10 * time.Millisecond

// turnPatience is how long a command waits for a lane whose holder may be blocked.
const turnPatience = 200 * time.Millisecond

// quickMax is the mean time of solid pieces of work that go before others.
const quickMax = 5 * time.Millisecond

// Turn is a goroutine's place among those that share the processors. Not safe for
// concurrent use; Envs of one goroutine share it.
type Turn struct {
	processor *Processor
	since     time.Time     // the beginning of what is not in used; zero before a look
	used      time.Duration // computed without a lane
	holds     bool
	pieces    int64         // of solid work so far
	solid     time.Duration // that they took
}

// Begin makes t a fresh turn on p, which may be nil.
func (t *Turn) Begin(p *Processor) { *t = Turn{processor: p} }

// Long makes the command need a lane from the beginning: it is known to compute for
// long before it looks whether it is to end. Errors: the context's cause.
func (t *Turn) Long(e *Env) error {
	if t.processor == nil {
		return nil
	}
	t.used, t.since = turnMax, t.processor.Clock()
	return t.look(e)
}

// fork is a turn for another goroutine.
func (t *Turn) fork() *Turn {
	if t == nil {
		return nil
	}
	return &Turn{processor: t.processor}
}

// look is called where a command could stop. Errors: the context's cause.
func (t *Turn) look(e *Env) error {
	if t == nil || t.processor == nil {
		return nil
	}
	p := t.processor
	now := p.Clock()
	if t.since.IsZero() {
		t.since = now
		return nil
	}
	if t.used+now.Sub(t.since) < turnMax {
		return nil
	}
	if t.holds {
		if !p.Turns.Wanted() {
			t.since = now
			return nil
		}
		t.holds = false
		p.Turns.Leave()
	}
	entered, err := p.Turns.Enter(e.ctx, false, turnPatience)
	p.tell()
	t.holds, t.used, t.since = entered, 0, p.Clock()
	return err
}

// Pause gives the goroutine's lane away, before it waits for something else than a
// processor and at the end of a command. Who has computed for long needs a lane
// again afterwards.
func (e *Env) Pause() {
	t := e.Turn
	if t == nil || t.since.IsZero() {
		return
	}
	if t.holds {
		t.holds, t.used = false, turnMax
		t.processor.Turns.Leave()
	} else {
		t.used += t.processor.Clock().Sub(t.since)
	}
	t.since = time.Time{}
}

// Solid begins a piece of work that cannot be interrupted for others and may take
// long; done must be called at its end. Goroutines whose pieces have been short so far
// go first.
// Errors: the context's cause.
func (e *Env) Solid() (done func(), err error) {
	if err := e.Interrupted(); err != nil || e.Turn == nil || e.Turn.processor == nil {
		return func() {}, err
	}
	t := e.Turn
	e.Pause()
	quick := t.pieces > 0 && t.solid < time.Duration(t.pieces)*quickMax
	if _, err := t.processor.Solid.Enter(e.ctx, quick, 0); err != nil {
		return func() {}, err
	}
	t.processor.tell()
	begun := t.processor.Clock()
	return func() {
		t.processor.Solid.Leave()
		t.pieces++
		t.solid += t.processor.Clock().Sub(begun)
	}, nil
}

// SolidWanted reports whether somebody waits to begin solid work.
func (e *Env) SolidWanted() bool {
	return e.Turn != nil && e.Turn.processor != nil && e.Turn.processor.Solid.Wanted()
}
