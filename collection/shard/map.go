package shard

import (
	"bytes"
	"fmt"
	"math/bits"
	"slices"
	"sort"
	"strconv"

	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/storage/keyspace"
)

// ID is the number of a shard within its collection, shown like Cosmos DB's range ids: "0" splits into "1" and "2".
// A number is not used again within the epoch.
type ID uint32

// String returns the id in the form for clients.
func (id ID) String() string { return strconv.FormatUint(uint64(id), 10) }

// Version identifies a state of a collection's map.
type Version struct {
	Epoch uint64 // a new one for every shard key the collection gets
	Minor uint64 // counts the changes of the map
}

// String returns epoch|minor.
func (v Version) String() string { return fmt.Sprintf("%d|%d", v.Epoch, v.Minor) }

// Before reports whether the map version v is older than w: of an older epoch, or of the same one and older there.
func (v Version) Before(w Version) bool {
	return v.Epoch < w.Epoch || v.Epoch == w.Epoch && v.Minor < w.Minor
}

// Descriptor is one shard of a map: a range of positions and the index partitions that hold its entries. Immutable.
type Descriptor struct {
	ID ID
	Range
	Partitions []keyspace.PartitionID // entries may be in any of them; new ones go to the last
	Since      uint64                 // minor version of the map that made or changed it
	Parents    []ID                   // shards from which it was made, by a split (one) or a merge (two)
}

// Newest returns the partition for new index entries.
func (d *Descriptor) Newest() keyspace.PartitionID { return d.Partitions[len(d.Partitions)-1] }

// Settled reports whether all entries are in one partition.
func (d *Descriptor) Settled() bool { return len(d.Partitions) == 1 }

// Middle returns the hash at which a split halves the shard, whose positions must have eight bytes; ok is false if
// the shard has only one position.
func (d *Descriptor) Middle() (at keyspace.Hash, ok bool) {
	lo, hi := d.Hashes()
	return lo + (hi-lo)/2 + 1, lo < hi
}

// hashLen is the length in bytes of the hash with which every position begins.
const hashLen = 8

// ShardsMax bounds the shards of one collection.
const ShardsMax = 8192

// Map is the shard map: the shards of one collection, by position, at one version. Immutable, safe for concurrent
// use.
type Map struct {
	version       Version
	kind          Kind
	shards        []*Descriptor // by position
	los           []uint64      // the shards' first hashes; nil for ranged keys
	byID          map[ID]int
	nextID        ID
	nextPartition keyspace.PartitionID
}

// NewMap returns the first map of a shard key: n shards of equal ranges, with ids and partitions 0…n-1. Maps of
// Unsharded and Ranged keys begin with one shard.
// Errors: BadValue.
func NewMap(kind Kind, epoch uint64, n int) (*Map, error) {
	most := ShardsMax
	if kind == Unsharded || kind == Ranged {
		most = 1
	}
	if n < 1 || n > most {
		return nil, mongoerr.New(mongoerr.BadValue, "a collection with this shard key begins with 1 to %d shards, requested %d", most, n)
	}
	m := &Map{version: Version{epoch, 1}, kind: kind, nextID: ID(n), nextPartition: keyspace.PartitionID(n)}
	for i := range n {
		d := &Descriptor{ID: ID(i), Partitions: []keyspace.PartitionID{keyspace.PartitionID(i)}, Since: 1}
		if i > 0 {
			first, _ := bits.Div64(uint64(i), 0, uint64(n)) // i/n of the line
			d.Lo = HashPosition(keyspace.Hash(first))
			m.shards[i-1].Hi = d.Lo
		}
		m.shards = append(m.shards, d)
	}
	return m.index(), nil
}

// NewMapAt returns a first map whose shards meet at the given positions, which must ascend.
// Errors: BadValue.
func NewMapAt(kind Kind, epoch uint64, bounds []Position) (*Map, error) {
	n := len(bounds) + 1
	m := &Map{version: Version{epoch, 1}, kind: kind, nextID: ID(n), nextPartition: keyspace.PartitionID(n)}
	for i := range n {
		d := &Descriptor{ID: ID(i), Partitions: []keyspace.PartitionID{keyspace.PartitionID(i)}, Since: 1}
		if i > 0 {
			d.Lo = bounds[i-1]
			m.shards[i-1].Hi = d.Lo
		}
		m.shards = append(m.shards, d)
	}
	if err := m.Check(); err != nil {
		return nil, mongoerr.New(mongoerr.BadValue, "these bounds make no map: %v", err)
	}
	return m.index(), nil
}

// Refined returns the boundaries of the map's shards under a longer shard key, made by adding fields to its end; kind
// is that of the longer key. ok is true only for a Ranged key made from a Ranged or Hashed one: a hierarchy of more
// levels gives each field fewer bits of the hash.
func (m *Map) Refined(kind Kind) (bounds []Position, ok bool) {
	if kind != Ranged || m.kind != Ranged && m.kind != Hashed {
		return nil, false
	}
	for _, d := range m.shards[1:] {
		bounds = append(bounds, m.refined(d.Lo))
	}
	return bounds, true
}

// RefinedRange returns the range r of positions as a range under the longer shard key, in cases in which Refined
// returns boundaries.
func (m *Map) RefinedRange(r Range) Range { return Range{Lo: m.refined(r.Lo), Hi: m.refined(r.Hi)} }

func (m *Map) refined(p Position) Position {
	if m.kind != Hashed || p == nil {
		return p
	}
	return hashedPrefix(p.hash())
}

// index computes the fields that are derived from the shards.
func (m *Map) index() *Map {
	m.byID = make(map[ID]int, len(m.shards))
	m.los = nil
	for i, d := range m.shards {
		m.byID[d.ID] = i
		if m.kind != Ranged {
			m.los = append(m.los, uint64(d.Lo.hash()))
		}
	}
	return m
}

// Version returns the map's version.
func (m *Map) Version() Version { return m.version }

// Kind returns how positions of the collection are computed.
func (m *Map) Kind() Kind { return m.kind }

// Len returns the number of shards.
func (m *Map) Len() int { return len(m.shards) }

// NextID returns the id after all that shards of the map have had.
func (m *Map) NextID() ID { return m.nextID }

// Shards returns all shards of the map by position. The caller must not change them.
func (m *Map) Shards() []*Descriptor { return m.shards }

// Shard returns the shard of the map with this id; nil if there is none.
func (m *Map) Shard(id ID) *Descriptor {
	if i, ok := m.byID[id]; ok {
		return m.shards[i]
	}
	return nil
}

// Find returns the shard that owns the record with the hash h and the bytes id after it in its key. Maps of hashed
// keys use only the hash.
func (m *Map) Find(h keyspace.Hash, id []byte) *Descriptor {
	if len(m.shards) == 1 {
		return m.shards[0]
	}
	if m.kind == Ranged {
		return m.shards[sort.Search(len(m.shards)-1, func(i int) bool { return after(m.shards[i+1].Lo, h, id) < 0 })]
	}
	i := sort.Search(len(m.los), func(i int) bool { return m.los[i] > uint64(h) })
	return m.shards[i-1]
}

// FindPosition returns the shard that owns a position, under any key.
func (m *Map) FindPosition(p Position) *Descriptor { return m.shards[m.find(p)] }

// FindRange returns the shards that own positions in the range r, by position. The caller must not change them.
func (m *Map) FindRange(r Range) []*Descriptor {
	if r.IsEmpty() {
		return nil
	}
	i, j := m.find(r.Lo), len(m.shards)
	if r.Hi != nil {
		j = i + sort.Search(len(m.shards)-i, func(k int) bool { return bytes.Compare(m.shards[i+k].Lo, r.Hi) >= 0 })
	}
	return m.shards[i:j]
}

// find returns the index, in the map, of the shard that owns the position p: the last one that begins at or before
// p.
func (m *Map) find(p Position) int {
	return sort.Search(len(m.shards), func(i int) bool { return bytes.Compare(m.shards[i].Lo, p) > 0 }) - 1
}

// Partitions returns the index partitions that the map's shards use, ascending. All others may be deleted once no
// older map is in use.
func (m *Map) Partitions() []keyspace.PartitionID {
	var out []keyspace.PartitionID
	for _, d := range m.shards {
		out = append(out, d.Partitions...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Ints returns the ids as package ratelimit expects them.
func (m *Map) Ints() []int {
	out := make([]int, len(m.shards))
	for i, d := range m.shards {
		out[i] = int(d.ID)
	}
	return out
}

// Count returns the number of shards that a collection with the given RU/s needs if one carries at most perShard:
// RU/s ÷ perShard, rounded up, within 1…ShardsMax.
func Count(rus, perShard int64) int {
	if rus <= 0 || perShard <= 0 {
		return 1
	}
	return int(min((rus-1)/perShard+1, ShardsMax))
}
