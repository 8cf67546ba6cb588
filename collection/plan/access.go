package plan

import (
	"slices"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/keystring"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/index"
	"github.com/cantledb/cantle/collection/match"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/storage/keyspace"
)

// conjunct is one predicate of the top-level $and of a filter, with the intervals of values that it permits at
// its path; or a condition that follows from such a predicate, by a rule of implications.
type conjunct struct {
	node      match.Node // nil if it only follows from another conjunct; then that one is tested on documents
	path      string     // "" if the predicate is not about one path
	intervals []match.Interval
	exact     bool
	// elements are the $elemMatch around the predicate, the outermost first.
	elements []element
	outer    bool // the predicate is beside the $or that is planned; it is tested on the union of the branches
	scalar   bool // the intervals hold only if the path has no array in any document of the index
	// flat are exact intervals that hold only if the path has no array in any document of the index; nil if there are
	// none, or if intervals is exact itself. flatText reports that they are bounded by text: under a collation, the
	// intervals between several texts are in another order.
	flat     []match.Interval
	flatText bool
}

// conjuncts splits a normalised filter at its top-level $and, and adds what follows from each part.
func (q *Query) conjuncts(n match.Node) []conjunct {
	var env *mql.Env
	if q.asking != nil {
		env = q.asking.env
	}

	parts := []match.Node{n}
	if and, ok := n.(*match.And); ok {
		parts = and.Children()
	}
	out := make([]conjunct, len(parts))
	var all []match.Interval // memory of the intervals of all conjuncts
	for i, p := range parts {
		all = out[i].take(p, all)
	}
	for i := range parts {
		for _, rule := range implications {
			rule.of(env, parts[i], func(c conjunct) { out = append(out, c) })
		}
	}
	return out
}

// take sets the predicate of the conjunct. It appends its intervals to all, a list of other intervals, and returns the
// list.
func (c *conjunct) take(n match.Node, all []match.Interval) []match.Interval {
	c.node = n
	if pathed, ok := n.(match.Pathed); ok {
		first := len(all)
		c.path = pathed.Path().String()
		c.exact = pathed.Bounds(func(iv match.Interval) { all = append(all, iv) })
		c.intervals = all[first:len(all):len(all)]
		if !c.exact {
			if flat, ok := match.FlatBounds(pathed); ok {
				c.flat, c.flatText = flat, match.EndWithText(flat)
			}
		}
	}
	return all
}

// restricts reports whether intervals do not contain all keys.
func restricts(ivs []match.Interval) bool { return len(ivs) != 1 || !ivs[0].IsAll() }

// of returns the intervals of the conjunct for field i of an index, and whether they are exact.
func (c *conjunct) of(ix *catalog.Index, i int) (ivs []match.Interval, exact bool) {
	if c.flat != nil && !ix.Multikey.Field(i) && (ix.Collation == nil || !c.flatText) {
		return c.flat, true
	}
	return c.intervals, c.exact
}

// bounds reports whether the conjunct can bound field i of an index.
func (c *conjunct) bounds(q *Query, ix *catalog.Index, i int) bool {
	if c.path != ix.Fields()[i] || c.scalar && ix.Multikey.Field(i) {
		return false
	}
	ivs, _ := c.of(ix, i)
	return restricts(ivs) && collationFits(q, ix, ivs)
}

// access is one way to find every match of a query: the entries of an index within bounds.
type access struct {
	index  *catalog.Index
	at     string // approach.at
	bounds Bounds
	key    *KeyBounds // bounds from min and max, which replace bounds
	used   []bool     // by conjunct: the bounds answer it exactly, so documents need not be tested for it again
	by     []int      // the conjuncts that bound a field, exactly or not
	lead   int        // approach.lead, if this conjunct bounds a field
	// points is the number of leading index fields bounded to single values, bounded the number of all bounded
	// fields, at least 1 for a sparse index that lacks documents. If bounded is 0, the index restricts nothing.
	points  int
	bounded int
	// repeats reports whether a document can have several entries within the bounds, so that the scan must drop
	// duplicates.
	repeats bool
}

// fullAccess returns the access to all entries of an index.
func (q *Query) fullAccess(ix *catalog.Index, cs []conjunct) access {
	a := access{index: ix, bounds: make(Bounds, len(ix.Fields())), used: make([]bool, len(cs))}
	a.unbound()
	return a
}

// unbound removes all bounds.
func (a *access) unbound() {
	for i := range a.bounds {
		a.bounds[i] = everything
	}
	clear(a.used)
	a.points, a.bounded, a.by, a.lead = 0, 0, nil, 0
	a.repeats = a.canRepeat()
}

// boundedBy reports whether one of the first n conjuncts bounds a field.
func (a *access) boundedBy(n int) bool {
	return slices.ContainsFunc(a.by, func(k int) bool { return k < n })
}

// everything is the bounds of a field without restriction: one interval without ends. All accesses share it,
// because finished bounds do not change, and planning sets it for every field of every index.
var everything = FieldBounds{Intervals: []keyspace.Bounds{{}}}

// canRepeat reports whether one document can have several index entries within the bounds of the access: an
// array has an entry per element, a wildcard index an entry per field. A field bounded to one value adds no
// repetition, unless key (min and max) replaces the bounds.
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

// approach selects one of the accesses that an index offers to a filter. The zero value selects the only one of most
// indexes.
type approach struct {
	at   string // the path for which a wildcard index is used, "" for other indexes
	lead int    // 1 + the conjunct that bounds a field of which it must be one of several: see leads. 0: the narrowest
	// later keeps the bounds of later fields if the first field has none, for a distinct scan.
	later bool
}

// indexAccess returns the access to the possible matches of a filter through one index: the bounds that its
// conjuncts imply. ok is false if the index cannot answer the query at all; the access's bounded is 0 if the index can,
// but restricts nothing.
func (q *Query) indexAccess(ix *catalog.Index, cs []conjunct, by approach) (a access, ok bool) {
	fields := ix.Fields()
	a = q.fullAccess(ix, cs)
	a.at = by.at
	if !q.coversPartial(ix, cs) {
		return a, false
	}
	stillPoints := true
	nonNull := false // some bounded field excludes missing values
	located := ix.Sphere == nil && ix.Flat == nil
	var before [][]int // the conjuncts used for each field before
	for i := range fields {
		f := q.field(ix, i, by, cs, before)
		if ix.Multikey != nil {
			before = append(before, f.used)
		}
		if !f.bounds {
			stillPoints = false
			continue
		}
		for _, u := range f.used {
			if a.by = append(a.by, u); u == by.lead-1 {
				a.lead = by.lead
			}
			_, exact := cs[u].of(ix, i)
			a.used[u] = a.used[u] || f.exact && exact
		}
		a.bounds[i] = f.FieldBounds
		a.bounded++
		nonNull = nonNull || f.nonNull
		if f.nonNull && f.exact {
			markExisting(cs, fields[i], a.used)
		}
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
	if gaps && !requiresField(ix, cs) {
		return a, false
	}
	if a.bounds[0].IsFull() && a.bounded > 0 && !by.later {
		a.unbound() // without a bound on the first field, other bounds only filter keys
	}
	if ix.Sparse && len(fields) == 1 && ix.IsOrdered() {
		markExisting(cs, fields[0], a.used) // the index has entries of all documents with the field, and of no others
	}
	if gaps {
		a.bounded = max(a.bounded, 1) // the index has fewer entries than the collection has documents
	}
	a.repeats = a.canRepeat()
	return a, true
}

// markExisting marks as used those conjuncts that require that a field of an index exists. The bounds of the index
// answer them exactly if each entry within the bounds has a value.
func markExisting(cs []conjunct, field string, used []bool) {
	for k, c := range cs {
		if l, ok := c.node.(*match.Leaf); ok && c.path == field && l.Operator() == "$exists" && !l.Path().HasPosition() {
			used[k] = true
		}
	}
}

// requiresField reports whether the filter requires a field of the index by $exists, so that a sparse index
// has an entry of every match.
func requiresField(ix *catalog.Index, cs []conjunct) bool {
	for _, c := range cs {
		if l, ok := c.node.(*match.Leaf); ok && l.Operator() == "$exists" && slices.Contains(ix.Fields(), c.path) {
			return true
		}
	}
	return false
}

// bounding holds the bounds that the conjuncts of a filter imply for one field of an index.
type bounding struct {
	FieldBounds
	bounds  bool  // there are any bounds
	used    []int // indexes of the conjuncts used
	exact   bool  // all entries within the bounds match the conjuncts
	nonNull bool  // the bounds exclude a missing value
}

// field computes the bounds of the i-th keystring. before are the conjuncts used for each field before it, nil if the
// index is not multikey.
func (q *Query) field(ix *catalog.Index, i int, by approach, cs []conjunct, before [][]int) bounding {
	name := ix.Fields()[i]
	switch {
	case ix.Text != nil && (name == "_fts" || name == "_ftsx"):
		return bounding{} // textNode looks up the words of $text one by one
	case ix.Flat != nil:
		if i > 0 {
			return bounding{} // such a field holds one of several values
		}
		return q.geoField(ix, i, cs, before)
	case ix.Sphere != nil && ix.Parts[i].Plugin != "":
		return q.geoField(ix, i, cs, before)
	case ix.Kind.Name == "wildcard" && (name == index.WildcardPath || isWildcard(name)):
		return q.wildcardField(ix, i, by, cs)
	}
	ivs, used := q.fieldIntervals(ix, i, by.lead, cs, before)
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
	if q.mayContinue(len(ivs) * intervalWork) {
		out.FieldBounds = encodeField(ivs, ix.Dirs()[i], ix.Collation.Order())
	}
	return out
}

// hashedPoints converts the bounds of a hashed index field from values to their hashes, sorted and without
// duplicates. ok is false if an interval is not a single value, because hashes cannot answer a range. Null
// becomes three hashes: it also matches missing and undefined.
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

// geoField returns the bounds of field i of a geospatial index: the cells of the shape in the first $geoWithin or
// $geoIntersects on this field that the index can answer. A 2d index answers only $geoWithin.
func (q *Query) geoField(ix *catalog.Index, i int, cs []conjunct, before [][]int) bounding {
	for k, c := range cs {
		l, ok := c.node.(*match.Leaf)
		if !ok || c.path != ix.Fields()[i] || !combines(ix, i, cs, k, before) {
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

// fieldIntervals returns the intervals of values that the conjuncts permit for an index field, and the indexes
// of the conjuncts used. It intersects the intervals of all whose collation fits the index and that combine with those
// of the fields before. On a multikey field, two array elements may satisfy two predicates, so only the narrowest
// predicate bounds it, or that of an approach's lead, with the predicates that concern the same element.
func (q *Query) fieldIntervals(ix *catalog.Index, i, lead int, cs []conjunct, before [][]int) (ivs []match.Interval, used []int) {
	narrowest := -1
	for k, c := range cs {
		if !c.bounds(q, ix, i) || !combines(ix, i, cs, k, before) {
			continue
		}
		if !q.mayContinue(len(c.intervals) * intervalWork) {
			return nil, nil
		}
		used = append(used, k)
		if narrowest < 0 || preferable(c, cs[narrowest]) {
			narrowest = k
		}
	}
	if used == nil {
		return nil, nil
	}
	if ix.Multikey.Field(i) {
		if slices.Contains(used, lead-1) {
			narrowest = lead - 1
		}
		used = ofSameElement(ix, i, cs, used, narrowest)
	}
	if ix.Collation != nil {
		used = withOneText(ix, i, cs, used)
	}
	all := make([][]match.Interval, len(used))
	for n, k := range used {
		all[n], _ = cs[k].of(ix, i)
	}
	if ivs = q.intersectAll(all); ivs == nil {
		ivs = []match.Interval{}
	}
	return ivs, used
}

// intersectAll returns the intersection of several predicates' intervals on one field. It intersects halves
// recursively: intersected one after the other, thousands of $ne would each go through all intervals left by
// the earlier ones.
func (q *Query) intersectAll(all [][]match.Interval) []match.Interval {
	if len(all) == 1 {
		return all[0]
	}
	half := len(all) / 2
	a, b := q.intersectAll(all[:half]), q.intersectAll(all[half:])
	if !q.mayContinue((len(a) + len(b)) * intervalWork) {
		return a
	}
	return match.Intersect(a, b)
}

// preferable reports whether the conjunct a is preferable to b for bounding a field: by its intervals, then the one
// within more $elemMatch, with which more fields can be bounded.
func preferable(a, b conjunct) bool {
	return narrower(a.intervals, b.intervals) || len(a.elements) > len(b.elements) && !narrower(b.intervals, a.intervals)
}

// narrower reports whether the intervals a are preferable to b as bounds of a field: only points before
// any with a range, then fewer intervals.
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

// collationFits reports whether intervals can be looked up in an index. If the index has a different collation than
// the query, the intervals must not contain strings, nor begin or end with a symbol, document or array.
func collationFits(q *Query, ix *catalog.Index, ivs []match.Interval) bool {
	if ix.Collation.Equal(q.collation) {
		return true
	}
	return !slices.ContainsFunc(ivs, func(iv match.Interval) bool { return !iv.IsCollationIndependent() })
}

// encodeField returns intervals of values as bounds of encoded index keys, in the direction of the index field.
// The result may keep the slice ivs.
func encodeField(ivs []match.Interval, dir keystring.Dir, order bson.StringOrder) FieldBounds {
	fb := FieldBounds{Intervals: make([]keyspace.Bounds, len(ivs)), values: ivs}
	if dir == keystring.Descending {
		fb.values = make([]match.Interval, len(ivs))
		for i, iv := range ivs {
			fb.values[len(ivs)-1-i] = match.Interval{Lo: iv.Hi, Hi: iv.Lo, LoInclusive: iv.HiInclusive, HiInclusive: iv.LoInclusive}
		}
	}
	first, last := bson.TypeMinKey, bson.TypeMaxKey // the values at which an interval has no bound
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
	if order != nil {
		fb.sortCollated()
	}
	return fb
}

// keystringBytes is the capacity for the keystring of a usual value.
const keystringBytes = 24

// unused returns the part of the filter that must still be evaluated on documents: the conjuncts that the
// bounds do not answer exactly. It is nil if none is left.
func unused(cs []conjunct, used []bool) match.Node {
	var left []match.Node
	for i, c := range cs {
		if !used[i] && c.node != nil && !c.outer {
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

// without returns the part of the filter beside one of its conjuncts, nil if there is none.
func without(cs []conjunct, n match.Node) match.Node {
	used := make([]bool, len(cs))
	for i, c := range cs {
		used[i] = c.node == n
	}
	return unused(cs, used)
}
