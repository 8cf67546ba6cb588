package shard

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/hex"

	"github.com/cantledb/cantle/storage/keyspace"
)

// Position is a place on a collection's line: opaque bytes, ordered by bytes.Compare, that record keys begin with after
// the collection: eight bytes of hash and, under a ranged key, the keystrings of the values. Immutable by convention.
type Position []byte

// HashPosition is the position of a hash.
func HashPosition(h keyspace.Hash) Position { return h.Append(nil) }

// String prints the position in hexadecimal.
func (p Position) String() string { return hex.EncodeToString(p) }

// hash reads a position of eight bytes; shorter ones count as if filled up with zeros.
func (p Position) hash() keyspace.Hash {
	var b [8]byte
	copy(b[:], p)
	return keyspace.Hash(binary.BigEndian.Uint64(b[:]))
}

// Range is an interval of positions, [Lo, Hi). A nil Lo is the beginning of the line, a nil Hi its end; the zero Range is
// the whole line.
type Range struct{ Lo, Hi Position }

// HashRange is the range from the first to the last hash, both included.
func HashRange(first, last keyspace.Hash) Range {
	r := Range{}
	if first != keyspace.HashMin {
		r.Lo = HashPosition(first)
	}
	if last != keyspace.HashMax {
		r.Hi = HashPosition(last + 1)
	}
	return r
}

// Owns reports that the record with a hash and an id lies in the range. An id begins with the rest of a position.
func (r Range) Owns(h keyspace.Hash, id []byte) bool {
	return (r.Lo == nil || after(r.Lo, h, id) >= 0) && (r.Hi == nil || after(r.Hi, h, id) < 0)
}

// after compares the place of a record with a position.
func after(p Position, h keyspace.Hash, id []byte) int {
	if c := cmp.Compare(h, p.hash()); c != 0 || len(p) <= hashLen {
		return c
	}
	return bytes.Compare(id, p[hashLen:])
}

// Hashes are the first and last hash of a range of eight-byte positions, which is not empty.
func (r Range) Hashes() (first, last keyspace.Hash) {
	if r.Hi == nil {
		return r.Lo.hash(), keyspace.HashMax
	}
	return r.Lo.hash(), r.Hi.hash() - 1
}

// Contains reports that p lies in the range.
func (r Range) Contains(p Position) bool {
	return bytes.Compare(p, r.Lo) >= 0 && (r.Hi == nil || bytes.Compare(p, r.Hi) < 0)
}

// Overlaps reports that the ranges have a position in common; neither may be empty.
func (r Range) Overlaps(o Range) bool {
	return (r.Hi == nil || bytes.Compare(o.Lo, r.Hi) < 0) && (o.Hi == nil || bytes.Compare(r.Lo, o.Hi) < 0)
}

// Intersect is the positions that the ranges have in common, which there are.
func (r Range) Intersect(o Range) Range {
	if bytes.Compare(r.Lo, o.Lo) < 0 {
		r.Lo = o.Lo
	}
	if r.Hi == nil || o.Hi != nil && bytes.Compare(o.Hi, r.Hi) < 0 {
		r.Hi = o.Hi
	}
	return r
}

// IsEmpty reports that no position lies in the range.
func (r Range) IsEmpty() bool { return r.Hi != nil && bytes.Compare(r.Lo, r.Hi) >= 0 }
