package data

import (
	"sync/atomic"
	"time"

	"github.com/cantledb/cantle/wire/command"
	"github.com/cantledb/cantle/wire/cursor"
)

// An answer to a change stream costs some ten microseconds, whether it brings one event or twenty. Where many
// streams deliver at a time each is therefore answered less often, and gets more at once: the pause between two
// answers of a stream is so long that all streams together have one in paceEach. A few streams do not notice, a
// hundred have their events 5 ms later at most, and one that was silent for as long has its event at once.
const (
	paceEach = 50 * time.Microsecond
	paceMax  = 5 * time.Millisecond
)

// pace knows how many answers with events streams had of late.
type pace struct {
	begun    atomic.Int64 // of this paceMax, in nanoseconds
	now, was atomic.Int64 // answers in it, and in the one before
}

// answered notes an answer.
func (p *pace) answered(at time.Time) {
	p.turn(at)
	p.now.Add(1)
}

// turn begins a new count when the old one is over.
func (p *pace) turn(at time.Time) {
	begun, now := p.begun.Load(), at.UnixNano()
	switch passed := now - begun; {
	case passed < int64(paceMax) || !p.begun.CompareAndSwap(begun, now):
	case passed < 2*int64(paceMax):
		p.was.Store(p.now.Swap(0))
	default:
		p.was.Store(0)
		p.now.Store(0)
	}
}

// pause is how long the answers of one stream are to be apart.
func (p *pace) pause(at time.Time) time.Duration {
	p.turn(at)
	return min(time.Duration(max(p.was.Load(), p.now.Load()))*paceEach, paceMax)
}

// gather waits until a stream may have its next answer. It is not the stream's error if the command is to
// end meanwhile: what comes next sees that.
func (s *State) gather(c *command.Call, cur *cursor.Cursor) {
	if cur.Answered.IsZero() || !c.Page.OfStream {
		return
	}
	now := time.Now()
	left := cur.Answered.Add(s.pace.pause(now)).Sub(now)
	if left <= paceEach {
		return
	}
	ctx, end := untilStopped(c, left)
	defer end()
	rest(c, func() { <-ctx.Done() })
}
