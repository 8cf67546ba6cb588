package keyspace

import (
	"encoding/binary"

	"github.com/cantledb/cantle/storage"
)

// entryValuesAt is the offset in bytes at which the indexed values begin in the key of an index entry.
const entryValuesAt = 1 + 8 + 4 + 4

// AppendEntryPrefix appends to dst the common prefix of the keys of all entries in a partition of an index. A
// caller that builds many keys keeps the prefix and appends to a copy.
func AppendEntryPrefix(dst []byte, c CollectionID, ix IndexID, p PartitionID) []byte {
	return binary.BigEndian.AppendUint32(appendIndex(dst, c, ix), uint32(p))
}

// appendIndex appends to dst the common prefix of the keys of all entries of an index.
func appendIndex(dst []byte, c CollectionID, ix IndexID) []byte {
	return binary.BigEndian.AppendUint32(appendIndexes(dst, c), uint32(ix))
}

// appendIndexes appends to dst the common prefix of the keys of all index entries of a collection.
func appendIndexes(dst []byte, c CollectionID) []byte {
	return binary.BigEndian.AppendUint64(append(dst, familyIndex), uint64(c))
}

// AppendEntry appends to dst the key of an entry in a non-unique index: values is the keystrings of the indexed
// values in order, h and id are those of the document's record key. AppendEntryValue makes the stored value.
func AppendEntry(dst []byte, c CollectionID, ix IndexID, p PartitionID, values []byte, h Hash, id []byte) []byte {
	return append(h.Append(AppendUnique(dst, c, ix, p, values)), id...)
}

// AppendUnique appends to dst the key of an entry in a unique index. It holds only the values, not the document:
// so two writers of one value conflict. AppendUniqueValue makes the stored value.
func AppendUnique(dst []byte, c CollectionID, ix IndexID, p PartitionID, values []byte) []byte {
	return append(AppendEntryPrefix(dst, c, ix, p), values...)
}

// AppendEntryValue appends to dst the stored value of a non-unique entry: the type bits, from which the types of
// the values are restored, or one zero byte if there are none, because a stored value is never empty.
func AppendEntryValue(dst, typeBits []byte) []byte {
	if len(typeBits) == 0 {
		return append(dst, 0)
	}
	return append(dst, typeBits...)
}

// AppendUniqueValue appends to dst the stored value of a unique entry: the hash and id of its document, and the
// type bits.
func AppendUniqueValue(dst []byte, h Hash, id, typeBits []byte) []byte {
	return append(append(h.Append(dst), id...), typeBits...)
}

// Skipper is a function that returns the length in bytes of the keystring of one value at the start of b, or a
// negative number if there is none.
type Skipper func(b []byte) int

// SplitEntry splits the key of a non-unique index entry with so many fields into the keystrings of the values, and
// the hash and id of the document. values and id alias key.
func SplitEntry(key []byte, fields int, skip Skipper) (values []byte, h Hash, id []byte, ok bool) {
	if len(key) < entryValuesAt || key[0] != familyIndex {
		return nil, 0, nil, false
	}
	rest := key[entryValuesAt:]
	n := skipMany(rest, fields, skip)
	if n < 0 || len(rest) <= n+hashLen {
		return nil, 0, nil, false
	}
	return rest[:n], Hash(binary.BigEndian.Uint64(rest[n:])), rest[n+hashLen:], true
}

// SplitEntryAt returns the hash and id in the key of a non-unique index entry whose values have the length
// valuesLen. It is for a caller that has the length already, for instance because it reads entries of one value
// only.
func SplitEntryAt(key []byte, valuesLen int) (h Hash, id []byte, ok bool) {
	n := entryValuesAt + valuesLen
	if len(key) <= n+hashLen || key[0] != familyIndex {
		return 0, nil, false
	}
	return Hash(binary.BigEndian.Uint64(key[n:])), key[n+hashLen:], true
}

// SplitUnique returns the keystrings of the values in the key of a unique index entry; they alias key.
func SplitUnique(key []byte) (values []byte, ok bool) {
	if len(key) <= entryValuesAt || key[0] != familyIndex {
		return nil, false
	}
	return key[entryValuesAt:], true
}

// SplitUniqueValue splits the stored value of a unique index entry into the hash and id of its document and the
// type bits. The id consists of parts keystrings; id and typeBits alias value.
func SplitUniqueValue(value []byte, parts int, skip Skipper) (h Hash, id, typeBits []byte, ok bool) {
	if len(value) <= hashLen {
		return 0, nil, nil, false
	}
	rest := value[hashLen:]
	n := skipMany(rest, parts, skip)
	if n <= 0 {
		return 0, nil, nil, false
	}
	return Hash(binary.BigEndian.Uint64(value)), rest[:n], rest[n:], true
}

// EntryTypeBits returns the type bits in the stored value of a non-unique index entry, nil for one zero byte,
// which type bits never are.
func EntryTypeBits(value []byte) []byte {
	if len(value) == 1 && value[0] == 0 {
		return nil
	}
	return value
}

// EntryOwner returns the collection, index and partition in the key of an index entry, unique or not.
func EntryOwner(key []byte) (c CollectionID, ix IndexID, p PartitionID, ok bool) {
	if len(key) < entryValuesAt || key[0] != familyIndex {
		return 0, 0, 0, false
	}
	return CollectionID(binary.BigEndian.Uint64(key[1:])), IndexID(binary.BigEndian.Uint32(key[9:])),
		PartitionID(binary.BigEndian.Uint32(key[13:])), true
}

// skipMany returns the length in bytes of n keystrings at the start of b, or -1 if there are fewer.
func skipMany(b []byte, n int, skip Skipper) int {
	at := 0
	for ; n > 0; n-- {
		if at >= len(b) {
			return -1
		}
		k := skip(b[at:])
		if k <= 0 || k > len(b)-at {
			return -1
		}
		at += k
	}
	return at
}

// AllIndexes returns the range of the keys of all index entries of all collections.
func AllIndexes() storage.Range { return PrefixRange([]byte{familyIndex}) }

// CollectionIndexRange returns the range of the keys of all index entries of a collection.
func CollectionIndexRange(c CollectionID) storage.Range { return PrefixRange(appendIndexes(nil, c)) }

// IndexRange returns the range of the keys of all entries of an index, in all its partitions.
func IndexRange(c CollectionID, ix IndexID) storage.Range {
	return PrefixRange(appendIndex(nil, c, ix))
}

// PartitionRange returns the range of the keys of all entries in a partition of an index.
func PartitionRange(c CollectionID, ix IndexID, p PartitionID) storage.Range {
	return PrefixRange(AppendEntryPrefix(nil, c, ix, p))
}

// EntryRange returns the range of the keys of the entries in a partition of an index, unique or not, whose values
// lie within b.
func EntryRange(c CollectionID, ix IndexID, p PartitionID, b Bounds) storage.Range {
	return b.under(AppendEntryPrefix(nil, c, ix, p))
}
