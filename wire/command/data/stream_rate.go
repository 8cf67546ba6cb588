package data

import (
	"sync/atomic"
	"time"

	"github.com/cantledb/cantle/wire/command"
	"github.com/cantledb/cantle/wire/cursor"
)

// A reply to a change stream costs about ten microseconds, whether it has one event or twenty. If many streams
// deliver at the same time, the server replies to each stream less often, with more events at once: the pause between
// two replies of one stream is so long that up to a hundred streams together get one reply per paceEach. A few
// streams are not delayed. Events are at most 5 ms late (paceMax), and a stream that had no event for 5 ms gets its
// next event at once.
const (
	paceEach = 50 * time.Microsecond
	paceMax  = 5 * time.Millisecond
)

// pace counts the replies with events to all change streams in this paceMax and the one before, from which the pause
// of each stream follows.
type pace struct {
	begun    atomic.Int64 // start of this paceMax, in nanoseconds
	now, was atomic.Int64 // answers in this paceMax, and in the one before
}

// count counts an answer.
func (p *pace) count(at time.Time) {
	p.rotate(at)
	p.now.Add(1)
}

// rotate starts a new count after paceMax.
func (p *pace) rotate(at time.Time) {
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

// pause returns the minimum time between two replies to one change stream, at most paceMax; it grows with the number
// of replies to all streams.
func (p *pace) pause(at time.Time) time.Duration {
	p.rotate(at)
	return min(time.Duration(max(p.was.Load(), p.now.Load()))*paceEach, paceMax)
}

// awaitPace waits until a change stream may have its next reply. If the command is interrupted or the server stops
// during the wait, awaitPace returns early; the next step of the command returns the error, if there is one.
func (s *State) awaitPace(c *command.Call, cur *cursor.Cursor) {
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
	waitIdle(c, func() { <-ctx.Done() })
}
