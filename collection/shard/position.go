package shard

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/hex"

	"github.com/cantledb/cantle/storage/keyspace"
)

// Position is the place of a document on its collection's line: opaque bytes, ordered by bytes.Compare. In record
// keys it follows the collection number: eight bytes of hash and, under a ranged shard key, the keystrings of the
// values. Immutable by convention.
type Position []byte

// HashPosition returns the position of a hash.
func HashPosition(h keyspace.Hash) Position { return h.Append(nil) }

// String prints the position in hexadecimal.
func (p Position) String() string { return hex.EncodeToString(p) }

// hash returns the hash with which a position begins, its first eight bytes; shorter positions are padded with
// zeros.
func (p Position) hash() keyspace.Hash {
	var b [8]byte
	copy(b[:], p)
	return keyspace.Hash(binary.BigEndian.Uint64(b[:]))
}

// Range is an interval of positions, from Lo to before Hi. A nil Lo is the beginning of the line, a nil Hi its end;
// the zero Range is the whole line.
type Range struct{ Lo, Hi Position }

// HashRange returns the range of positions from the first to the last hash, both included.
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

// Owns reports whether the position of a record is in the range. h is the hash in its key, and id the bytes after
// it, which begin with the rest of the position.
func (r Range) Owns(h keyspace.Hash, id []byte) bool {
	return (r.Lo == nil || after(r.Lo, h, id) >= 0) && (r.Hi == nil || after(r.Hi, h, id) < 0)
}

// IsAll reports whether the range contains all positions: it belongs to the only shard of a collection.
func (r Range) IsAll() bool {
	return r.Hi == nil && len(r.Lo) <= hashLen && len(bytes.Trim(r.Lo, "\x00")) == 0
}

// after compares the position of a record with p.
func after(p Position, h keyspace.Hash, id []byte) int {
	if c := cmp.Compare(h, p.hash()); c != 0 || len(p) <= hashLen {
		return c
	}
	return bytes.Compare(id, p[hashLen:])
}

// Hashes returns the first and the last hash in a range of eight-byte positions, which must not be empty.
func (r Range) Hashes() (first, last keyspace.Hash) {
	if r.Hi == nil {
		return r.Lo.hash(), keyspace.HashMax
	}
	return r.Lo.hash(), r.Hi.hash() - 1
}

// Contains reports whether p is in the range.
func (r Range) Contains(p Position) bool {
	return bytes.Compare(p, r.Lo) >= 0 && (r.Hi == nil || bytes.Compare(p, r.Hi) < 0)
}

// Overlaps reports whether the ranges r and o have a position in common; neither may be empty.
func (r Range) Overlaps(o Range) bool {
	return (r.Hi == nil || bytes.Compare(o.Lo, r.Hi) < 0) && (o.Hi == nil || bytes.Compare(r.Lo, o.Hi) < 0)
}

// Intersect returns the positions that overlapping ranges have in common.
func (r Range) Intersect(o Range) Range {
	if bytes.Compare(r.Lo, o.Lo) < 0 {
		r.Lo = o.Lo
	}
	if r.Hi == nil || o.Hi != nil && bytes.Compare(o.Hi, r.Hi) < 0 {
		r.Hi = o.Hi
	}
	return r
}

// IsEmpty reports whether the range contains no position.
func (r Range) IsEmpty() bool { return r.Hi != nil && bytes.Compare(r.Lo, r.Hi) >= 0 }
