package plan

import (
	"slices"

	"github.com/cantledb/cantle/collection/catalog"
)

// intersection plans a read of two indexes that fetches only the records found in both. It is useful if
// two equalities on different fields have an index each and no index has both fields: each scan alone
// would fetch records that the other one excludes. It does not support a sort or a range, which would
// have to read and hold a whole side.
// Manual: core/index-intersection.
func (q *Query) intersection(indexes []*catalog.Index, cs []conjunct) *Solution {
	if q.Pattern != nil || len(cs) < 2 || q.KeysOnly && !q.counts() {
		return nil
	}
	sided := 0 // most queries have at most one such index
	for _, ix := range indexes {
		if isSide(ix, cs) {
			sided++
		}
	}
	if sided < 2 {
		return nil
	}
	var sides []access
	for _, ix := range indexes {
		if !isSide(ix, cs) {
			continue
		}
		a, ok := q.indexAccess(ix, cs, approach{})
		if !ok || a.points == 0 || a.points != a.bounded || a.points != len(a.bounds) || a.bounds.Empty() {
			continue
		}
		if a.bounded > 1 {
			return nil // a compound index is better
		}
		if !isOnePoint(a.bounds[0]) || len(sides) > 0 && sides[0].index.Fields()[0] == ix.Fields()[0] {
			continue
		}
		sides = append(sides, a)
		if len(sides) == 2 {
			break
		}
	}
	if len(sides) < 2 {
		return nil
	}
	used := make([]bool, len(cs))
	n := &And{}
	for i, a := range sides {
		for k := range used {
			used[k] = used[k] || a.used[k]
		}
		scan := q.indexScan(a.index, a, false)
		scan.Sibling = i > 0
		n.Branches = append(n.Branches, scan)
	}
	left := unused(cs, used)
	var node Node = n
	if left != nil || !q.counts() {
		node = newFetch(n, left)
	}
	s := q.finish(node, true, "", false)
	s.guess = 10.5 // worse than the better of its sides, unless a trial shows otherwise
	return s
}

// isSide reports whether an index may be a side of an intersection: an ordered, non-unique index other than _id_ with
// a conjunct that bounds its first field.
func isSide(ix *catalog.Index, cs []conjunct) bool {
	return ix.IsOrdered() && !ix.Unique && ix.ID != 1 &&
		slices.ContainsFunc(cs, func(c conjunct) bool { return restricts(c.intervals) && c.path == ix.Fields()[0] })
}
