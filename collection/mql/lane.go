package mql

import (
	"runtime"
	"sync/atomic"
	"time"

	"github.com/cantledb/cantle/ratelimit"
)

// Processor bounds what commands that compute for long take of the processors, so
// that short ones never wait behind them.
type Processor struct {
	// Lanes are held by commands that have computed for laneTime; they hand them on
	// where they look whether they are to end (Env.Tick).
	Lanes *ratelimit.Lanes
	// Solid are held by work that cannot be interrupted for the sake of others: one call
	// into JavaScript, one match by backtracking.
	Solid *ratelimit.Lanes
	// Clock is what the time is.
	Clock func() time.Time
	// crowded is told, when long work takes a lane, that it holds many of them.
	crowded func(still func() bool)
	many    int
	begun   atomic.Int64 // commands, ever
}

// NewProcessor bounds long work to so many goroutines at once: those that can be
// interrupted, and half as many whose work is solid. Whenever a lane is taken and half of
// the lanes, at least one, are, crowded is called, if not nil; it must not block, and may
// keep still, which tells whether so many are taken.
func NewProcessor(lanes int, clock func() time.Time, crowded func(still func() bool)) *Processor {
	return &Processor{Lanes: ratelimit.NewLanes(lanes), Solid: ratelimit.NewLanes(lanes / 2), Clock: clock,
		crowded: crowded, many: max(1, lanes/2)}
}

// isCrowded reports whether long work holds many lanes.
func (p *Processor) isCrowded() bool { return p.Lanes.Taken()+p.Solid.Taken() >= p.many }

// tell is called when long work has taken a lane.
func (p *Processor) tell() {
	if p.crowded != nil && p.isCrowded() {
		p.crowded(p.isCrowded)
	}
}

// laneTime is how long a command computes before it needs a lane, and keeps one that
// others want. It is the time that Go's scheduler gives a goroutine, too.
const laneTime = 10 * time.Millisecond

// lanePatience is how long a command waits for a lane whose holder may be blocked.
const lanePatience = 200 * time.Millisecond

// aloneMax is how many commands begin within laneTime beside one that computes alone: a
// cursor's next batch, and what a quiet client asks now and then.
const aloneMax = 2

// quickMax is the mean time of solid pieces of work that go before others.
const quickMax = 5 * time.Millisecond

// Lane bounds what a goroutine takes of the processors: once it has computed for laneTime,
// it needs one of the Processor's lanes. Not safe for concurrent use; Envs of one
// goroutine share it.
type Lane struct {
	processor *Processor
	user      string        // who takes turns with others
	since     time.Time     // the beginning of what is not in used; zero before a look
	used      time.Duration // computed without a lane
	holds     bool
	begun     int64         // the processor's, when laneTime began
	alone     bool          // few others have begun in the laneTime before
	pieces    int64         // of solid work so far
	solid     time.Duration // that they took
}

// Begin makes l a fresh lane of a user on p, which may be nil.
func (l *Lane) Begin(p *Processor, user string) {
	*l = Lane{processor: p, user: user}
	if p != nil {
		l.begun = p.begun.Add(1)
	}
}

// Long makes the command need a lane from the beginning: it is known to compute for
// long before it looks whether it is to end. Errors: the context's cause.
func (l *Lane) Long(e *Env) error {
	if l.processor == nil {
		return nil
	}
	l.used, l.since = laneTime, l.processor.Clock()
	return l.look(e)
}

// fork is a lane for another goroutine.
func (l *Lane) fork() *Lane {
	if l == nil {
		return nil
	}
	f := &Lane{processor: l.processor, user: l.user}
	if f.processor != nil {
		f.begun = f.processor.begun.Load()
	}
	return f
}

// look is called where a command could stop. Errors: the context's cause.
func (l *Lane) look(e *Env) error {
	if l == nil || l.processor == nil {
		return nil
	}
	p := l.processor
	now := p.Clock()
	if l.since.IsZero() {
		l.since = now
		return nil
	}
	if l.used+now.Sub(l.since) < laneTime {
		if l.holds && !l.alone {
			// Short commands that could run now do not wait for the end of a time slice of
			// Go's scheduler, which is a hundred times what they take. Where there are none it
			// wakes a thread for nothing and goes on upon another processor.
			runtime.Gosched()
		}
		return nil
	}
	begun := p.begun.Load()
	l.alone, l.begun = begun-l.begun <= aloneMax, begun
	if l.holds {
		if !p.Lanes.Wanted() {
			l.since = now
			return nil
		}
		l.holds = false
		p.Lanes.Leave()
	}
	entered, err := p.Lanes.Enter(e.ctx, l.user, false, lanePatience)
	p.tell()
	l.holds, l.used, l.since = entered, 0, p.Clock()
	return err
}

// Pause gives the goroutine's lane away, before it waits for something else than a
// processor and at the end of a command. Who has computed for long needs a lane
// again afterwards.
func (e *Env) Pause() {
	l := e.Lane
	if l == nil || l.since.IsZero() {
		return
	}
	if l.holds {
		l.holds, l.used = false, laneTime
		l.processor.Lanes.Leave()
	} else {
		l.used += l.processor.Clock().Sub(l.since)
	}
	l.since = time.Time{}
}

// Solid begins a piece of work that cannot be interrupted for others and may take
// long; done must be called at its end. Goroutines whose pieces have been short so far
// go first.
// Errors: the context's cause.
func (e *Env) Solid() (done func(), err error) {
	if err := e.Interrupted(); err != nil || e.Lane == nil || e.Lane.processor == nil {
		return func() {}, err
	}
	l := e.Lane
	e.Pause()
	quick := l.pieces > 0 && l.solid < time.Duration(l.pieces)*quickMax
	if _, err := l.processor.Solid.Enter(e.ctx, l.user, quick, 0); err != nil {
		return func() {}, err
	}
	l.processor.tell()
	begun := l.processor.Clock()
	return func() {
		l.processor.Solid.Leave()
		l.pieces++
		l.solid += l.processor.Clock().Sub(begun)
	}, nil
}

// SolidWanted reports whether somebody waits to begin solid work.
func (e *Env) SolidWanted() bool {
	return e.Lane != nil && e.Lane.processor != nil && e.Lane.processor.Solid.Wanted()
}
