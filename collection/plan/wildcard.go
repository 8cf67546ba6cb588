package plan

import (
	"slices"
	"strings"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/path"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/index"
	"github.com/cantledb/cantle/collection/match"
)

// A wildcard index is planned as if it were one index per path that the filter mentions. It has no entries for
// missing values and for embedded documents with fields, so bounds that include either cannot use it.
// Manual: core/indexes/index-types/index-wildcard/reference/restrictions.

// isWildcard reports whether a field of a key pattern is a wildcard.
func isWildcard(name string) bool { return name == "$**" || strings.HasSuffix(name, ".$**") }

// wildcardPaths returns the paths in the filter that a wildcard index can look up.
func (q *Query) wildcardPaths(ix *catalog.Index, cs []conjunct) (paths []string) {
	for _, c := range cs {
		if c.path == "" || c.scalar || slices.Contains(paths, c.path) {
			continue
		}
		keys, ok := wildcardKeysOf(c.path)
		value, below := ok, true
		for _, at := range keys.paths() {
			v, b := ix.WildcardCovers(path.Must(at))
			value, below = value && v, below && b
		}
		if !value || !below && !hasEntries(c.intervals) {
			continue
		}
		if q.wildcardField(ix, -1, approach{at: c.path}, cs).bounds {
			paths = append(paths, c.path)
		}
	}
	return paths
}

// wildcardField returns the bounds of one field of a wildcard index that is used for the path of an approach: of its path
// or of its value. i is the position of the field; -1 only tests whether there is a bound.
func (q *Query) wildcardField(ix *catalog.Index, i int, by approach, cs []conjunct) bounding {
	if by.at == "" {
		return bounding{}
	}
	there := false
	for _, c := range cs {
		there = there || c.path == by.at && !c.scalar && q.exists(c)
	}
	list := q.wildcardConjuncts(ix, cs, by.at)
	keys, _ := wildcardKeysOf(by.at)
	switch {
	case i < 0:
		return bounding{bounds: len(list) > 0 || there}
	case ix.Fields()[i] == index.WildcardPath:
		return bounding{FieldBounds: encodeField(pathIntervals(keys.paths(), len(list) == 0), ix.Dirs()[i], nil), bounds: true, nonNull: true}
	case len(list) == 0:
		return bounding{}
	}
	one := hasOneEntry(ix, by.at)
	if !one {
		list = []int{leader(cs, list, by.lead)}
	}
	all := make([][]match.Interval, len(list))
	for n, k := range list {
		if all[n] = cs[k].intervals; one {
			all[n], _ = cs[k].of(ix, i)
		}
	}
	ivs := q.intersectAll(all)
	if keys.whole != nil {
		ivs = match.WithArrays(ivs)
	}
	return bounding{FieldBounds: encodeField(ivs, ix.Dirs()[i], ix.Collation.Order()), bounds: true, used: list, exact: one, nonNull: true}
}

// wildcardConjuncts returns the conjuncts that can bound the values of a wildcard index at a path.
func (q *Query) wildcardConjuncts(ix *catalog.Index, cs []conjunct, at string) (list []int) {
	for k, c := range cs {
		if c.path == at && !c.scalar && restricts(c.intervals) && collationFits(q, ix, c.intervals) && hasEntries(c.intervals) {
			list = append(list, k)
		}
	}
	return list
}

// leader returns the conjunct of lead, an approach's, if the list has it, or else the narrowest of the list.
func leader(cs []conjunct, list []int, lead int) int {
	if slices.Contains(list, lead-1) {
		return lead - 1
	}
	narrowest := list[0]
	for _, k := range list[1:] {
		if narrower(cs[k].intervals, cs[narrowest].intervals) {
			narrowest = k
		}
	}
	return narrowest
}

// hasOneEntry reports whether each document with a value at a path has exactly one entry of it in a wildcard index, with
// this value, because no document has an array on any of the index's paths.
func hasOneEntry(ix *catalog.Index, at string) bool {
	p, err := path.Compile(at)
	return err == nil && !p.HasPosition() && !ix.Multikey.Any() && ix.Collation == nil
}

// wildcardKeys holds the results of path.KeyPaths.
type wildcardKeys struct{ own, whole []string }

// wildcardKeysOf returns the paths under which a wildcard index can have entries for a value at the path at; ok
// is false if there are too many paths.
func wildcardKeysOf(at string) (k wildcardKeys, ok bool) {
	p, err := path.Compile(at)
	if err != nil {
		return k, false
	}
	k.own, k.whole, ok = p.KeyPaths()
	return k, ok
}

func (k wildcardKeys) paths() []string { return slices.Concat(k.own, k.whole) }

// pathIntervals returns the bounds of a wildcard index's entries for some paths. With below, the bounds include
// the paths below them: if a path exists, one of these entries exists.
func pathIntervals(paths []string, below bool) (ivs []match.Interval) {
	var a bson.Arena
	slices.Sort(paths)
	paths = slices.Compact(paths)
	last := ""
	for _, p := range paths {
		if below && last != "" && strings.HasPrefix(p, last+".") {
			continue // below the last path already
		}
		v := a.String(p)
		ivs = append(ivs, match.Interval{Lo: v, Hi: v, LoInclusive: true, HiInclusive: true})
		if below {
			last = p
			ivs = append(ivs, match.Interval{Lo: a.String(p + "."), Hi: a.String(p + "/"), LoInclusive: true})
		}
	}
	return ivs
}

// exists reports whether a predicate bounds a wildcard index by the existence of its path, because only an
// existing value satisfies it. Except for $exists, this requires a hint: the plan reads every document with the
// path.
func (q *Query) exists(c conjunct) bool {
	switch n := c.node.(type) {
	case *match.Leaf:
		switch n.Operator() {
		case "$exists":
			return true
		case "$eq", "$gt", "$gte", "$lt", "$lte", "$in":
			return false // the operand's own bounds decide, or there are no entries
		}
		return !q.Hint.IsMissing() && n.RequiresValue()
	case *match.ElemMatch:
		return !q.Hint.IsMissing()
	case *match.Not:
		// If the path ends inside an array of scalars, no value exists there, but the negation holds.
		return !q.Hint.IsMissing() && !strings.Contains(c.path, ".") && !holdsNull(c.intervals)
	}
	return false
}

// hasEntries reports whether every value within the intervals has an entry in a wildcard index; false without
// intervals.
func hasEntries(ivs []match.Interval) bool {
	if len(ivs) == 0 || holdsNull(ivs) {
		return false
	}
	for _, iv := range ivs {
		if iv.IsPoint() && bson.Compare(iv.Lo, bson.EmptyDoc, nil) == 0 {
			continue
		}
		above := bson.Compare(iv.Hi, bson.EmptyDoc, nil)
		if bson.Compare(iv.Lo, bson.EmptyArray, nil) < 0 && (above > 0 || above == 0 && iv.HiInclusive) {
			return false
		}
	}
	return true
}
