package keyspace

import "github.com/cantledb/cantle/storage"

// Bounds is an interval of keystrings. Each end is the keystrings of the leading
// values, of all fields or of fewer, and applies to every entry that begins with
// them: a closed end includes all of these, an open end excludes all. An empty end
// is unbounded. The zero value is everything.
//
// An end is never made inclusive by appending a byte: what follows the values in
// an entry is a position, whose bytes are arbitrary.
type Bounds struct {
	Lo, Hi         []byte
	LoOpen, HiOpen bool
}

// Point returns the bounds of the entries that begin with exactly these values.
func Point(values []byte) Bounds { return Bounds{Lo: values, Hi: values} }

// under returns the bounds as a range of keys below prefix.
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

// PrefixRange returns the range of all keys that begin with prefix. It aliases
// prefix.
func PrefixRange(prefix []byte) storage.Range {
	return storage.Range{Start: prefix, End: PrefixEnd(append([]byte(nil), prefix...))}
}

// PrefixEnd returns the smallest key above all keys that begin with prefix,
// reusing prefix's memory; nil (unbounded) if prefix is empty or all 0xFF.
func PrefixEnd(prefix []byte) []byte {
	for i := len(prefix) - 1; i >= 0; i-- {
		if prefix[i] != 0xFF {
			prefix[i]++
			return prefix[:i+1]
		}
	}
	return nil
}
