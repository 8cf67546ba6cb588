package plan

import (
	"bytes"
	"slices"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/keystring"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/index"
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
	parts := []match.Node{n}
	if and, ok := n.(*match.And); ok {
		parts = and.Children()
	}
	out := make([]conjunct, len(parts))
	var all []match.Interval // of all of them: conjuncts have parts of it
	add := func(iv match.Interval) { all = append(all, iv) }
	for i, p := range parts {
		c := &out[i]
		c.node = p
		if pathed, ok := p.(match.Pathed); ok {
			first := len(all)
			c.path = pathed.Path().String()
			c.exact = pathed.Bounds(add)
			c.intervals = all[first:len(all):len(all)]
			c.useful = len(c.intervals) != 1 || !c.intervals[0].IsAll()
		}
	}
	return out
}

// access is one way to reach every match: an index with bounds.
type access struct {
	index  *catalog.Index
	bounds Bounds
	key    *KeyBounds // bounds of min and max, instead of bounds
	used   []bool     // by conjunct: its bounds are exact, so it needs no second look
	// points counts leading fields bounded to single values, bounded all fields
	// that are bounded at all; 0 says that the index does not help.
	points  int
	bounded int
	// repeats says that a document can have several entries within the bounds.
	repeats bool
}

// fullAccess is the access to all entries of an index.
func (q *Query) fullAccess(ix *catalog.Index, cs []conjunct) access {
	a := access{index: ix, bounds: make(Bounds, len(ix.Fields())), used: make([]bool, len(cs))}
	a.unbound()
	return a
}

// unbound makes the access one to all entries.
func (a *access) unbound() {
	for i := range a.bounds {
		a.bounds[i] = everything
	}
	clear(a.used)
	a.points, a.bounded = 0, 0
	a.repeats = a.canRepeat()
}

// everything is unbounded. All share its memory, as bounds that are made do not change: planning
// looks at every field of every index.
var everything = FieldBounds{Intervals: []keyspace.Bounds{{}}}

// canRepeat reports that a document can have several entries within the
// bounds: an array gives one per element, a wildcard one per field. A field
// bounded to one value tells them apart.
func (a *access) canRepeat() bool {
	for i := range a.bounds {
		if isOnePoint(a.bounds[i]) && a.key == nil {
			continue
		}
		if a.index.Multikey.Field(i) || a.index.Fields()[i] == index.WildcardPath {
			return true
		}
	}
	return false
}

// indexAccess tries an index on the conjuncts. at is the path that a wildcard
// stands for, "" for none. ok is false when the index cannot answer the query at
// all; bounded is 0 when it can but does not help.
func (q *Query) indexAccess(ix *catalog.Index, cs []conjunct, at string) (a access, ok bool) {
	fields := ix.Fields()
	a = q.fullAccess(ix, cs)
	if !q.coversPartial(ix, cs) {
		return a, false
	}
	stillPoints := true
	nonNull := false // some bounded field excludes missing values
	located := ix.Sphere == nil && ix.Flat == nil
	for i := range fields {
		if i > 0 && ix.Multikey.SharesPrefix(i, boundedFields(a.bounds[:i])) {
			stillPoints = false
			continue
		}
		f := q.field(ix, i, at, cs)
		if !f.bounds {
			stillPoints = false
			continue
		}
		for _, u := range f.used {
			a.used[u] = a.used[u] || f.exact && cs[u].exact
		}
		a.bounds[i] = f.FieldBounds
		a.bounded++
		nonNull = nonNull || f.nonNull
		located = located || ix.Parts[i].Plugin != ""
		if stillPoints && f.IsPoint() {
			a.points++
		} else {
			stillPoints = false
		}
	}
	if !located {
		return a, false
	}
	gaps := ix.Sparse && !nonNull
	if gaps && !wantsField(ix, cs) {
		return a, false
	}
	if a.bounds[0].IsFull() && a.bounded > 0 {
		a.unbound() // without a bound on the first field the others only filter keys
	}
	if gaps {
		a.bounded = max(a.bounded, 1) // all of it is less than the collection
	}
	a.repeats = a.canRepeat()
	return a, true
}

// wantsField reports that every match has a field of the index, by $exists: so a sparse index
// has an entry of each.
func wantsField(ix *catalog.Index, cs []conjunct) bool {
	for _, c := range cs {
		if l, ok := c.node.(*match.Leaf); ok && l.Operator() == "$exists" && slices.Contains(ix.Fields(), c.path) {
			return true
		}
	}
	return false
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

// bounding is what the conjuncts say about one keystring of an index.
type bounding struct {
	FieldBounds
	bounds  bool  // they say anything
	used    []int // conjuncts that went into it
	exact   bool  // entries within hold nothing that the bounds did not mean
	nonNull bool  // a missing value lies outside
}

// field finds the bounds of the i-th keystring.
func (q *Query) field(ix *catalog.Index, i int, at string, cs []conjunct) bounding {
	name := ix.Fields()[i]
	switch {
	case ix.Text != nil && (name == "_fts" || name == "_ftsx"):
		return bounding{} // the words of $text are looked up one by one
	case ix.Flat != nil:
		if i > 0 {
			return bounding{} // such a field holds one of several values
		}
		return q.geoField(ix, i, cs)
	case ix.Sphere != nil && ix.Parts[i].Plugin != "":
		return q.geoField(ix, i, cs)
	case ix.Kind.Name == "wildcard" && (name == index.WildcardPath || isWildcard(name)):
		return q.wildcardField(ix, i, at, cs)
	}
	ivs, used := q.fieldIntervals(ix, i, name, cs)
	if ivs == nil {
		return bounding{}
	}
	hashed := ix.Kind.Name == "hashed" && ix.Parts[i].Plugin != ""
	out := bounding{bounds: true, used: used, exact: ix.IsOrdered() || ix.Kind.Name == "hashed" && !hashed, nonNull: !holdsNull(ivs)}
	if hashed {
		if ivs, out.bounds = hashedPoints(ix, ivs); !out.bounds {
			return bounding{}
		}
	}
	if q.goesOn(len(ivs) * intervalWork) {
		out.FieldBounds = encodeField(ivs, ix.Dirs()[i], ix.Collation.Order())
	}
	return out
}

// hashedPoints replaces values by their hashes; ok is false if they are not all
// single values. Null stands for missing and undefined as well.
func hashedPoints(ix *catalog.Index, ivs []match.Interval) (out []match.Interval, ok bool) {
	add := func(v bson.Value) {
		h := ix.HashedValue(v)
		out = append(out, match.Interval{Lo: h, Hi: h, LoInclusive: true, HiInclusive: true})
	}
	for _, iv := range ivs {
		switch {
		case iv.Lo.Type == bson.TypeUndefined && iv.Hi.Type == bson.TypeNull, iv.IsPoint() && iv.Lo.Type == bson.TypeNull:
			add(bson.Value{Type: bson.TypeUndefined})
			add(bson.Null)
			add(bson.Value{})
		case iv.IsPoint():
			add(iv.Lo)
		default:
			return nil, false
		}
	}
	slices.SortFunc(out, func(a, b match.Interval) int { return bson.Compare(a.Lo, b.Lo, nil) })
	return slices.CompactFunc(out, func(a, b match.Interval) bool { return bson.Compare(a.Lo, b.Lo, nil) == 0 }), true
}

// geoField finds the cells of the first $geoWithin or $geoIntersects on a field.
func (q *Query) geoField(ix *catalog.Index, i int, cs []conjunct) bounding {
	for k, c := range cs {
		l, ok := c.node.(*match.Leaf)
		if !ok || c.path != ix.Fields()[i] {
			continue
		}
		shape, within, ok := l.GeoShape()
		if !ok || ix.Flat != nil && !within {
			continue
		}
		if ivs, ok := ix.GeoIntervals(i, shape); ok {
			return bounding{FieldBounds: encodeField(ivs, ix.Dirs()[i], nil), bounds: true, used: []int{k}, nonNull: true}
		}
	}
	return bounding{}
}

// fieldIntervals intersects what the conjuncts say about an index field. On a
// multikey field two predicates may be satisfied by two elements, so only one
// of them bounds.
func (q *Query) fieldIntervals(ix *catalog.Index, i int, field string, cs []conjunct) (ivs []match.Interval, used []int) {
	multikey := ix.Multikey.Field(i)
	var all [][]match.Interval
	for k, c := range cs {
		if c.path != field || !c.useful || !collationFits(q, ix, c.intervals) {
			continue
		}
		if !q.goesOn(len(c.intervals) * intervalWork) {
			return nil, nil
		}
		if multikey && all != nil {
			if narrower(c.intervals, all[0]) {
				all[0], used = c.intervals, []int{k}
			}
			continue
		}
		all, used = append(all, c.intervals), append(used, k)
	}
	if all == nil {
		return nil, nil
	}
	if ivs = q.intersectAll(all); ivs == nil {
		ivs = []match.Interval{}
	}
	return ivs, used
}

// intersectAll is the common part of all. Halves are intersected first: one after the other,
// thousands of $ne would each go through the intervals that those before them left.
func (q *Query) intersectAll(all [][]match.Interval) []match.Interval {
	if len(all) == 1 {
		return all[0]
	}
	half := len(all) / 2
	a, b := q.intersectAll(all[:half]), q.intersectAll(all[half:])
	if !q.goesOn((len(a) + len(b)) * intervalWork) {
		return a
	}
	return match.Intersect(a, b)
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

// encodeField turns intervals, which it keeps, into key bounds in the index's direction.
func encodeField(ivs []match.Interval, dir keystring.Dir, order bson.StringOrder) FieldBounds {
	fb := FieldBounds{Intervals: make([]keyspace.Bounds, len(ivs)), values: ivs}
	if dir == keystring.Descending {
		fb.values = make([]match.Interval, len(ivs))
		for i, iv := range ivs {
			fb.values[len(ivs)-1-i] = match.Interval{Lo: iv.Hi, Hi: iv.Lo, LoInclusive: iv.HiInclusive, HiInclusive: iv.LoInclusive}
		}
	}
	first, last := bson.TypeMinKey, bson.TypeMaxKey // where there is no bound
	if dir == keystring.Descending {
		first, last = last, first
	}
	for i, iv := range fb.values {
		b := keyspace.Bounds{LoOpen: !iv.LoInclusive, HiOpen: !iv.HiInclusive}
		isPoint := iv.IsPoint()
		if iv.Lo.Type != first || b.LoOpen || isPoint {
			b.Lo = keystring.Append(make([]byte, 0, keystringBytes), iv.Lo, dir, order, nil)
		}
		switch {
		case isPoint:
			b.Hi = b.Lo
		case iv.Hi.Type != last || b.HiOpen:
			b.Hi = keystring.Append(make([]byte, 0, keystringBytes), iv.Hi, dir, order, nil)
		}
		fb.Intervals[i] = b
	}
	if order != nil { // collation keys are not in byte order of the strings
		sortIntervals(&fb)
	}
	return fb
}

// keystringBytes is room for the keystring of a usual value.
const keystringBytes = 24

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
		out.values = append(out.values, fb.values[i])
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
	return slices.EqualFunc(match.Intersect(c.intervals, want.intervals), c.intervals, func(a, b match.Interval) bool {
		return bson.Compare(a.Lo, b.Lo, nil) == 0 && bson.Compare(a.Hi, b.Hi, nil) == 0 && a.LoInclusive == b.LoInclusive && a.HiInclusive == b.HiInclusive
	})
}

// unused is the filter without the conjuncts that bounds answer exactly; nil when
// nothing is left.
func unused(cs []conjunct, used []bool) match.Node {
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
