package keyspace

import (
	"encoding/binary"
	"slices"

	"github.com/cantledb/cantle/storage"
)

// recordIDAt is the offset of the keystring of _id in a record key.
const recordIDAt = 1 + 8 + hashLen

// AppendRecord appends the key of a document; id is the keystring of its _id,
// after those of a ranged shard key.
func AppendRecord(dst []byte, c CollectionID, h Hash, id []byte) []byte {
	dst = slices.Grow(dst, recordIDAt+len(id))
	return append(h.Append(appendRecords(dst, c)), id...)
}

// appendRecords appends the prefix of all documents of a collection.
func appendRecords(dst []byte, c CollectionID) []byte {
	return binary.BigEndian.AppendUint64(append(dst, familyRecord), uint64(c))
}

// SplitRecord splits a record key; id aliases key.
func SplitRecord(key []byte) (c CollectionID, h Hash, id []byte, ok bool) {
	if len(key) <= recordIDAt || key[0] != familyRecord {
		return 0, 0, nil, false
	}
	return CollectionID(binary.BigEndian.Uint64(key[1:])), Hash(binary.BigEndian.Uint64(key[9:])), key[recordIDAt:], true
}

// CollectionOf returns the collection of a document's or an index entry's key.
func CollectionOf(key []byte) (CollectionID, bool) {
	if len(key) < 1+8 || key[0] != familyRecord && key[0] != familyIndex {
		return 0, false
	}
	return CollectionID(binary.BigEndian.Uint64(key[1:])), true
}

// RecordRange returns the range of all documents of a collection.
func RecordRange(c CollectionID) storage.Range { return PrefixRange(appendRecords(nil, c)) }

// AllRecords returns the range of the documents of all collections.
func AllRecords() storage.Range { return PrefixRange([]byte{familyRecord}) }

// RecordSpan returns the range of the documents from position lo to position hi,
// which is excluded. An empty lo is the beginning of the collection, an empty hi
// its end.
func RecordSpan(c CollectionID, lo, hi []byte) storage.Range {
	r := RecordRange(c)
	r.Start = append(r.Start, lo...)
	if len(hi) > 0 {
		r.End = append(appendRecords(nil, c), hi...)
	}
	return r
}

// RecordHashRange returns the range of the documents of a collection with lo <=
// hash <= hi. HashMin and HashMax give all documents.
func RecordHashRange(c CollectionID, lo, hi Hash) storage.Range {
	return storage.Range{
		Start: lo.Append(appendRecords(nil, c)),
		End:   PrefixEnd(hi.Append(appendRecords(nil, c))),
	}
}

// RecordIDRange returns the range of the documents at one hash whose id lies within
// b. On an unsharded collection (hash HashMin) it is the _id index.
func RecordIDRange(c CollectionID, h Hash, b Bounds) storage.Range {
	return b.under(h.Append(appendRecords(nil, c)))
}
