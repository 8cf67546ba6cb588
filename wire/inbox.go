package wire

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/ratelimit"
)

// Large messages on their way in share Pool.Messages. One that has shown that it comes,
// by its first 64 KiB, takes memory for all of itself before the next byte is read; if there
// is none it waits, while its sender is held up by TCP. Nobody waits who holds some, so
// those who hold it get through: they receive, run, and give it back. A sender that takes
// too long over that loses its connection as soon as others wait.
//
// Users have shares of it, as of all working memory, and each has a line of its own, so
// that nobody's messages wait behind another's flood. A user who has none on the way stands,
// with one message, in a line with all such users, first come first served; one who has some
// gets more while nobody stands there.
const (
	// inboxPatience is how long a message waits for memory before it is refused.
	inboxPatience = 10 * time.Second
	// After slowAfter a message must have come at slowRate bytes a second.
	slowAfter = time.Second
	slowRate  = 256 << 10
	// askEvery is how often the first in line asks.
	askEvery = 5 * time.Millisecond
)

// ErrTooSlow ends a connection whose large message came so slowly that others waited
// for its memory. ErrNoMemory ends one whose compressed message found none in time;
// nothing can be answered before it is unpacked.
var (
	ErrTooSlow  = errors.New("a large message came too slowly while others waited for memory")
	ErrNoMemory = errors.New("no memory for a compressed message: other large messages take up all there is")
)

// inbox is who waits for the memory of large messages, and who has some and is not
// complete. The zero inbox is ready.
type inbox struct {
	once   sync.Once
	line   *ratelimit.Lanes // of one: which of the users that hold nothing asks for memory
	shares *ratelimit.UserShares

	mu      sync.Mutex
	coming  map[*arrival]struct{}
	senders map[string]*sender
}

// sender is a user whose connections may send large messages.
type sender struct {
	name  string
	share *ratelimit.Memory
	line  *ratelimit.Lanes // of one: which of the user's messages asks for memory
	conns int
}

// arrival is a large message on its way in.
type arrival struct {
	from  *sender
	began time.Time
	got   atomic.Int64
	cut   atomic.Bool
	end   func() // makes the reading fail
}

// roomFor is the memory of a message of n bytes that is counted.
func roomFor(n int) int64 {
	if n <= smallBytesMax {
		return 0
	}
	return int64(room(n))
}

// CountFor says whose messages come from now on; "" is nobody's, as at the end of a
// connection.
func (r *Reader) CountFor(user string) {
	x := &r.pool.inbox
	x.once.Do(func() { x.init(r.pool.Messages) })
	x.mu.Lock()
	defer x.mu.Unlock()
	if s := r.sender; s != nil {
		r.sender = nil
		x.shares.Leave(s.name)
		if s.conns--; s.conns == 0 {
			delete(x.senders, s.name)
		}
	}
	if user == "" {
		return
	}
	share := x.shares.Enter(user) // the same for all connections of a user
	s := x.senders[user]
	if s == nil {
		s = &sender{name: user, share: share, line: ratelimit.NewLanes(1)}
		x.senders[user] = s
	}
	s.conns++
	r.sender = s
}

// init makes the lines for a memory, which may be nil.
func (x *inbox) init(m *ratelimit.Memory) {
	x.line, x.shares = ratelimit.NewLanes(1), ratelimit.NewUserShares(m)
	x.senders = map[string]*sender{}
}

// unknown is who sends messages on connections of which nobody has said whose they are.
const unknown = "unknown"

// reserve takes memory for a message, waiting for it. Release gives it back.
func (r *Reader) reserve(n int64) bool {
	m := r.pool.Messages
	if m == nil || n == 0 {
		return true
	}
	if r.sender == nil {
		r.CountFor(unknown)
	}
	n = min(n, ratelimit.ShareMax(m)) // who is alone gets every message through
	if !r.pool.inbox.take(r.sender, n) {
		return false
	}
	r.reserved, r.from = n, r.sender.share
	return true
}

// take takes n bytes of a user's share in turn.
func (x *inbox) take(s *sender, n int64) bool {
	if s.line.Taken() == 0 && x.line.Taken() == 0 && s.share.Take(n) {
		return true
	}
	if entered, _ := s.line.Enter(context.Background(), "", false, inboxPatience); !entered {
		return false
	}
	defer s.line.Leave()
	return asked(func() (done, ok bool) {
		if s.share.Stats().Used == 0 {
			return true, x.await(s, n)
		}
		x.hurry(s)
		return x.line.Taken() == 0 && s.share.Take(n), true
	})
}

// await waits for memory in the line of those who hold nothing.
func (x *inbox) await(s *sender, n int64) bool {
	if entered, _ := x.line.Enter(context.Background(), "", false, inboxPatience); !entered {
		return false
	}
	defer x.line.Leave()
	return asked(func() (done, ok bool) {
		x.hurry(nil)
		return s.share.Take(n), true
	})
}

// asked asks again and again until it is done, and returns what the last answer was; not
// ok when that takes too long.
func asked(ask func() (done, ok bool)) bool {
	t := time.NewTicker(askEvery)
	defer t.Stop()
	for begun := time.Now(); time.Since(begun) <= inboxPatience; <-t.C {
		if done, ok := ask(); done {
			return ok
		}
	}
	return false
}

// hurry ends the connections whose messages come too slowly: those of a user that waits
// for itself, or, if that is nil, all.
func (x *inbox) hurry(of *sender) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for a := range x.coming {
		since := time.Since(a.began)
		if of != nil && a.from != of {
			continue
		}
		if since > slowAfter && a.got.Load() < int64(since.Seconds()*slowRate) && !a.cut.Swap(true) && a.end != nil {
			a.end()
		}
	}
}

// enter notes a message that has its memory and begins to come; leave follows.
func (x *inbox) enter(a *arrival, from *sender, end func()) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.coming == nil {
		x.coming = map[*arrival]struct{}{}
	}
	a.from, a.began, a.end = from, time.Now(), end
	a.got.Store(0)
	a.cut.Store(false)
	x.coming[a] = struct{}{}
}

func (x *inbox) leave(a *arrival) {
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.coming, a)
}

// refused lets the rest of a message pass, of which first has been read, and says so: as
// an error that the sender can be told if the message allows that.
func (r *Reader) refused(m *Message, h Header, first []byte) error {
	if h.OpCode == OpCompressed {
		return ErrNoMemory
	}
	if _, err := io.CopyN(io.Discard, &r.in, int64(int(h.Length)-len(first))); err != nil {
		return noEOF(err)
	}
	m.Header = h
	if h.OpCode == OpMsg {
		m.Flags = Flags(binary.LittleEndian.Uint32(first[HeaderSize:]))
	}
	return mongoerr.New(mongoerr.ExceededMemoryLimit,
		"No memory for a message of %d bytes: other large messages, of this user or of others, take up too much of the %d bytes that all may together (--work-memory); send it again later, or in smaller parts",
		h.Length, r.pool.Messages.Max()).With(mongoerr.SystemOverloadedError | mongoerr.RetryableError)
}
