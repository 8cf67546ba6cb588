// Package tally counts the documents and bytes of every shard in memory, for count, collStats and
// the decisions of the balancer.
//
// A writer adds its changes after its commit. The counts of a server without peers are exact whenever no write is
// between its commit and its Add, unless a commit was undetermined. They survive a restart because the change log
// contains the changes: see shard/jobs for the checkpoint.
package tally

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/cantledb/cantle/collection/shard"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/keyspace"
)

// Count is a number of documents and their bytes.
type Count struct{ Docs, Bytes int64 }

// Add returns the sum.
func (c Count) Add(d Count) Count { return Count{c.Docs + d.Docs, c.Bytes + d.Bytes} }

// Board holds the counts of all collections. The zero Board is ready. Safe for
// concurrent use.
type Board struct {
	colls   sync.Map // keyspace.CollectionID → *Collection
	inDoubt atomic.Bool
}

// Collection holds the counts of one collection. During a split or merge it holds the old shards
// beside the new ones: the old ones keep their counts, the new ones count later writes, and only
// the sum is exact until Settle.
type Collection struct {
	shards sync.Map // shard.ID → *Shard
	// Heavy holds the shard key values near the size limit.
	Heavy Heavy

	mu      sync.RWMutex // excludes a Total during Settle
	carried []Change

	gate     gate
	counting sync.Mutex // one Exact at a time
	inDoubt  atomic.Bool
}

// Change is one split or merge: the shards (Children) that replace others (Parents).
type Change struct{ Parents, Children []shard.ID }

// Shard holds the counts of one shard.
type Shard struct {
	docs, bytes atomic.Int64

	mu       sync.Mutex
	pending  []change // recorded while Watch is on
	watched  atomic.Bool
	recent   []change // while Exact counts
	recorded atomic.Bool
}

type change struct {
	ts storage.Timestamp
	Count
}

// Of returns the counts of a collection, made on first use.
func (b *Board) Of(id keyspace.CollectionID) *Collection {
	if c, ok := b.colls.Load(id); ok {
		return c.(*Collection)
	}
	c, _ := b.colls.LoadOrStore(id, &Collection{})
	return c.(*Collection)
}

// Drop removes the counts of a collection.
func (b *Board) Drop(id keyspace.CollectionID) { b.colls.Delete(id) }

// Shard returns the counts of a shard, made on first use.
func (c *Collection) Shard(id shard.ID) *Shard {
	if s, ok := c.shards.Load(id); ok {
		return s.(*Shard)
	}
	s, _ := c.shards.LoadOrStore(id, &Shard{})
	return s.(*Shard)
}

// Forget removes a shard that the map no longer has.
func (c *Collection) Forget(id shard.ID) { c.shards.Delete(id) }

// Divide announces a split or merge whose shard map is about to be published, so that the counts of the old shards
// are kept and those of the new ones are watched. It is called before a child gets its first writer.
func (c *Collection) Divide(ch Change) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, id := range ch.Children {
		c.Shard(id).Watch()
	}
	c.carried = append(c.carried, ch)
}

// Undivide reverts a Divide whose shard map was not published, and drops the counts of the children.
func (c *Collection) Undivide(ch Change) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range c.carried {
		if slices.Equal(c.carried[i].Children, ch.Children) {
			c.carried = slices.Delete(c.carried, i, i+1)
			for _, id := range ch.Children {
				c.shards.Delete(id)
			}
			return
		}
	}
}

// Carried lists the splits and merges that have not been settled yet: only their sums are exact.
func (c *Collection) Carried() []Change {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return slices.Clone(c.carried)
}

// Settle ends splits and merges: it makes the counts of their children exact and drops those of the parents. scanned
// holds the counts of a scan at timestamp at for each child. The caller has made sure that the parents have no
// writers any more and that every commit up to at was added.
func (c *Collection) Settle(changes []Change, at storage.Timestamp, scanned map[shard.ID]Count) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, ch := range changes {
		for _, id := range ch.Children {
			c.Shard(id).Settle(at, scanned[id])
		}
		for _, id := range ch.Parents {
			c.shards.Delete(id)
		}
		c.carried = slices.DeleteFunc(c.carried, func(o Change) bool { return slices.Equal(o.Children, ch.Children) })
	}
}

// Total returns the counts of the whole collection, under any map.
func (c *Collection) Total(*shard.Map) (sum Count) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	c.shards.Range(func(_, s any) bool {
		sum = sum.Add(s.(*Shard).Get())
		return true
	})
	return sum
}

// Add adds the changes that a commit at timestamp ts made to the documents and bytes of the shard.
func (s *Shard) Add(ts storage.Timestamp, d Count) {
	if s.watched.Load() || s.recorded.Load() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.watched.Load() {
			s.pending = append(s.pending, change{ts, d})
		}
		if s.recorded.Load() {
			s.recent = append(s.recent, change{ts, d})
		}
	}
	s.docs.Add(d.Docs)
	s.bytes.Add(d.Bytes)
}

// Get returns the counts.
func (s *Shard) Get() Count { return Count{s.docs.Load(), s.bytes.Load()} }

// Set replaces the counts while there are no writers.
func (s *Shard) Set(c Count) {
	s.docs.Store(c.Docs)
	s.bytes.Store(c.Bytes)
}

// Watch starts recording the single changes of a shard, so that Settle can later correct the counts by a scan. The
// caller calls it before the shard gets its first writer.
func (s *Shard) Watch() {
	s.mu.Lock()
	s.pending = nil
	s.watched.Store(true)
	s.mu.Unlock()
}

// Settle makes the counts of a watched shard exact: scanned holds the result of a scan at timestamp at. The caller
// has made sure that every commit up to at was added.
func (s *Shard) Settle(at storage.Timestamp, scanned Count) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var before Count // added to the counts, and included in the scan as well
	for _, c := range s.pending {
		if c.ts <= at {
			before = before.Add(c.Count)
		}
	}
	s.pending = nil
	s.watched.Store(false)
	s.docs.Add(scanned.Docs - before.Docs)
	s.bytes.Add(scanned.Bytes - before.Bytes)
}

// Replace sets the counts of the shards of a collection to those of a server that reads the writes of all servers,
// and drops those of other shards, unless a split or merge is in progress here.
func (c *Collection) Replace(counts map[shard.ID]Count) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.carried) > 0 {
		return
	}
	for id, n := range counts {
		c.Shard(id).Set(n)
	}
	c.shards.Range(func(id, _ any) bool {
		if _, ok := counts[id.(shard.ID)]; !ok {
			c.shards.Delete(id)
		}
		return true
	})
}
