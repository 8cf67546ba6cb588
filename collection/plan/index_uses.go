package plan

import (
	"sync"
	"sync/atomic"

	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/storage/keyspace"
)

// Uses counts for each index the plans that read it, since the server started or Reset or Drop, for $indexStats. Safe
// for concurrent use; the zero Uses is ready.
// Manual: reference/operator/aggregation/indexStats.
type Uses struct {
	mu    sync.RWMutex
	colls map[keyspace.CollectionID]map[keyspace.IndexID]*atomic.Int64
}

// Of returns the count of one index.
func (u *Uses) Of(coll keyspace.CollectionID, ix keyspace.IndexID) int64 {
	u.mu.RLock()
	defer u.mu.RUnlock()
	if n := u.colls[coll][ix]; n != nil {
		return n.Load()
	}
	return 0
}

// add counts one use.
func (u *Uses) add(coll keyspace.CollectionID, ix keyspace.IndexID) {
	u.mu.RLock()
	n := u.colls[coll][ix]
	u.mu.RUnlock()
	if n == nil {
		n = u.counter(coll, ix)
	}
	n.Add(1)
}

// counter makes the counter of an index at its first use.
func (u *Uses) counter(coll keyspace.CollectionID, ix keyspace.IndexID) *atomic.Int64 {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.colls == nil {
		u.colls = map[keyspace.CollectionID]map[keyspace.IndexID]*atomic.Int64{}
	}
	if u.colls[coll] == nil {
		u.colls[coll] = map[keyspace.IndexID]*atomic.Int64{}
	}
	n := u.colls[coll][ix]
	if n == nil {
		n = new(atomic.Int64)
		u.colls[coll][ix] = n
	}
	return n
}

// Reset drops the count of one index.
func (u *Uses) Reset(coll keyspace.CollectionID, ix keyspace.IndexID) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.colls[coll], ix)
}

// Drop drops the counts of a collection.
func (u *Uses) Drop(coll keyspace.CollectionID) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.colls, coll)
}

// Count adds one use to each index that a plan reads, only one if the plan reads the index several times.
// A read of records by _id counts as a use of _id_.
func (u *Uses) Count(coll *catalog.Collection, n Node) {
	var seen [8]keyspace.IndexID
	u.visit(coll, n, seen[:0])
}

func (u *Uses) visit(coll *catalog.Collection, n Node, seen []keyspace.IndexID) []keyspace.IndexID {
	var ix *catalog.Index
	switch n := n.(type) {
	case *PointRead:
		ix = coll.IDIndex()
	case *RecordScan:
		if n.ByID != nil {
			ix = coll.IDIndex()
		}
	case *IndexScan:
		ix = n.Index
	case *GeoNear:
		ix = n.Index
	}
	if ix != nil {
		for _, id := range seen {
			if id == ix.ID {
				return seen
			}
		}
		u.add(coll.ID, ix.ID)
		return append(seen, ix.ID)
	}
	for _, in := range n.Inputs() {
		seen = u.visit(coll, in, seen)
	}
	return seen
}
