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

// Large incoming messages share the memory limit Pool.Messages. When the first 64 KiB of a message have arrived,
// memory for the whole message is reserved before its next byte is read. If there is none, the message waits, and TCP
// holds up its sender (backpressure). A message that has reserved memory never waits for more memory, so the messages
// that have memory make progress: they are received, run, and release it. If a sender is too slow, its connection is
// closed as soon as other messages wait.
//
// Each user has a share of this memory and a queue of its own, so that no user's messages wait behind a flood of
// messages of another user. A user without a message in progress waits, with one message, in a queue of all such
// users, first come first served. A user with messages in progress gets more memory only while that queue is empty.
const (
	// memoryTimeout bounds each wait of a message: for its turn, and then for memory. After it the message is refused.
	memoryTimeout = 10 * time.Second
	// When a message has been arriving for slowAfter, its average must be slowRate bytes a second; otherwise it is
	// too slow.
	slowAfter = time.Second
	slowRate  = 256 << 10
	// pollEvery is the interval at which the first message of a queue tries again to reserve memory.
	pollEvery = 5 * time.Millisecond
)

// ErrTooSlow is the error with which a connection ends whose large message arrived so slowly that others waited for
// its memory. ErrNoMemory is the error with which a connection ends whose compressed message got no memory in time:
// it cannot be answered, because it cannot be decompressed.
var (
	ErrTooSlow  = errors.New("a large message came too slowly while others waited for memory")
	ErrNoMemory = errors.New("no memory for a compressed message: other large messages take up all there is")
)

// largeMessages holds the queues of messages that wait for memory, and the large messages that have memory and are
// still being received. The zero largeMessages is ready.
type largeMessages struct {
	once   sync.Once
	turn   *ratelimit.Semaphore // one slot: for the first in the queue of users without reserved memory
	shares *ratelimit.UserShares

	mu        sync.Mutex
	receiving map[*largeMessage]struct{}
	senders   map[string]*sender
}

// sender is a user whose connections may send large messages.
type sender struct {
	name  string
	share *ratelimit.Memory
	turn  *ratelimit.Semaphore // one slot: for the first message in this user's queue
	conns int
}

// largeMessage is a large message that is being received.
type largeMessage struct {
	from   *sender
	began  time.Time
	got    atomic.Int64
	closed atomic.Bool
	end    func() // makes reading fail
}

// roomFor returns the bytes of memory to reserve for a message of n bytes: a power of two, or 0 for a message of at
// most smallBytesMax.
func roomFor(n int) int64 {
	if n <= smallBytesMax {
		return 0
	}
	return int64(room(n))
}

// ChargeTo sets the user from whose share the memory of later messages is reserved. "" means no user; it is set when
// the connection ends.
func (r *Reader) ChargeTo(user string) {
	x := &r.pool.largeMessages
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
		s = &sender{name: user, share: share, turn: ratelimit.NewSemaphore(1)}
		x.senders[user] = s
	}
	s.conns++
	r.sender = s
}

// init creates the queue, and the shares of the users in the memory m, which may be nil.
func (x *largeMessages) init(m *ratelimit.Memory) {
	x.turn, x.shares = ratelimit.NewSemaphore(1), ratelimit.NewUserShares(m)
	x.senders = map[string]*sender{}
}

// unknown is the user of messages on connections without ChargeTo.
const unknown = "unknown"

// reserve reserves n bytes for a message in its user's share of Pool.Messages, and waits for them if necessary. It
// returns false if a wait exceeds memoryTimeout. Reader.Release releases the memory.
func (r *Reader) reserve(n int64) bool {
	m := r.pool.Messages
	if m == nil || n == 0 {
		return true
	}
	if r.sender == nil {
		r.ChargeTo(unknown)
	}
	n = min(n, ratelimit.ShareMax(m)) // a user that is alone gets every message through
	if !r.pool.largeMessages.reserve(r.sender, n) {
		return false
	}
	r.reserved, r.from = n, r.sender.share
	return true
}

// reserve reserves n bytes of a user's share, after the user's earlier messages, and not while a user that holds no
// memory waits for some. It returns false on a timeout.
func (x *largeMessages) reserve(s *sender, n int64) bool {
	if s.turn.InUse() == 0 && x.turn.InUse() == 0 && s.share.Take(n) {
		return true
	}
	if entered, _ := s.turn.Acquire(context.Background(), "", false, memoryTimeout); !entered {
		return false
	}
	defer s.turn.Release()
	return pollUntil(func() (done, ok bool) {
		if s.share.Stats().Used == 0 {
			return true, x.await(s, n)
		}
		x.closeSlow(s)
		return x.turn.InUse() == 0 && s.share.Take(n), true
	})
}

// await reserves n bytes for a user that holds no memory, in the queue of such users, first come first served. It
// returns false on a timeout.
func (x *largeMessages) await(s *sender, n int64) bool {
	if entered, _ := x.turn.Acquire(context.Background(), "", false, memoryTimeout); !entered {
		return false
	}
	defer x.turn.Release()
	return pollUntil(func() (done, ok bool) {
		x.closeSlow(nil)
		return s.share.Take(n), true
	})
}

// pollUntil calls the function every pollEvery until it returns done, and returns the ok of that call; false if this
// takes longer than memoryTimeout.
func pollUntil(ask func() (done, ok bool)) bool {
	t := time.NewTicker(pollEvery)
	defer t.Stop()
	for begun := time.Now(); time.Since(begun) <= memoryTimeout; <-t.C {
		if done, ok := ask(); done {
			return ok
		}
	}
	return false
}

// closeSlow closes the connections whose large messages arrive too slowly (slowAfter, slowRate): those of one user,
// or of all users if of is nil.
func (x *largeMessages) closeSlow(of *sender) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for a := range x.receiving {
		since := time.Since(a.began)
		if of != nil && a.from != of {
			continue
		}
		if since > slowAfter && a.got.Load() < int64(since.Seconds()*slowRate) && !a.closed.Swap(true) && a.end != nil {
			a.end()
		}
	}
}

// enter registers a message that has its memory and is being received, so that closeSlow can end it by calling end.
// The caller must call leave afterwards.
func (x *largeMessages) enter(a *largeMessage, from *sender, end func()) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.receiving == nil {
		x.receiving = map[*largeMessage]struct{}{}
	}
	a.from, a.began, a.end = from, time.Now(), end
	a.got.Store(0)
	a.closed.Store(false)
	x.receiving[a] = struct{}{}
}

func (x *largeMessages) leave(a *largeMessage) {
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.receiving, a)
}

// discard reads and discards the rest of a message that got no memory; first is the part that has been read. It
// returns the error that answers the sender, and the connection stays open. A compressed message cannot be answered:
// ErrNoMemory ends its connection.
func (r *Reader) discard(m *Message, h Header, first []byte) error {
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
