package keyspace

import "github.com/cantledb/cantle/storage"

// Bounds is an interval of index entries, by their keystrings. Each end is the keystrings of the values of all
// indexed fields, or of the first few, and applies to every entry that begins with these: a closed end includes
// all such entries, an open end excludes them. An empty end is unbounded. The zero value includes everything.
//
// A closed end is not made by appending a byte to the values, because the bytes of an entry after its values, a
// position, are arbitrary.
type Bounds struct {
	Lo, Hi         []byte
	LoOpen, HiOpen bool
}

// Point returns the bounds of the index entries that begin with exactly these values.
func Point(values []byte) Bounds { return Bounds{Lo: values, Hi: values} }

// under returns the range of the keys that begin with prefix and whose rest lies within the bounds; an empty end of the
// bounds is that of the prefix. prefix stands for one partition of an index, or for the documents of a collection with
// one hash.
func (b Bounds) under(prefix []byte) storage.Range {
	n := len(prefix)
	start := append(append(make([]byte, 0, n+len(b.Lo)), prefix...), b.Lo...)
	if len(b.Lo) > 0 && b.LoOpen {
		start = PrefixEnd(start)
	}
	end := append(append(make([]byte, 0, n+len(b.Hi)), prefix...), b.Hi...)
	if len(b.Hi) == 0 || !b.HiOpen {
		end = PrefixEnd(end)
	}
	return storage.Range{Start: start, End: end}
}

// PrefixRange returns the range of all keys that begin with prefix. The result aliases prefix.
func PrefixRange(prefix []byte) storage.Range {
	return storage.Range{Start: prefix, End: PrefixEnd(append([]byte(nil), prefix...))}
}

// PrefixEnd returns the smallest key greater than all keys that begin with prefix, in the memory of prefix. If
// prefix is empty or all 0xFF, it returns nil (unbounded).
func PrefixEnd(prefix []byte) []byte {
	for i := len(prefix) - 1; i >= 0; i-- {
		if prefix[i] != 0xFF {
			prefix[i]++
			return prefix[:i+1]
		}
	}
	return nil
}
