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
// is none it waits, first come first served, while its sender is held up by TCP. Nobody
// waits who holds some, so those who hold it get through: they receive, run, and give it
// back. A sender that takes too long over that loses its connection as soon as others wait.
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
	once sync.Once
	line *ratelimit.Lanes // of one: who is in it asks for memory

	mu     sync.Mutex
	coming map[*arrival]struct{}
}

// arrival is a large message on its way in.
type arrival struct {
	began time.Time
	got   atomic.Int64
	cut   atomic.Bool
	end   func() // makes the reading fail
}

// roomFor is the memory of a message of n bytes beyond what a connection keeps.
func roomFor(n int) int64 {
	if n <= keepBytesMax {
		return 0
	}
	return int64(room(n))
}

// reserve takes memory for a message, waiting for it. Release gives it back.
func (r *Reader) reserve(n int64) bool {
	m := r.pool.Messages
	if m == nil || n == 0 {
		return true
	}
	n = min(n, m.Max())
	if !r.pool.inbox.take(m, n) {
		return false
	}
	r.reserved = n
	return true
}

// take takes n bytes of m in turn.
func (x *inbox) take(m *ratelimit.Memory, n int64) bool {
	x.once.Do(func() { x.line = ratelimit.NewLanes(1) })
	if !x.line.Wanted() && x.line.Taken() == 0 && m.Take(n) {
		return true
	}
	if entered, _ := x.line.Enter(context.Background(), "", false, inboxPatience); !entered {
		return false
	}
	defer x.line.Leave()
	t := time.NewTicker(askEvery)
	defer t.Stop()
	for begun := time.Now(); !m.Take(n); <-t.C {
		if x.hurry(); time.Since(begun) > inboxPatience {
			return false
		}
	}
	return true
}

// hurry ends the connections whose messages come too slowly.
func (x *inbox) hurry() {
	x.mu.Lock()
	defer x.mu.Unlock()
	for a := range x.coming {
		since := time.Since(a.began)
		if since > slowAfter && a.got.Load() < int64(since.Seconds()*slowRate) && !a.cut.Swap(true) && a.end != nil {
			a.end()
		}
	}
}

// enter notes a message that has its memory and begins to come; leave follows.
func (x *inbox) enter(a *arrival, end func()) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.coming == nil {
		x.coming = map[*arrival]struct{}{}
	}
	a.began, a.end = time.Now(), end
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
	if _, err := io.CopyN(io.Discard, r.br, int64(int(h.Length)-len(first))); err != nil {
		return noEOF(err)
	}
	m.Header = h
	if h.OpCode == OpMsg {
		m.Flags = Flags(binary.LittleEndian.Uint32(first[HeaderSize:]))
	}
	return mongoerr.New(mongoerr.ExceededMemoryLimit,
		"No memory for a message of %d bytes: other large messages take up the %d bytes that all may together (--work-memory); send it again later, or in smaller parts",
		h.Length, r.pool.Messages.Max()).With(mongoerr.SystemOverloadedError | mongoerr.RetryableError)
}
