package shard

import (
	"bytes"
	"errors"
	"fmt"
	"math"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/storage/keyspace"
)

// ErrCorrupt is the error for a stored shard map that cannot be read or fails Map.Check.
var ErrCorrupt = errors.New("shard: corrupt map")

// mapFormat is the version of the stored form.
const mapFormat = 1

// Append appends the map's elements to a catalog entry, from which Decode reads them:
//
//	format: 1, kind: "hashed", epoch: long, minor: long, nextID: long, nextPartition: long,
//	shards: [{id: long, lo: binData, partitions: [long], since: long, parents: [long]}]
//
// A shard ends where the next one begins, so only the beginnings are stored.
func (m *Map) Append(b *bson.Builder) {
	b.Int32("format", mapFormat)
	b.String("kind", m.kind.String())
	b.Int64("epoch", int64(m.version.Epoch))
	b.Int64("minor", int64(m.version.Minor))
	b.Int64("nextID", int64(m.nextID))
	b.Int64("nextPartition", int64(m.nextPartition))
	b.BeginArray("shards")
	for _, d := range m.shards {
		b.BeginDoc("")
		b.Int64("id", int64(d.ID))
		b.Binary("lo", 0, d.Lo)
		b.BeginArray("partitions")
		for _, p := range d.Partitions {
			b.Int64("", int64(p))
		}
		b.End()
		b.Int64("since", int64(d.Since))
		b.BeginArray("parents")
		for _, p := range d.Parents {
			b.Int64("", int64(p))
		}
		b.End()
		b.End()
	}
	b.End()
}

// Encode returns the map as a document of its own.
func (m *Map) Encode() bson.Raw {
	b := bson.NewBuilder(nil)
	m.Append(b)
	return b.Doc()
}

// Decode returns the map that Append wrote into a document, after checking it by Map.Check. It copies the bytes that
// it keeps, and ignores other fields of the document.
// Errors: ErrCorrupt.
func Decode(doc bson.Raw) (*Map, error) {
	r := reader{}
	m := &Map{
		kind:          r.kind(doc.Get("kind")),
		version:       Version{uint64(r.long(doc.Get("epoch"))), r.count(doc.Get("minor"))},
		nextID:        ID(r.number(doc.Get("nextID"))),
		nextPartition: keyspace.PartitionID(r.number(doc.Get("nextPartition"))),
	}
	if r.number(doc.Get("format")) != mapFormat {
		r.bad = "format"
	}
	shards, ok := doc.Get("shards").Array()
	if !ok {
		return nil, fmt.Errorf("%w: no shards", ErrCorrupt)
	}
	for v := range shards.Values() {
		s, ok := v.Doc()
		if !ok || len(m.shards) >= ShardsMax {
			return nil, fmt.Errorf("%w: shards", ErrCorrupt)
		}
		d := &Descriptor{ID: ID(r.number(s.Get("id"))), Since: r.count(s.Get("since"))}
		_, lo, ok := s.Get("lo").Binary()
		if !ok {
			r.bad = "lo"
		}
		if len(lo) > 0 {
			d.Lo = bytes.Clone(lo)
		}
		for _, p := range r.numbers(s.Get("partitions")) {
			d.Partitions = append(d.Partitions, keyspace.PartitionID(p))
		}
		for _, p := range r.numbers(s.Get("parents")) {
			d.Parents = append(d.Parents, ID(p))
		}
		if n := len(m.shards); n > 0 {
			m.shards[n-1].Hi = d.Lo
		}
		m.shards = append(m.shards, d)
	}
	if r.bad != "" {
		return nil, fmt.Errorf("%w: field %s", ErrCorrupt, r.bad)
	}
	if err := m.Check(); err != nil {
		return nil, fmt.Errorf("%w: %v", ErrCorrupt, err)
	}
	return m.index(), nil
}

// reader reads fields and remembers whether one was bad.
type reader struct{ bad string }

func (r *reader) long(v bson.Value) int64 {
	n, ok := v.Int64()
	if !ok {
		r.bad = "not an integer"
	}
	return n
}

// count reads an integer that is at least 1.
func (r *reader) count(v bson.Value) uint64 {
	n := r.long(v)
	if n < 1 {
		r.bad = "count out of range"
	}
	return uint64(n)
}

// number reads an integer that fits 32 bits unsigned.
func (r *reader) number(v bson.Value) uint32 {
	n := r.long(v)
	if n < 0 || n > math.MaxUint32 {
		r.bad = "integer out of range"
		return 0
	}
	return uint32(n)
}

func (r *reader) numbers(v bson.Value) []uint32 {
	a, ok := v.Array()
	if !ok {
		r.bad = "not an array"
		return nil
	}
	var out []uint32
	for v := range a.Values() {
		out = append(out, r.number(v))
	}
	return out
}

func (r *reader) kind(v bson.Value) Kind {
	s, _ := v.Text()
	for k := Unsharded; k <= Ranged; k++ {
		if string(s) == k.String() {
			return k
		}
	}
	r.bad = "kind"
	return Unsharded
}
