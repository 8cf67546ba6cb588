package keyspace

import (
	"encoding/binary"
	"fmt"
	"math"
)

// CollectionID identifies a collection; it is never reused.
type CollectionID uint64

// IndexID identifies an index within its collection; it is never reused within it.
type IndexID uint32

// PartitionID identifies one generation of index entries of one shard within its
// collection; it is never reused within it.
type PartitionID uint32

// Hash is the first eight bytes of a position: all of one under a hashed shard
// key, zero under a ranged one. Opaque, ordered by value.
type Hash uint64

// The ends of the line of hashed positions. Unsharded collections put every
// document at HashMin, and so do those with a ranged shard key.
const (
	HashMin Hash = 0
	HashMax Hash = math.MaxUint64
)

// hashLen is the length of a hash in a key.
const hashLen = 8

// Append appends the hash as it stands in keys: eight bytes, big-endian.
func (h Hash) Append(dst []byte) []byte { return binary.BigEndian.AppendUint64(dst, uint64(h)) }

// String prints the hash as 16 hexadecimal digits.
func (h Hash) String() string { return fmt.Sprintf("%016x", uint64(h)) }
