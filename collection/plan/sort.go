package plan

import (
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/match"
)

// sortedBy reports whether a scan of an index with the bounds of the access delivers rows in the query's sort
// order, and whether it must then read the index in reverse. Without a sort, sorted is true.
func (q *Query) sortedBy(a access) (sorted, reverse bool) {
	if q.Pattern == nil {
		return true, false
	}
	switch {
	case !a.index.Collation.Equal(q.collation):
		return false, false
	case a.index.Kind.Name == "wildcard":
		return q.sortedByWildcard(a)
	case !a.index.IsOrdered() && a.index.Kind.Name != "hashed":
		return false, false
	}
	fields, dirs := a.index.Fields(), a.index.Dirs()
	i := 0
	flip := 0 // 0 undetermined, 1 forward, -1 reverse
	for _, part := range q.Pattern.Parts {
		if part.Meta != "" {
			return false, false
		}
		name := part.Path.String()
		for i < len(fields) && fields[i] != name && isOnePoint(a.bounds[i]) {
			i++
		}
		if i < len(fields) && fields[i] == name {
			if a.index.Multikey.Field(i) && !q.ordersArrays(a) || a.index.Parts[i].Plugin != "" {
				return false, false
			}
			d := 1
			if part.Dir != dirs[i] {
				d = -1
			}
			if isOnePoint(a.bounds[i]) {
				d = flip // equal values fit both directions
			}
			if flip != 0 && d != 0 && d != flip {
				return false, false
			}
			if d != 0 {
				flip = d
			}
			i++
			continue
		}
		if fixedByEquality(fields[:i], a.bounds, name) {
			continue
		}
		return false, false
	}
	return true, flip < 0
}

func isOnePoint(f FieldBounds) bool { return len(f.Intervals) == 1 && f.IsPoint() }

// fixedByEquality reports whether a sort field is one of fields and bounded to one value, so that it does not
// affect the order.
func fixedByEquality(fields []string, b Bounds, name string) bool {
	for i, f := range fields {
		if f == name && isOnePoint(b[i]) {
			return true
		}
	}
	return false
}

// explodeMax limits the number of index scans that planSortMerge merges for one query.
const explodeMax = 200

// planSortMerge plans a sort by the fields of an index that follow fields bounded to several values. It merges
// one scan for each of the values, each of which is in order. It returns nil if the index does not fit or delivers
// the order anyway, if the sort names a field that is bounded to several values, or beyond explodeMax scans.
// Manual: core/query-plans (SORT_MERGE).
func (q *Query) planSortMerge(ix *catalog.Index, cs []conjunct) *Solution {
	if q.Pattern == nil || !ix.IsOrdered() || ix.ID == 1 && !q.Coll.PhysicalID() {
		return nil
	}
	a, ok := q.indexAccess(ix, cs, approach{})
	if !ok || a.bounded == 0 || a.bounds.Empty() {
		return nil
	}
	if sorted, _ := q.sortedBy(a); sorted {
		return nil
	}
	one := a
	one.bounds = append(Bounds(nil), a.bounds...)
	scans := 1
	for k, f := range a.bounds[:len(a.bounds)-1] {
		if !f.IsPoint() {
			return nil
		}
		if len(f.Intervals) > 1 && q.Pattern.Names(ix.Fields()[k]) {
			return nil // the field's value differs between scans, and the merge compares only the fields after it
		}
		if scans *= len(f.Intervals); scans > explodeMax {
			return nil
		}
		one.bounds[k] = f.only(0)
		if sorted, reverse := q.sortedBy(one); sorted {
			return q.mergePoints(ix, cs, a, k+1, reverse)
		}
	}
	return nil
}

// mergePoints returns the plan that merges, in sort order, one index scan for each combination of the values of
// the first n fields.
func (q *Query) mergePoints(ix *catalog.Index, cs []conjunct, a access, n int, reverse bool) *Solution {
	left, rest := unused(cs, a.used), match.Node(nil)
	covered := q.covers(ix, cs, a)
	m := &SortMerge{Pattern: q.Pattern, Index: ix, Fields: n, Reverse: reverse, Dedupe: a.repeats}
	combos := []Bounds{nil}
	for _, f := range a.bounds[:n] {
		var next []Bounds
		for _, c := range combos {
			for i := range f.Intervals {
				next = append(next, append(c[:len(c):len(c)], f.only(i)))
			}
		}
		combos = next
	}
	for i, c := range combos {
		one := a
		one.bounds = append(c, a.bounds[n:]...)
		one.repeats = one.canRepeat()
		scan := q.indexScan(ix, one, reverse)
		scan.Sibling = i > 0
		if covered {
			scan.Rebuild, scan.Filter = true, left
		} else if i == 0 {
			rest = q.filterKeys(scan, cs, a.used)
		} else {
			first := m.Branches[0].(*IndexScan)
			scan.Filter, scan.Tested, scan.NullsDiffer, scan.Computed = first.Filter, first.Tested, first.NullsDiffer, first.Computed
		}
		m.Branches = append(m.Branches, scan)
	}
	var node Node = m
	if !covered {
		node = newFetch(m, rest)
	}
	s := q.finish(node, true, ix.Name, covered)
	s.guess = a.guess(q) + 7
	return s
}
