package shard

import (
	"bytes"
	"slices"

	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/storage/keyspace"
)

// partitionsMax is the largest number of index partitions (generations of entries, see doc.go) that a shard reads. A
// split or merge beyond it is refused until the entries have been moved to the newest partition (Settle).
const partitionsMax = 8

// Split returns the next map, in which two shards that meet at the position at replace the shard id; the right one
// begins with at. Both keep the index partitions; the right one also gets a new partition, for its new entries.
// Errors: ShardNotFound; CannotSplit.
func (m *Map) Split(id ID, at Position) (*Map, error) {
	i, ok := m.byID[id]
	if !ok {
		return nil, unknownShard(id)
	}
	d := m.shards[i]
	switch {
	case m.kind == Unsharded:
		return nil, mongoerr.New(mongoerr.CannotSplit, "a collection without a shard key cannot be split")
	case !m.fits(at):
		return nil, mongoerr.New(mongoerr.CannotSplit, "position %v is none of a %s shard key", at, m.kind)
	case bytes.Equal(at, d.Lo) || !d.Contains(at) || len(at) == 0:
		return nil, mongoerr.New(mongoerr.CannotSplit, "the key to split at does not lie inside the chunk on shard %v, or is its lower bound: another split or a merge may have changed the chunk meanwhile; "+
			"look at config.chunks, and split again if it is still needed", id)
	case len(d.Partitions) >= partitionsMax:
		return nil, mongoerr.New(mongoerr.CannotSplit, "shard %v still settles its earlier splits", id)
	case len(m.shards) >= ShardsMax:
		return nil, mongoerr.New(mongoerr.CannotSplit, "the collection already has %d shards", ShardsMax)
	}
	next := m.next()
	at = bytes.Clone(at)
	left := &Descriptor{ID: next.nextID, Range: Range{d.Lo, at}, Partitions: d.Partitions,
		Since: next.version.Minor, Parents: []ID{id}}
	right := &Descriptor{ID: next.nextID + 1, Range: Range{at, d.Hi},
		Partitions: append(slices.Clone(d.Partitions), next.nextPartition),
		Since:      next.version.Minor, Parents: []ID{id}}
	next.nextID += 2
	next.nextPartition++
	next.shards = slices.Replace(next.shards, i, i+1, left, right)
	return next.index(), nil
}

// fits reports whether a shard of the map can begin at the position p, by its length and hash.
func (m *Map) fits(p Position) bool {
	if m.kind == Ranged {
		return len(p) > hashLen && p.hash() == keyspace.HashMin
	}
	return len(p) == hashLen && p.hash() != keyspace.HashMin
}

// Merge returns the next map, in which one shard replaces two neighbours, given in either order. Its new index
// entries go to the newest partition of the right neighbour.
// Errors: ShardNotFound; BadValue.
func (m *Map) Merge(a, b ID) (*Map, error) {
	i, ok := m.byID[a]
	if !ok {
		return nil, unknownShard(a)
	}
	j, ok := m.byID[b]
	if !ok {
		return nil, unknownShard(b)
	}
	i, j = min(i, j), max(i, j)
	if j != i+1 {
		return nil, mongoerr.New(mongoerr.BadValue, "shards %v and %v are not neighbours", a, b)
	}
	left, right := m.shards[i], m.shards[j]
	partitions := slices.Clone(left.Partitions)
	for _, p := range right.Partitions {
		if k := slices.Index(partitions, p); k >= 0 {
			partitions = slices.Delete(partitions, k, k+1)
		}
		partitions = append(partitions, p)
	}
	if len(partitions) > partitionsMax {
		return nil, mongoerr.New(mongoerr.BadValue, "shards %v and %v still settle earlier changes", a, b)
	}
	next := m.next()
	d := &Descriptor{ID: next.nextID, Range: Range{left.Lo, right.Hi}, Partitions: partitions,
		Since: next.version.Minor, Parents: []ID{left.ID, right.ID}}
	next.nextID++
	next.shards = slices.Replace(next.shards, i, j+1, d)
	return next.index(), nil
}

// Settle returns the next map, in which the shard id keeps only its newest index partition, after its entries have
// been moved there. If the shard has only one, the same map is returned.
// Errors: ShardNotFound.
func (m *Map) Settle(id ID) (*Map, error) {
	i, ok := m.byID[id]
	if !ok {
		return nil, unknownShard(id)
	}
	if m.shards[i].Settled() {
		return m, nil
	}
	next := m.next()
	d := *m.shards[i]
	d.Partitions = []keyspace.PartitionID{d.Newest()}
	d.Since = next.version.Minor
	next.shards[i] = &d
	return next.index(), nil
}

// next returns a copy of the map at the next minor version, for the caller to change before it is published.
func (m *Map) next() *Map {
	n := *m
	n.version.Minor++
	n.shards = slices.Clone(m.shards)
	return &n
}

func unknownShard(id ID) error {
	return mongoerr.New(mongoerr.ShardNotFound, "shard %v does not exist; the collection may have been split meanwhile", id)
}
