package cursor

import (
	"container/list"
	"math"
)

// Holder is a Source that knows what it holds and can hold less while nobody asks for
// more. Neither method is called during Append or Close.
type Holder interface {
	Source
	// Held is about how many bytes the source holds. It is cheap.
	Held() int64
	// Park lets go of what the source would find again. It returns false if a part of it
	// was still at work; it is called again then, later.
	Park() (done bool)
}

// cursorBytes is what a cursor costs beside what its source holds: the state of the
// command that opened it. Measured with finds on small collections.
const cursorBytes = 8 << 10

// share is what the cursors of one connection hold.
type share struct {
	bytes int64
	idle  list.List // of *Cursor, the one used last at the end
}

// budget counts the bytes that open cursors hold, and keeps them in the order in
// which they were used. Guarded by Registry.mu.
//
// Cursors that were used lately are warm: their iterators stay open, since the next
// batch is likely to be asked for soon. So many may be; then the one whose use is
// longest ago is parked.
type budget struct {
	bytes  int64
	shares map[int64]*share // by connection
	warm   list.List        // of *Cursor, idle and not parked
}

// count changes what a cursor is known to hold.
func (b *budget) count(c *Cursor, bytes int64) {
	s := b.shares[c.Options.Conn]
	if s == nil {
		s = &share{}
		b.shares[c.Options.Conn] = s
	}
	s.bytes += bytes - c.bytes
	b.bytes += bytes - c.bytes
	c.bytes = bytes
	if s.bytes == 0 {
		delete(b.shares, c.Options.Conn)
	}
}

// idle notes that nobody uses a cursor.
func (b *budget) idle(c *Cursor) {
	c.inShare = b.shares[c.Options.Conn].idle.PushBack(c)
	if c.holder != nil {
		c.inWarm = b.warm.PushBack(c)
	}
}

// busy takes a cursor out of the lists of idle ones.
func (b *budget) busy(c *Cursor) {
	if c.inShare != nil {
		b.shares[c.Options.Conn].idle.Remove(c.inShare)
		c.inShare = nil
	}
	b.cool(c)
}

// cool takes a cursor out of the list of warm ones.
func (b *budget) cool(c *Cursor) {
	if c.inWarm != nil {
		b.warm.Remove(c.inWarm)
		c.inWarm = nil
	}
}

// gone forgets a cursor.
func (b *budget) gone(c *Cursor) {
	b.busy(c)
	b.count(c, 0)
}

// victim is the cursor to close when memory runs out: of the connection whose idle
// ones hold most, the one whose use is longest ago. So a client that opens cursors
// and leaves them loses its own, before others lose theirs. nil if none is idle.
func (b *budget) victim() *Cursor {
	var most *share
	for _, s := range b.shares {
		if s.idle.Len() > 0 && (most == nil || s.bytes > most.bytes) {
			most = s
		}
	}
	if most == nil {
		return nil
	}
	return most.idle.Front().Value.(*Cursor)
}

// evict closes idle cursors while more than limit bytes are held, down to seven
// eighths of it. r.mu is held; the caller calls what it returns without.
func (r *Registry) evict(limit int64) (rest []func()) {
	if r.budget.bytes <= limit {
		return nil
	}
	for r.budget.bytes > limit-limit/8 {
		c := r.budget.victim()
		if c == nil {
			break
		}
		r.remove(c)
		r.stats.Evicted++
		rest = append(rest, r.letGo(c))
	}
	return rest
}

// park parks the warm cursors that were used longest ago, until at most so many
// are left, or all that were warm when it began.
func (r *Registry) park(most int) {
	for tries := math.MaxInt; tries > 0; tries-- {
		r.mu.Lock()
		n := r.budget.warm.Len()
		tries = min(tries, n-most)
		if tries <= 0 {
			r.mu.Unlock()
			return
		}
		c := r.budget.warm.Front().Value.(*Cursor)
		r.budget.cool(c)
		r.mu.Unlock()
		if !c.use.TryLock() {
			continue // a command has taken it meanwhile
		}
		if c.closed {
			c.use.Unlock()
			continue
		}
		done := c.holder.Park()
		bytes := cursorBytes + c.holder.Held()
		c.use.Unlock()

		r.mu.Lock()
		r.stats.Parked++
		if !c.dead {
			r.budget.count(c, bytes)
			if !done && !c.pinned && c.inWarm == nil {
				c.inWarm = r.budget.warm.PushBack(c)
			}
		}
		r.mu.Unlock()
	}
}
