package keyspace

import (
	"encoding/binary"
	"slices"

	"github.com/cantledb/cantle/storage"
)

// recordIDAt is the offset in bytes at which the id begins in the key of a document.
const recordIDAt = 1 + 8 + hashLen

// AppendRecord appends to dst the key of a document with a hash and an id: the keystring of its _id, under a
// ranged shard key after the keystrings of the shard key's values.
func AppendRecord(dst []byte, c CollectionID, h Hash, id []byte) []byte {
	dst = slices.Grow(dst, recordIDAt+len(id))
	return append(h.Append(appendRecords(dst, c)), id...)
}

// appendRecords appends to dst the common prefix of the keys of all documents of a collection.
func appendRecords(dst []byte, c CollectionID) []byte {
	return binary.BigEndian.AppendUint64(append(dst, familyRecord), uint64(c))
}

// SplitRecord splits the key of a document into its collection, hash and id; id aliases key.
func SplitRecord(key []byte) (c CollectionID, h Hash, id []byte, ok bool) {
	if len(key) <= recordIDAt || key[0] != familyRecord {
		return 0, 0, nil, false
	}
	return CollectionID(binary.BigEndian.Uint64(key[1:])), Hash(binary.BigEndian.Uint64(key[9:])), key[recordIDAt:], true
}

// CollectionOf returns the collection in the key of a document or of an index entry.
func CollectionOf(key []byte) (CollectionID, bool) {
	if len(key) < 1+8 || key[0] != familyRecord && key[0] != familyIndex {
		return 0, false
	}
	return CollectionID(binary.BigEndian.Uint64(key[1:])), true
}

// RecordRange returns the range of the keys of all documents of a collection.
func RecordRange(c CollectionID) storage.Range { return PrefixRange(appendRecords(nil, c)) }

// AllRecords returns the range of the keys of the documents of all collections.
func AllRecords() storage.Range { return PrefixRange([]byte{familyRecord}) }

// RecordSpan returns the range of the keys of a collection's documents from position lo, included, to position hi,
// excluded: the documents of a shard. An empty lo is the beginning of the collection, an empty hi its end.
func RecordSpan(c CollectionID, lo, hi []byte) storage.Range {
	r := RecordRange(c)
	r.Start = append(r.Start, lo...)
	if len(hi) > 0 {
		r.End = append(appendRecords(nil, c), hi...)
	}
	return r
}

// RecordHashRange returns the range of the keys of a collection's documents with lo <= hash <= hi. HashMin and
// HashMax include all documents.
func RecordHashRange(c CollectionID, lo, hi Hash) storage.Range {
	return storage.Range{
		Start: lo.Append(appendRecords(nil, c)),
		End:   PrefixEnd(hi.Append(appendRecords(nil, c))),
	}
}

// RecordIDRange returns the range of the keys of a collection's documents with one hash whose ids lie within b. In
// an unsharded collection, where every hash is HashMin, it serves as the _id index.
func RecordIDRange(c CollectionID, h Hash, b Bounds) storage.Range {
	return b.under(h.Append(appendRecords(nil, c)))
}
