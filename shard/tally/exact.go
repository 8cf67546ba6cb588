package tally

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/cantledb/cantle/collection/shard"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/keyspace"
)

// exactTimeout bounds how long an exact count waits for commits that were in flight when it began. Most
// take microseconds; if the store stalls, scanning is faster.
const exactTimeout = 5 * time.Millisecond

// gate counts the writers that are between the beginning of a commit and its Add, by turn: a number that an exact count
// increases. The count then waits until no writer of an older turn is inside; writers never wait for the count.
type gate struct {
	turn    atomic.Uint32
	inside  [2]atomic.Int64 // by turn, odd and even
	emptied atomic.Pointer[chan struct{}]
}

// Enter is called before a commit that changes the counts of a collection. Its result is passed to Leave when the
// changes were added or the commit has failed. So Exact can wait for commits whose changes are not added yet.
func (c *Collection) Enter() (turn uint32) {
	g := &c.gate
	for {
		turn := g.turn.Load() & 1
		g.inside[turn].Add(1)
		if g.turn.Load()&1 == turn {
			return turn
		}
		c.Leave(turn)
	}
}

// Leave ends Enter.
func (c *Collection) Leave(turn uint32) {
	g := &c.gate
	if g.inside[turn].Add(-1) > 0 {
		return
	}
	if ch := g.emptied.Load(); ch != nil {
		select {
		case *ch <- struct{}{}:
		default:
		}
	}
}

// drain waits until a turn that writers no longer enter is empty, and reports whether that happened before late fired
// and before ctx ended.
func (g *gate) drain(ctx context.Context, turn uint32, late <-chan time.Time) bool {
	ch := make(chan struct{}, 1)
	g.emptied.Store(&ch)
	defer g.emptied.Store(nil)
	for g.inside[turn&1].Load() > 0 {
		select {
		case <-ch:
		case <-late:
			return false
		case <-ctx.Done():
			return false
		}
	}
	return true
}

// Failed receives the error of a commit. If the commit is undetermined, the counts of the collection are in doubt
// until the next start, and Exact does not use them.
func (c *Collection) Failed(err error) {
	if errors.Is(err, storage.ErrUndetermined) {
		c.inDoubt.Store(true)
	}
}

// MarkInDoubt marks the counts of all collections as possibly wrong, as on damaged data or beside peers, so that
// Exact does not use them.
func (b *Board) MarkInDoubt() { b.inDoubt.Store(true) }

// Exact returns the documents of shards as a scan of the store's newest state would count them; now returns the time
// of that state. ok is false if the counters are not sufficient: there are none, they are in doubt, a split or merge
// is in progress, a commit takes longer than exactTimeout, or ctx ends. The shards are those of one map, and the
// caller makes sure that it is the collection's map all the time. Errors: the errors of now.
func (b *Board) Exact(ctx context.Context, id keyspace.CollectionID, m *shard.Map, now func() (storage.Timestamp, error)) (docs []int64, ok bool, err error) {
	found, _ := b.colls.Load(id)
	c, _ := found.(*Collection)
	if c == nil || b.inDoubt.Load() || c.inDoubt.Load() {
		return nil, false, nil
	}
	c.counting.Lock()
	defer c.counting.Unlock()
	shards := make([]*Shard, len(m.Shards()))
	for i, d := range m.Shards() {
		shards[i] = c.Shard(d.ID)
		shards[i].record(true)
		defer shards[i].record(false)
	}
	at, err := now()
	if err != nil {
		return nil, false, err
	}
	// A transaction visible in that state entered one of the two turns before it committed. Once
	// both turns have drained, its counts have been added.
	late := time.NewTimer(exactTimeout)
	defer late.Stop()
	g := &c.gate
	if old := g.turn.Load(); !g.drain(ctx, old+1, late.C) {
		return nil, false, nil
	} else if g.turn.Add(1); !g.drain(ctx, old, late.C) {
		return nil, false, nil
	}
	c.mu.RLock()
	defer c.mu.RUnlock()
	if len(c.carried) > 0 || c.inDoubt.Load() {
		return nil, false, nil
	}
	for _, s := range shards {
		docs = append(docs, s.docsAt(at))
	}
	return docs, true, nil
}

// record starts or stops keeping the changes that are added to a shard, from which docsAt subtracts those of later
// commits.
func (s *Shard) record(on bool) {
	s.mu.Lock()
	s.recent = nil
	s.recorded.Store(on)
	s.mu.Unlock()
}

// docsAt returns the number of documents of a shard at a time, without those of later commits; record was called
// before that time.
func (s *Shard) docsAt(at storage.Timestamp) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.docs.Load()
	for _, c := range s.recent {
		if c.ts > at {
			n -= c.Docs
		}
	}
	return n
}
