package keyspace

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/cantledb/cantle/storage"
)

// Numbers that no index of the catalog has. What is stored under them lies beside the index entries of a collection, so
// all that deletes, measures or compacts these includes it.
const (
	// OriginIndex holds, in the copy of a collection that is resharded, the places of its documents in the old collection.
	OriginIndex IndexID = math.MaxUint32
	// insertionIndex holds the insertion order of a collection.
	insertionIndex IndexID = math.MaxUint32 - 1
)

// The two parts of a collection's insertion order, in the place of index partitions. A placed document has one key in
// each.
const (
	insertionByPlace PartitionID = 0 // id of a record ‖ number ‖ id of the placed document → length of the first id
	insertionByID    PartitionID = 1 // id of the placed document → id of a record ‖ number
)

// Place is the place of a document in the insertion order of an unsharded collection, if it is not the one that follows
// from the document's own id: behind the record with the id After, which need not exist any more, and behind all that
// are placed there with a lower number. Documents with equal places are in the order of their ids.
type Place struct {
	After  []byte
	Number uint64
}

// placeNumberLen is the length in bytes of a place's number inside a key.
const placeNumberLen = 8

// Append appends the encoded place to dst, as ByID keys have it as their value. Ids are keystrings, of which none is a
// prefix of another, so encoded places have the order of the places.
func (p Place) Append(dst []byte) []byte {
	return binary.BigEndian.AppendUint64(append(dst, p.After...), p.Number)
}

// SplitPlace decodes a place; After aliases b.
func SplitPlace(b []byte) (p Place, ok bool) {
	n := len(b) - placeNumberLen
	if n <= 0 {
		return Place{}, false
	}
	return Place{After: b[:n], Number: binary.BigEndian.Uint64(b[n:])}, true
}

// AppendPlaced appends to dst the key, in the order of places, of the document with an id that has the encoded place.
func AppendPlaced(dst []byte, c CollectionID, place, id []byte) []byte {
	dst = slices.Grow(dst, entryValuesAt+len(place)+len(id))
	return append(append(AppendEntryPrefix(dst, c, insertionIndex, insertionByPlace), place...), id...)
}

// AppendPlacedValue appends to dst the value that belongs to AppendPlaced.
func AppendPlacedValue(dst, place []byte) []byte {
	return binary.AppendUvarint(dst, uint64(len(place)-placeNumberLen))
}

// SplitPlaced splits a key and value of AppendPlaced into the encoded place and the id of the document; both alias key.
func SplitPlaced(key, value []byte) (place, id []byte, ok bool) {
	n, used := binary.Uvarint(value)
	if used <= 0 || len(key) <= entryValuesAt || n > uint64(len(key)) {
		return nil, nil, false
	}
	rest, at := key[entryValuesAt:], int(n)+placeNumberLen
	if at == placeNumberLen || len(rest) <= at {
		return nil, nil, false
	}
	return rest[:at], rest[at:], true
}

// PlacedRange returns the range of the keys of AppendPlaced of a collection.
func PlacedRange(c CollectionID) storage.Range {
	return PartitionRange(c, insertionIndex, insertionByPlace)
}

// AppendPlaceOf appends to dst the key under which the encoded place of the document with an id is stored.
func AppendPlaceOf(dst []byte, c CollectionID, id []byte) []byte {
	return append(AppendEntryPrefix(slices.Grow(dst, entryValuesAt+len(id)), c, insertionIndex, insertionByID), id...)
}

// SplitPlaceOf returns the id in a key of AppendPlaceOf; it aliases key.
func SplitPlaceOf(key []byte) (id []byte, ok bool) { return SplitUnique(key) }

// PlaceOfRange returns the range of the keys of AppendPlaceOf of a collection.
func PlaceOfRange(c CollectionID) storage.Range {
	return PartitionRange(c, insertionIndex, insertionByID)
}

// OfInsertionOrder reports whether a key belongs to the insertion order of a collection.
func OfInsertionOrder(key []byte) bool {
	_, ix, _, ok := EntryOwner(key)
	return ok && ix == insertionIndex
}

// InsertionRange returns the range of all keys of the insertion order of a collection.
func InsertionRange(c CollectionID) storage.Range { return IndexRange(c, insertionIndex) }
