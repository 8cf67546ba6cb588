package plan

import (
	"bytes"
	"slices"

	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/match"
	"github.com/cantledb/cantle/storage/keyspace"
)

// Predicates give their intervals in the order of bytes, also if they compare text by a collation. In an index with a
// collation, the keys of text are in another order: "B" comes before "a" by bytes and after it in English. So two
// intervals that are bounded by text cannot be intersected as values, and several intervals of one predicate can
// overlap, or be in another order, once they are encoded.

// withOneText returns the conjuncts of used, which bound field i of an index with a collation, without all but one
// of those whose intervals are bounded by text.
func withOneText(ix *catalog.Index, i int, cs []conjunct, used []int) []int {
	best := -1
	isText := func(k int) bool {
		ivs, _ := cs[k].of(ix, i)
		return match.EndWithText(ivs)
	}
	for _, k := range used {
		if isText(k) && (best < 0 || preferable(cs[k], cs[best])) {
			best = k
		}
	}
	return slices.DeleteFunc(used, func(k int) bool { return k != best && isText(k) })
}

// sortCollated brings the encoded intervals of a field into ascending order. Intervals that overlap are merged, and
// those without keys are dropped.
func (f *FieldBounds) sortCollated() {
	perm := make([]int, len(f.Intervals))
	for i := range perm {
		perm[i] = i
	}
	slices.SortStableFunc(perm, func(i, j int) int { return bytes.Compare(f.Intervals[i].Lo, f.Intervals[j].Lo) })
	out := FieldBounds{Intervals: make([]keyspace.Bounds, 0, len(perm))}
	for _, i := range perm {
		iv, values := f.Intervals[i], f.values[i]
		if hasNoKeys(iv) {
			continue
		}
		last := len(out.Intervals) - 1
		if last < 0 || !overlap(out.Intervals[last], iv) {
			out.Intervals, out.values = append(out.Intervals, iv), append(out.values, values)
			continue
		}
		to, toValues := &out.Intervals[last], &out.values[last]
		if bytes.Equal(to.Lo, iv.Lo) && to.LoOpen && !iv.LoOpen {
			to.LoOpen, toValues.LoInclusive = false, true
		}
		switch c := compareEnds(to.Hi, iv.Hi); {
		case c < 0:
			to.Hi, to.HiOpen = iv.Hi, iv.HiOpen
			toValues.Hi, toValues.HiInclusive = values.Hi, values.HiInclusive
		case c == 0 && !iv.HiOpen:
			to.HiOpen, toValues.HiInclusive = false, true
		}
	}
	*f = out
}

// hasNoKeys reports whether the lower end of an interval is above its upper end, or equal to it and left out.
func hasNoKeys(iv keyspace.Bounds) bool {
	if len(iv.Hi) == 0 {
		return false
	}
	c := bytes.Compare(iv.Lo, iv.Hi)
	return c > 0 || c == 0 && (iv.LoOpen || iv.HiOpen)
}

// overlap reports whether two intervals, of which b.Lo is not below a.Lo, have a common key. If they begin at the same
// key it is always true, even if a leaves that key out and b has only that one.
func overlap(a, b keyspace.Bounds) bool {
	if len(a.Hi) == 0 {
		return true
	}
	c := bytes.Compare(b.Lo, a.Hi)
	return c < 0 || c == 0 && !b.LoOpen && !a.HiOpen
}

// compareEnds compares upper ends of intervals; none is above all.
func compareEnds(a, b []byte) int {
	switch {
	case len(a) == 0 && len(b) == 0:
		return 0
	case len(a) == 0:
		return 1
	case len(b) == 0:
		return -1
	}
	return bytes.Compare(a, b)
}
