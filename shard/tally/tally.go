// Package tally counts the documents and bytes of every shard in memory: what
// count and collStats answer from, and what the balancer decides by.
//
// A writer adds what it changed after its commit. The counts are exact whenever
// no write is between its commit and its Add. They survive a restart because
// the change log carries them: see shard/jobs for the checkpoint.
package tally

import (
	"sync"
	"sync/atomic"

	"github.com/cantledb/cantle/shard"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/keyspace"
)

// Count is documents and their bytes.
type Count struct{ Docs, Bytes int64 }

// Add returns the sum.
func (c Count) Add(d Count) Count { return Count{c.Docs + d.Docs, c.Bytes + d.Bytes} }

// Board holds the counts of all collections. The zero Board is ready. Safe for
// concurrent use.
type Board struct {
	colls sync.Map // keyspace.CollectionID → *Collection
}

// Collection is the counts of one collection.
type Collection struct {
	shards sync.Map // shard.ID → *Shard
}

// Shard is the counts of one shard.
type Shard struct {
	docs, bytes atomic.Int64

	mu      sync.Mutex
	pending []change // while Watch is on
	watched atomic.Bool
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

// Drop forgets a collection.
func (b *Board) Drop(id keyspace.CollectionID) { b.colls.Delete(id) }

// Shard returns the counts of a shard, made on first use.
func (c *Collection) Shard(id shard.ID) *Shard {
	if s, ok := c.shards.Load(id); ok {
		return s.(*Shard)
	}
	s, _ := c.shards.LoadOrStore(id, &Shard{})
	return s.(*Shard)
}

// Forget drops shards that the map no longer has.
func (c *Collection) Forget(id shard.ID) { c.shards.Delete(id) }

// Total sums the shards of a map.
func (c *Collection) Total(m *shard.Map) (sum Count) {
	for _, d := range m.Shards() {
		sum = sum.Add(c.Shard(d.ID).Get())
	}
	return sum
}

// Add counts what a commit at ts changed.
func (s *Shard) Add(ts storage.Timestamp, d Count) {
	if s.watched.Load() {
		s.mu.Lock()
		if s.watched.Load() {
			s.pending = append(s.pending, change{ts, d})
		}
		s.mu.Unlock()
	}
	s.docs.Add(d.Docs)
	s.bytes.Add(d.Bytes)
}

// Get returns the counts.
func (s *Shard) Get() Count { return Count{s.docs.Load(), s.bytes.Load()} }

// Set replaces the counts, when nobody writes.
func (s *Shard) Set(c Count) {
	s.docs.Store(c.Docs)
	s.bytes.Store(c.Bytes)
}

// Watch begins to remember single changes, so that Settle can later correct the
// counts to a scan. Call it before the shard gets its first writer.
func (s *Shard) Watch() {
	s.mu.Lock()
	s.pending = nil
	s.watched.Store(true)
	s.mu.Unlock()
}

// Settle makes the counts exact: scanned is what a scan at timestamp at found.
// The caller has made sure that every commit up to at was added.
func (s *Shard) Settle(at storage.Timestamp, scanned Count) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var before Count // added here and seen by the scan as well
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
