package plan

import (
	"bytes"
	"slices"
	"sort"

	"github.com/cantledb/cantle/bson/keystring"
	"github.com/cantledb/cantle/collection/match"
	"github.com/cantledb/cantle/storage/keyspace"
)

// FieldBounds are the intervals that a plan reads of one index field, encoded as keystrings in the field's own
// direction: ascending, disjoint. No intervals means that nothing can match; one interval without ends means
// everything.
type FieldBounds struct {
	Intervals []keyspace.Bounds
	// values are the intervals as values, with the greater end first if the field is descending; nil if
	// there is no bound.
	values []match.Interval
}

// only returns the bounds of the i-th interval.
func (f FieldBounds) only(i int) FieldBounds {
	one := FieldBounds{Intervals: f.Intervals[i : i+1]}
	if f.values != nil {
		one.values = f.values[i : i+1]
	}
	return one
}

// text returns the i-th interval as explain prints it: "[5.0, 10.5)".
func (f FieldBounds) text(i int, d keystring.Dir) string {
	switch {
	case f.values != nil:
		return intervalText(f.values[i])
	case d == keystring.Descending:
		return "[MaxKey, MinKey]"
	}
	return "[MinKey, MaxKey]"
}

// IsFull reports whether the bounds contain every value.
func (f FieldBounds) IsFull() bool {
	return len(f.Intervals) == 1 && len(f.Intervals[0].Lo) == 0 && len(f.Intervals[0].Hi) == 0
}

// IsPoint reports whether all intervals are single values.
func (f FieldBounds) IsPoint() bool {
	for _, iv := range f.Intervals {
		if iv.LoOpen || iv.HiOpen || len(iv.Lo) == 0 || !bytes.Equal(iv.Lo, iv.Hi) {
			return false
		}
	}
	return len(f.Intervals) > 0
}

// Bounds holds the bounds of every field of an index, in the order of the fields: the part of the index that a
// plan reads.
type Bounds []FieldBounds

// Empty reports whether nothing can match.
func (b Bounds) Empty() bool {
	for _, f := range b {
		if len(f.Intervals) == 0 {
			return true
		}
	}
	return false
}

// Seeks returns the number of index ranges that the price list charges per partition: the intervals of
// all bounded fields, at least one.
func (b Bounds) Seeks() int {
	n := 0
	for _, f := range b {
		if !f.IsFull() {
			n += len(f.Intervals)
		}
	}
	return max(n, 1)
}

// rangesMax limits the number of key ranges that Ranges computes from bounds. Beyond it, the ranges are wider,
// and scans skip over the keys between the intervals instead.
const rangesMax = 4096

// Ranges returns ascending, disjoint ranges of encoded values that contain every match. If exact is set,
// they contain nothing else; otherwise each key must be checked with Contains.
//
// Ranges makes a range for each combination of the single values of leading fields. The first field with an
// interval ends the combinations; the bounds of later fields must be checked.
func (b Bounds) Ranges() (ranges []keyspace.Bounds, exact bool) {
	prefixes := [][]byte{nil}
	for i, f := range b {
		last := i == len(b)-1
		if f.IsPoint() && len(prefixes)*len(f.Intervals) <= rangesMax {
			next := make([][]byte, 0, len(prefixes)*len(f.Intervals))
			for _, p := range prefixes {
				for _, iv := range f.Intervals {
					next = append(next, append(append(make([]byte, 0, len(p)+len(iv.Lo)), p...), iv.Lo...))
				}
			}
			prefixes = next
			continue
		}
		if len(prefixes)*len(f.Intervals) > rangesMax {
			for _, p := range prefixes {
				ranges = append(ranges, keyspace.Point(p))
			}
			return ranges, false
		}
		for _, p := range prefixes {
			for _, iv := range f.Intervals {
				ranges = append(ranges, under(p, iv))
			}
		}
		return ranges, last || allFull(b[i+1:])
	}
	for _, p := range prefixes {
		ranges = append(ranges, keyspace.Point(p))
	}
	return ranges, true
}

// Spans returns key ranges like Ranges, but with one range from the first to the last interval of the first
// field that has ranges. If keys are rare, skipping from key to key takes fewer seeks than reading each
// interval. Each key must be checked with Contains.
func (b Bounds) Spans() (ranges []keyspace.Bounds) {
	for i, f := range b {
		if f.IsPoint() {
			continue
		}
		if len(f.Intervals) == 0 {
			break
		}
		spanned := slices.Clone(b)
		first, last := f.Intervals[0], f.Intervals[len(f.Intervals)-1]
		spanned[i].Intervals = []keyspace.Bounds{{Lo: first.Lo, LoOpen: first.LoOpen, Hi: last.Hi, HiOpen: last.HiOpen}}
		ranges, _ = spanned.Ranges()
		return ranges
	}
	ranges, _ = b.Ranges()
	return ranges
}

func allFull(fs []FieldBounds) bool {
	for _, f := range fs {
		if !f.IsFull() {
			return false
		}
	}
	return true
}

// under prepends a prefix of points to an interval.
func under(prefix []byte, iv keyspace.Bounds) keyspace.Bounds {
	if len(prefix) == 0 {
		return iv
	}
	r := keyspace.Bounds{Lo: prefix, Hi: prefix}
	if len(iv.Lo) > 0 {
		r.Lo, r.LoOpen = append(bytes.Clone(prefix), iv.Lo...), iv.LoOpen
	}
	if len(iv.Hi) > 0 {
		r.Hi, r.HiOpen = append(bytes.Clone(prefix), iv.Hi...), iv.HiOpen
	}
	return r
}

// Contains reports whether the encoded values of a key lie within the bounds of all fields. If not, seek
// is the encoded prefix to continue at: no key before seek can match. If seek is nil, no key after this
// one can match.
//
// For a backward scan (reverse), seek is the encoding at or before which to continue: no key after seek
// can match. If seek is nil, no key before this one can match.
//
// dirs are the directions of the index's fields.
// Errors: keystring.ErrCorrupt.
func (b Bounds) Contains(values []byte, dirs []keystring.Dir, reverse bool) (ok bool, seek []byte, err error) {
	at := 0
	for i, f := range b {
		n, err := keystring.Skip(values[at:], dirs[i])
		if err != nil {
			return false, nil, err
		}
		inside, next, before := f.find(values[at : at+n])
		if !inside && reverse {
			switch {
			case before != nil && before.HiOpen:
				return false, append(bytes.Clone(values[:at]), before.Hi...), nil
			case before != nil:
				return false, keyspace.PrefixEnd(append(bytes.Clone(values[:at]), before.Hi...)), nil
			case at > 0: // continue at the last key with a smaller value in the previous field
				return false, bytes.Clone(values[:at]), nil
			}
			return false, nil, nil
		}
		if !inside {
			if next == nil { // past the last interval: continue at the next value of the previous field
				return false, keyspace.PrefixEnd(bytes.Clone(values[:at])), nil
			}
			return false, append(bytes.Clone(values[:at]), next...), nil
		}
		at += n
	}
	return true, nil, nil
}

// find looks up a field's encoding in the intervals. If no interval contains it, next is the smallest
// encoding in the first interval after it, and before is the last interval before it; nil if there is no
// such interval.
func (f FieldBounds) find(field []byte) (inside bool, next []byte, before *keyspace.Bounds) {
	i := sort.Search(len(f.Intervals), func(i int) bool { return !endsBefore(f.Intervals[i], field) })
	if i > 0 {
		before = &f.Intervals[i-1]
	}
	if i == len(f.Intervals) {
		return false, nil, before
	}
	iv := &f.Intervals[i]
	if bytes.HasPrefix(field, iv.Lo) {
		if iv.LoOpen && len(iv.Lo) > 0 {
			return false, keyspace.PrefixEnd(bytes.Clone(iv.Lo)), before
		}
		return true, nil, nil
	}
	if bytes.Compare(iv.Lo, field) < 0 {
		return true, nil, nil
	}
	return false, iv.Lo, before
}

// endsBefore reports whether an interval lies wholly below the encoded value field. An upper end that is not open
// covers every encoding that begins with it.
func endsBefore(iv keyspace.Bounds, field []byte) bool {
	switch {
	case len(iv.Hi) == 0:
		return false
	case bytes.HasPrefix(field, iv.Hi):
		return iv.HiOpen
	}
	return bytes.Compare(iv.Hi, field) < 0
}
