package cursor

import (
	"container/list"
	"math"
)

// Holder is a Source that can report how much memory it holds, and can release a part of it between batches. Held
// and Park are not called during Append or Close.
type Holder interface {
	Source
	// Held returns about how many bytes of memory the source holds. It must be fast, because each Checkin calls it.
	Held() int64
	// Park releases the memory for what the source can read again, such as open iterators. It returns false if a part
	// of the source was still at work; the registry then calls Park again later.
	Park() (done bool)
}

// cursorBytes is the memory in bytes that is counted for a cursor besides its source: the state of the command that
// opened it. Measured with finds on small collections.
const cursorBytes = 8 << 10

// share counts the memory of the cursors of one connection.
type share struct {
	bytes int64
	idle  list.List // of *Cursor, the least recently used first
}

// budget counts the bytes of memory that open cursors hold, and lists idle cursors in the order of their last use,
// to close or park those that were not used for long. Guarded by Registry.mu.
//
// Recently used cursors are warm: their iterators stay open, since the client is likely to request the next batch
// soon. If there are more than Config.WarmMax warm cursors, the least recently used ones are parked (Holder.Park);
// every reapEvery, all are.
type budget struct {
	bytes  int64
	shares map[int64]*share // by connection
	warm   list.List        // of *Cursor, idle and not parked
}

// count sets the number of bytes that a cursor holds.
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

// addIdle adds a cursor, at its Checkin, to the lists of cursors that no command uses, as the most recently used.
func (b *budget) addIdle(c *Cursor) {
	c.inShare = b.shares[c.Options.Conn].idle.PushBack(c)
	if c.holder != nil {
		c.inWarm = b.warm.PushBack(c)
	}
}

// removeIdle removes a cursor from the lists of idle ones.
func (b *budget) removeIdle(c *Cursor) {
	if c.inShare != nil {
		b.shares[c.Options.Conn].idle.Remove(c.inShare)
		c.inShare = nil
	}
	b.removeWarm(c)
}

// removeWarm removes a cursor from the list of warm ones.
func (b *budget) removeWarm(c *Cursor) {
	if c.inWarm != nil {
		b.warm.Remove(c.inWarm)
		c.inWarm = nil
	}
}

// remove removes a cursor from the budget.
func (b *budget) remove(c *Cursor) {
	b.removeIdle(c)
	b.count(c, 0)
}

// victim returns the cursor to close when memory runs out: among the connections with idle cursors, it selects the
// one whose cursors hold most memory, and of this connection the least recently used idle cursor. So a client that
// opens cursors and abandons them loses its own cursors first. If no cursor is idle, victim returns nil.
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

// evict removes idle cursors if all cursors together hold more than limit bytes, until they hold at most seven
// eighths of the limit or none is idle. The caller holds r.mu. After releasing r.mu, it calls the returned functions,
// which close the cursors.
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
		rest = append(rest, r.finishRemove(c))
	}
	return rest
}

// park parks the least recently used warm cursors until no more than a given number of cursors is warm. It parks no
// cursor more than once, even if the source was still at work.
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
		r.budget.removeWarm(c)
		r.mu.Unlock()
		r.parkOne(c)
	}
}

// parkOne parks a cursor that its caller has removed from the list of warm ones. done is false if the source was still
// at work, and the cursor is warm again. parked is false if a command has taken or closed the cursor meanwhile.
func (r *Registry) parkOne(c *Cursor) (done, parked bool) {
	if !c.use.TryLock() {
		return false, false
	}
	if c.closed {
		c.use.Unlock()
		return false, false
	}
	done = c.holder.Park()
	bytes := cursorBytes + c.holder.Held()
	c.use.Unlock()

	r.mu.Lock()
	defer r.mu.Unlock()
	r.stats.Parked++
	if !c.removed {
		r.budget.count(c, bytes)
		if !done && !c.pinned && c.inWarm == nil {
			c.inWarm = r.budget.warm.PushBack(c)
		}
	}
	return done, true
}
