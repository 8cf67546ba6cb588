package plan

import (
	"bytes"
	"slices"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/keystring"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/match"
	"github.com/cantledb/cantle/storage/keyspace"
)

// conjunct is one predicate that every match satisfies.
type conjunct struct {
	node      match.Node
	path      string // "" when it is not about one path
	intervals []match.Interval
	exact     bool
	useful    bool // it bounds anything
}

// conjuncts splits a normalised filter at its top-level $and.
func conjuncts(n match.Node) []conjunct {
	var out []conjunct
	parts := []match.Node{n}
	if and, ok := n.(*match.And); ok {
		parts = and.Children()
	}
	for _, p := range parts {
		c := conjunct{node: p}
		if pathed, ok := p.(match.Pathed); ok {
			c.path = pathed.Path().String()
			c.exact = pathed.Bounds(func(iv match.Interval) { c.intervals = append(c.intervals, iv) })
			c.useful = len(c.intervals) != 1 || !c.intervals[0].IsAll()
		}
		out = append(out, c)
	}
	return out
}

// access is one way to reach every match: an index with bounds.
type access struct {
	index  *catalog.Index
	bounds Bounds
	used   []bool // by conjunct: its bounds are exact, so it needs no second look
	// points counts leading fields bounded to single values, ranged says that
	// the field after them is bounded too.
	points  int
	bounded int
}

// indexAccess tries an index on the conjuncts. ok is false when the index
// cannot answer the query at all; bounded is 0 when it can but does not help.
func (q *Query) indexAccess(ix *catalog.Index, cs []conjunct) (a access, ok bool) {
	fields, dirs := ix.Fields(), ix.Dirs()
	a = access{index: ix, bounds: make(Bounds, len(fields)), used: make([]bool, len(cs))}
	for i := range a.bounds {
		a.bounds[i] = FullField()
		a.bounds[i].Text = []string{"[MinKey, MaxKey]"}
	}
	if !q.coversPartial(ix, cs) {
		return a, false
	}
	stillPoints := true
	nonNull := false // some bounded field excludes missing values
	for i, f := range fields {
		if i > 0 && ix.Multikey.SharesPrefix(i, boundedFields(a.bounds[:i])) {
			continue
		}
		ivs, usedHere := q.fieldIntervals(ix, i, f, cs)
		if ivs == nil {
			stillPoints = false
			continue
		}
		fb, ok := encodeField(ivs, dirs[i], ix.Collation.Order())
		if !ok {
			stillPoints = false
			continue
		}
		for _, u := range usedHere {
			a.used[u] = cs[u].exact
		}
		a.bounds[i] = fb
		a.bounded++
		nonNull = nonNull || !holdsNull(ivs)
		if stillPoints && fb.IsPoint() {
			a.points++
		} else {
			stillPoints = false
		}
	}
	if ix.Sparse && !nonNull {
		return a, false
	}
	if a.bounds[0].IsFull() {
		a.bounded = 0
		// Without a bound on the first field the others only filter keys.
		for i := range a.used {
			a.used[i] = false
		}
		for i := range a.bounds {
			a.bounds[i] = FullField()
			a.bounds[i].Text = []string{"[MinKey, MaxKey]"}
		}
	}
	return a, true
}

func boundedFields(b Bounds) []int {
	var out []int
	for i, f := range b {
		if !f.IsFull() {
			out = append(out, i)
		}
	}
	return out
}

// fieldIntervals intersects what the conjuncts say about an index field. On a
// multikey field two predicates may be satisfied by two elements, so only one
// of them bounds.
func (q *Query) fieldIntervals(ix *catalog.Index, i int, field string, cs []conjunct) (ivs []match.Interval, used []int) {
	multikey := ix.Multikey.Field(i)
	for k, c := range cs {
		if c.path != field || !c.useful || !collationFits(q, ix, c.intervals) {
			continue
		}
		switch {
		case ivs == nil:
			ivs, used = c.intervals, []int{k}
		case multikey:
			if narrower(c.intervals, ivs) {
				ivs, used = c.intervals, []int{k}
			}
		default:
			ivs = intersect(ivs, c.intervals)
			used = append(used, k)
		}
		if ivs == nil {
			ivs = []match.Interval{}
		}
	}
	return ivs, used
}

// narrower prefers points over ranges.
func narrower(a, b []match.Interval) bool {
	pa, pb := allPoints(a), allPoints(b)
	return pa && !pb || pa == pb && len(a) < len(b)
}

func allPoints(ivs []match.Interval) bool {
	return !slices.ContainsFunc(ivs, func(iv match.Interval) bool { return !iv.IsPoint() })
}

func holdsNull(ivs []match.Interval) bool {
	for _, iv := range ivs {
		lo, hi := bson.Compare(iv.Lo, bson.Null, nil), bson.Compare(iv.Hi, bson.Null, nil)
		if (lo < 0 || lo == 0 && iv.LoInclusive) && (hi > 0 || hi == 0 && iv.HiInclusive) {
			return true
		}
	}
	return false
}

// collationFits reports whether intervals can be looked up in an index whose
// collation may differ from the query's: only if they hold no strings.
func collationFits(q *Query, ix *catalog.Index, ivs []match.Interval) bool {
	if ix.Collation.Equal(q.collation) {
		return true
	}
	for _, iv := range ivs {
		for _, v := range [...]bson.Value{iv.Lo, iv.Hi} {
			switch v.Type {
			case bson.TypeString, bson.TypeSymbol, bson.TypeDocument, bson.TypeArray:
				return false
			}
		}
		// An interval that spans the strings holds some.
		if bson.Compare(iv.Lo, bson.EmptyDoc, nil) < 0 && bson.Compare(iv.Hi, bson.EmptyDoc, nil) >= 0 {
			return false
		}
	}
	return true
}

// intersect returns the common part of two ascending lists of intervals; never
// nil.
func intersect(a, b []match.Interval) []match.Interval {
	out := []match.Interval{}
	for i, j := 0, 0; i < len(a) && j < len(b); {
		x, y := a[i], b[j]
		r := x
		if c := bson.Compare(y.Lo, x.Lo, nil); c > 0 {
			r.Lo, r.LoInclusive = y.Lo, y.LoInclusive
		} else if c == 0 {
			r.LoInclusive = x.LoInclusive && y.LoInclusive
		}
		ends := bson.Compare(x.Hi, y.Hi, nil)
		if ends > 0 {
			r.Hi, r.HiInclusive = y.Hi, y.HiInclusive
		} else if ends == 0 {
			r.HiInclusive = x.HiInclusive && y.HiInclusive
		}
		if c := bson.Compare(r.Lo, r.Hi, nil); c < 0 || c == 0 && r.LoInclusive && r.HiInclusive {
			out = append(out, r)
		}
		if ends <= 0 {
			i++
		}
		if ends >= 0 {
			j++
		}
	}
	return out
}

// encodeField turns intervals into key bounds in the index's direction.
func encodeField(ivs []match.Interval, dir keystring.Dir, order bson.StringOrder) (FieldBounds, bool) {
	fb := FieldBounds{Intervals: make([]keyspace.Bounds, 0, len(ivs))}
	for _, iv := range ivs {
		b := keyspace.Bounds{LoOpen: !iv.LoInclusive, HiOpen: !iv.HiInclusive}
		if iv.Lo.Type != bson.TypeMinKey || !iv.LoInclusive || iv.IsPoint() {
			b.Lo = keystring.Append(nil, iv.Lo, dir, order, nil)
		}
		if iv.Hi.Type != bson.TypeMaxKey || !iv.HiInclusive || iv.IsPoint() {
			b.Hi = keystring.Append(nil, iv.Hi, dir, order, nil)
		}
		text := intervalText(iv)
		if dir == keystring.Descending {
			b.Lo, b.Hi, b.LoOpen, b.HiOpen = b.Hi, b.Lo, b.HiOpen, b.LoOpen
			text = intervalText(match.Interval{Lo: iv.Hi, Hi: iv.Lo, LoInclusive: iv.HiInclusive, HiInclusive: iv.LoInclusive})
		}
		fb.Intervals = append(fb.Intervals, b)
		fb.Text = append(fb.Text, text)
	}
	if dir == keystring.Descending {
		slices.Reverse(fb.Intervals)
		slices.Reverse(fb.Text)
	}
	if order != nil { // collation keys are not in byte order of the strings
		sortIntervals(&fb)
	}
	return fb, true
}

func sortIntervals(fb *FieldBounds) {
	perm := make([]int, len(fb.Intervals))
	for i := range perm {
		perm[i] = i
	}
	slices.SortStableFunc(perm, func(i, j int) int { return bytes.Compare(fb.Intervals[i].Lo, fb.Intervals[j].Lo) })
	out := FieldBounds{}
	for k, i := range perm {
		if k > 0 && bytes.Equal(fb.Intervals[i].Lo, fb.Intervals[perm[k-1]].Lo) && bytes.Equal(fb.Intervals[i].Hi, fb.Intervals[perm[k-1]].Hi) {
			continue // two strings that the collation holds equal
		}
		out.Intervals = append(out.Intervals, fb.Intervals[i])
		out.Text = append(out.Text, fb.Text[i])
	}
	*fb = out
}

// coversPartial reports whether every document that the query can match is in
// a partial index: each conjunct of the index's filter is implied by one of the
// query's.
func (q *Query) coversPartial(ix *catalog.Index, cs []conjunct) bool {
	if ix.Partial == nil {
		return true
	}
	for _, want := range conjuncts(match.Normalize(ix.Partial)) {
		if !slices.ContainsFunc(cs, func(c conjunct) bool { return implies(c, want) }) {
			return false
		}
	}
	return true
}

// implies reports that every document satisfying c satisfies want.
func implies(c, want conjunct) bool {
	if bytes.Equal(match.String(c.node), match.String(want.node)) {
		return true
	}
	if c.path == "" || c.path != want.path || !want.exact || len(c.intervals) == 0 {
		return false
	}
	return slices.EqualFunc(intersect(c.intervals, want.intervals), c.intervals, func(a, b match.Interval) bool {
		return bson.Compare(a.Lo, b.Lo, nil) == 0 && bson.Compare(a.Hi, b.Hi, nil) == 0 && a.LoInclusive == b.LoInclusive && a.HiInclusive == b.HiInclusive
	})
}

// rest is the filter without the conjuncts that bounds answer exactly; nil when
// nothing is left.
func rest(cs []conjunct, used []bool) match.Node {
	var left []match.Node
	for i, c := range cs {
		if !used[i] {
			if c.node == match.Node(match.Always(true)) {
				continue
			}
			left = append(left, c.node)
		}
	}
	if len(left) == 0 {
		return nil
	}
	return match.AllOf(left...)
}
