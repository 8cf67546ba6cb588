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

// PartitionID identifies an index partition: one generation of index entries of one shard. It is never reused
// within its collection.
type PartitionID uint32

// Hash is the first eight bytes of a document's position: the whole position under a hashed shard key, zero under
// a ranged one and without a shard key. Only its order matters.
type Hash uint64

// The lowest and highest hash. All documents of unsharded collections, and of those with a ranged shard key, have
// HashMin.
const (
	HashMin Hash = 0
	HashMax Hash = math.MaxUint64
)

// hashLen is the length in bytes of a hash inside a key.
const hashLen = 8

// Append appends the hash to dst in the form that keys have: eight bytes, big-endian.
func (h Hash) Append(dst []byte) []byte { return binary.BigEndian.AppendUint64(dst, uint64(h)) }

// String prints the hash as 16 hexadecimal digits.
func (h Hash) String() string { return fmt.Sprintf("%016x", uint64(h)) }
