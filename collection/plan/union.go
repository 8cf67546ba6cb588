package plan

import (
	"slices"

	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/match"
)

// union plans the first top-level $or whose branches all have an index; it returns nil if there is none.
// Manual: reference/operator/query/or#-or-clauses-and-indexes.
func (q *Query) union(cs []conjunct) *Solution {
	for k, c := range cs {
		or, ok := c.node.(*match.Or)
		if !ok {
			continue
		}
		outer := make([]conjunct, 0, len(cs)-1)
		for i, c := range cs {
			if i != k {
				c.outer = true
				outer = append(outer, c)
			}
		}
		if s := q.unite(or, outer); s != nil {
			return s
		}
	}
	return nil
}

// unite plans the branches of one $or and their union, merged if all are in sort order. outer is the rest of
// the filter: it bounds the indexes of the branches too, and what the bounds do not answer in every branch is tested on
// the fetched documents.
func (q *Query) unite(or *match.Or, outer []conjunct) *Solution {
	var branches []Node
	sorted := q.Pattern != nil
	answered := make([]bool, len(outer)) // by the bounds of all branches
	for i := range answered {
		answered[i] = true
	}
	for _, child := range textFirst(or.Children()) {
		if !q.mayContinue(branchWork) {
			return nil
		}
		n, branchSorted := q.branch(child, outer, answered)
		if n == nil {
			return nil
		}
		branches = append(branches, n)
		sorted = sorted && branchSorted
	}
	for _, b := range branches[1:] {
		markSibling(b)
	}
	var n Node = &Or{Branches: branches}
	if sorted {
		n = &SortMerge{Pattern: q.Pattern, Branches: branches, Dedupe: true}
	}
	for i := range outer {
		outer[i].outer = false
	}
	n = newFetch(n, unused(outer, answered))
	s := q.finish(n, sorted || q.Pattern == nil, "", false)
	s.guess = 4
	return s
}

// textFirst returns the clauses of an $or with those that contain $text first. If several clauses match a
// document, the row of the first clause is kept, and it must have the text score.
func textFirst(clauses []match.Node) []match.Node {
	if !slices.ContainsFunc(clauses, usesText) {
		return clauses
	}
	out := slices.Clone(clauses)
	slices.SortStableFunc(out, func(a, b match.Node) int {
		switch {
		case usesText(a) == usesText(b):
			return 0
		case usesText(a):
			return -1
		}
		return 1
	})
	return out
}

func usesText(n match.Node) bool { return match.Features(n)&match.UsesText != 0 }

// markSibling marks the scans of one branch of an $or as siblings: visiting the shard is charged to the first
// branch only.
func markSibling(n Node) {
	switch n := n.(type) {
	case *IndexScan:
		n.Sibling = true
	case *RecordScan:
		n.Sibling = true
	default:
		for _, in := range n.Inputs() {
			markSibling(in)
		}
	}
}

// branch plans one branch of an $or; n is nil if no index fits. outer are the conjuncts beside the $or, which bound the
// index too; branch clears those in answered that the bounds do not answer exactly. If the query has a sort, the plan
// fetches records, so that the branches can be merged in sort order.
func (q *Query) branch(child match.Node, outer []conjunct, answered []bool) (n Node, sorted bool) {
	sub := *q
	sub.Match = child
	cs := sub.conjuncts(child)
	for _, c := range cs {
		if t, ok := c.node.(*match.Text); ok {
			clear(answered)
			n, err := sub.textNode(t, cs)
			if err != nil {
				return nil, false
			}
			return n, false
		}
	}
	own := len(cs)
	cs = append(cs, outer...)
	best, ok := sub.best(cs, own)
	if !ok {
		return sub.timeBranch(cs[:own], answered)
	}
	for i := range answered {
		answered[i] = answered[i] && best.used[own+i]
	}
	if best.bounds.Empty() {
		return &EOF{}, true
	}
	ix := best.index
	sorted, reverse := sub.sortedBy(best)
	left := unused(cs, best.used)
	if ix.ID == 1 && !q.Coll.PhysicalID() {
		return q.idScan(ix, best, left, reverse && sorted), sorted
	}
	scan := q.indexScan(ix, best, reverse && sorted)
	n = scan
	if left = q.filterKeys(scan, cs, best.used); left != nil || q.Pattern != nil {
		n = newFetch(n, left)
	}
	return n, sorted
}

// best returns the access, among all indexes, with the most leading fields bounded to single values, then the
// most bounded fields; ok is false if no index helps. Only the first own of the conjuncts are of the branch: an index
// that the others alone bound does not help, because it would deliver the same in each branch.
func (q *Query) best(cs []conjunct, own int) (best access, ok bool) {
	try := func(ix *catalog.Index, at string) {
		a, can := q.indexAccess(ix, cs, at)
		if can && a.bounded > 0 && own < len(cs) && !a.boundedBy(own) {
			a, can = q.indexAccess(ix, cs[:own], at)
			a.used = append(a.used, make([]bool, len(cs)-own)...)
		}
		if !can || a.bounded == 0 {
			return
		}
		if !ok || a.points > best.points || a.points == best.points && a.bounded > best.bounded {
			best, ok = a, true
		}
	}
	for _, ix := range q.indexes() {
		switch {
		case ix.Text != nil:
		case ix.Kind.Name == "wildcard":
			for _, at := range q.wildcardPaths(ix, cs[:own]) {
				try(ix, at)
			}
		default:
			try(ix, "")
		}
	}
	return best, ok
}
