package plan

import (
	"slices"

	"github.com/cantledb/cantle/bson/keystring"
	"github.com/cantledb/cantle/bson/path"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/order"
)

// distinct plans a scan that reads one entry per value of a path and skips to the next value each time. Each index field
// before the path must be bounded to single values; with several of them, the scan reads the values of the path for each.
// Conditions on later fields are bounds too, and what the bounds do not answer is tested on the keys. It returns nil if the
// index does not fit, or if the query has a sort, skip or limit.
// Manual: reference/command/distinct#index-use, reference/operator/aggregation/group#optimizations.
func (q *Query) distinct(ix *catalog.Index, cs []conjunct) *Solution {
	at := slices.Index(ix.Fields(), q.Distinct)
	if at < 0 || !ix.IsOrdered() || ix.Collation != nil || q.Pattern != nil || q.Limit > 0 || q.Skip > 0 || !rebuildable(ix.Fields()) {
		return nil
	}
	if ix.ID == 1 { // every _id is distinct
		return nil
	}
	if q.Edge != nil {
		return q.distinctEdge(ix, cs, at)
	}
	a, ok := q.indexAccess(ix, cs, approach{later: true})
	if !ok || a.bounds.Empty() || slices.ContainsFunc(a.bounds[:at], func(f FieldBounds) bool { return !f.IsPoint() }) {
		return nil
	}
	left := unused(cs, a.used)
	elements := ix.Multikey.Field(at)
	if left != nil && !q.covers(ix, cs, a) || elements && !(q.Elements && a.holdsElements(at)) {
		return nil
	}
	scan := q.indexScan(ix, a, false)
	scan.Distinct, scan.Elements, scan.Rebuild, scan.Filter, scan.Dedupe = at+1, elements, true, left, false
	s := q.finish(scan, true, ix.Name, true)
	// Bounds behind an unbounded field take a seek more for each value, and a filter may read every entry.
	if s.Certain = left == nil && !(a.bounds[0].IsFull() && a.bounded > 0); s.Certain {
		s.guess = 40
	} else {
		s.guess = 12
	}
	return s
}

// holdsElements reports whether the entries within the bounds have, as values of field i, all elements of the arrays of
// all matching documents and no other values, except where the value is an empty array or an array in an array: no
// bounds exclude elements, and no other component of the path than the last has held an array.
func (a *access) holdsElements(i int) bool {
	p := a.index.Parts[i].Path
	return a.bounds[i].IsFull() && a.index.Multikey.OnlyAtEnd(i) && !p.HasPosition()
}

// distinctEdge plans a distinct scan for a query with Edge: the fields before the path are bounded to one value each, the
// bounds answer the whole filter, and the fields behind the path have the order of Edge. Documents are fetched unless the
// keys contain all that is read.
func (q *Query) distinctEdge(ix *catalog.Index, cs []conjunct, at int) *Solution {
	a, ok := q.indexAccess(ix, cs, approach{})
	if !ok || ix.Multikey.Any() || a.bounds.Empty() || unused(cs, a.used) != nil {
		return nil
	}
	if slices.ContainsFunc(a.bounds[:at], func(f FieldBounds) bool { return !isOnePoint(f) }) {
		return nil
	}
	reverse, ok := q.fromEdge(a, at)
	if !ok {
		return nil
	}
	covered := q.covers(ix, nil, a) // the bounds answer all conjuncts
	scan := q.indexScan(ix, a, reverse)
	scan.Distinct, scan.Rebuild, scan.Dedupe = at+1, covered, false
	var n Node = scan
	if !covered {
		n = newFetch(scan, nil)
	}
	s := q.finish(n, true, ix.Name, covered)
	s.guess = 40
	s.Certain = true
	return s
}

// fromEdge returns the direction in which a scan of the access reads, for each value of the field at, the document
// of Edge before the others of this value; ok is false if there is none. The direction of the field itself
// does not matter.
func (q *Query) fromEdge(a access, at int) (reverse, ok bool) {
	dir := a.index.Dirs()[at]
	for _, d := range [...]keystring.Dir{dir, -dir} {
		value := order.Part{Path: path.Must(q.Distinct), Name: q.Distinct, Dir: d}
		by := *q
		by.Pattern = &order.Pattern{Parts: append([]order.Part{value}, q.Edge.Parts...)}
		if sorted, reverse := by.sortedBy(a); sorted {
			return reverse != q.EdgeLast, true
		}
	}
	return false, false
}

// SkipsToEdges reports whether the plan is the distinct scan of an Edge, which delivers little more than the documents
// that the caller needs.
func (s *Solution) SkipsToEdges() bool {
	n := s.Shards
	if f, ok := n.(*Fetch); ok {
		n = f.Input
	}
	scan, ok := n.(*IndexScan)
	return ok && scan.Distinct > 0
}
