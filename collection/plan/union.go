package plan

import (
	"cmp"
	"slices"

	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/match"
)

// Limits of the plans of one $or.
const (
	unionsMax   = 6  // plans
	accessesMax = 3  // accesses of one clause that the plans use
	clausesMax  = 50 // an $or of more clauses has one plan
)

// union plans the first top-level $or whose branches all have an index; it returns nil if there is none. The first plan
// is the best guess.
// Manual: reference/operator/query/or#-or-clauses-and-indexes.
func (q *Query) union(cs []conjunct) []*Solution {
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
		if sols := q.unite(or, outer); sols != nil {
			return sols
		}
	}
	return nil
}

// unite returns the plans of one $or; nil if a clause has no index. outer is the rest of the filter: it bounds the
// indexes of the branches too, and what the bounds do not answer in every branch is tested on the fetched documents.
func (q *Query) unite(or *match.Or, outer []conjunct) (out []*Solution) {
	var clauses []clause
	for _, child := range textFirst(or.Children()) {
		if !q.mayContinue(branchWork) {
			return nil
		}
		c, ok := q.clause(child, outer)
		if !ok {
			return nil
		}
		clauses = append(clauses, c)
	}
	for _, choice := range choices(clauses) {
		out = append(out, q.uniteBy(clauses, choice, outer))
	}
	return out
}

// choices returns which access each clause of an $or uses, for each plan. The first plan uses the best guess of every
// clause, the next ones the second and the third of every clause, because clauses often resemble each other, and the
// last ones differ from the first in one clause.
func choices(clauses []clause) (out [][]int) {
	add := func(choice []int) {
		known := slices.ContainsFunc(out, func(c []int) bool { return slices.Equal(c, choice) })
		if !known && len(out) < unionsMax {
			out = append(out, choice)
		}
	}
	add(make([]int, len(clauses)))
	if len(clauses) > clausesMax {
		return out
	}
	for n := 1; n < accessesMax; n++ {
		choice := make([]int, len(clauses))
		for i, c := range clauses {
			choice[i] = max(0, min(n, len(c.accesses)-1))
		}
		add(choice)
	}
	for i, c := range clauses {
		for n := 1; n < len(c.accesses); n++ {
			choice := make([]int, len(clauses))
			choice[i] = n
			add(choice)
		}
	}
	return out
}

// uniteBy returns the union of the clauses of an $or by one choice of their accesses, merged if all are in sort order.
func (q *Query) uniteBy(clauses []clause, choice []int, outer []conjunct) *Solution {
	var branches []Node
	sorted := q.Pattern != nil
	answered := make([]bool, len(outer)) // by the bounds of all branches
	for i := range answered {
		answered[i] = true
	}
	for i := range clauses {
		n, branchSorted := clauses[i].branch(choice[i], answered)
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
	beside := slices.Clone(outer)
	for i := range beside {
		beside[i].outer = false
	}
	n = newFetch(n, unused(beside, answered))
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

// clause is one clause of an $or that is planned.
type clause struct {
	q        *Query     // for the clause alone
	cs       []conjunct // those of the clause, then those beside the $or
	own      int        // the number of those of the clause
	accesses []access   // the best guess first
	// other is the plan of a clause by something else than an index: by $text, or by the times of a time-series collection.
	// It is nil if there are accesses.
	other  Node
	sorted bool // other is in the order of the sort
}

// clause returns the possible accesses of one clause of an $or; ok is false if no index fits. outer are the conjuncts
// beside the $or, which bound the index too.
func (q *Query) clause(child match.Node, outer []conjunct) (c clause, ok bool) {
	sub := *q
	sub.Match = child
	cs := sub.conjuncts(child)
	for _, k := range cs {
		if t, ok := k.node.(*match.Text); ok {
			n, err := sub.textNode(t, cs)
			return clause{other: n}, err == nil && n != nil
		}
	}
	c = clause{q: &sub, cs: append(cs, outer...), own: len(cs)}
	c.accesses = sub.accesses(c.cs, c.own)
	if len(c.accesses) == 0 {
		c.other, c.sorted = sub.timeBranch(c.cs[:c.own])
	}
	return c, len(c.accesses) > 0 || c.other != nil
}

// branch plans the clause by one of its accesses. It clears those in answered, by conjunct beside the $or, that the
// bounds do not answer exactly. If the query has a sort, the plan fetches records, so that the branches can be merged in
// sort order.
func (c *clause) branch(n int, answered []bool) (_ Node, sorted bool) {
	if c.other != nil {
		clear(answered) // the conditions beside the $or do not restrict it
		return c.other, c.sorted
	}
	q, a := c.q, c.accesses[n]
	for i := range answered {
		answered[i] = answered[i] && a.used[c.own+i]
	}
	if a.bounds.Empty() {
		return &EOF{}, true
	}
	ix := a.index
	sorted, reverse := q.sortedBy(a)
	left := unused(c.cs, a.used)
	if ix.ID == 1 && !q.Coll.PhysicalID() {
		return q.idScan(ix, a, left, reverse && sorted), sorted
	}
	scan := q.indexScan(ix, a, reverse && sorted)
	if left = q.filterKeys(scan, c.cs, a.used); left != nil || q.Pattern != nil {
		return newFetch(scan, left), sorted
	}
	return scan, sorted
}

// accesses returns the accesses, among all indexes, with the most leading fields bounded to single values first, then
// those with the most bounded fields; at most accessesMax. Only the first own of the conjuncts are of the clause: an
// index that the others alone bound does not help, because it would deliver the same in each branch.
func (q *Query) accesses(cs []conjunct, own int) (all []access) {
	add := func(a access) {
		if a.bounded > 0 {
			all = append(all, a)
		}
	}
	try := func(ix *catalog.Index, at string) {
		a, can := q.indexAccess(ix, cs, approach{at: at})
		if !can {
			return
		}
		alone := a
		if a.bounded > 0 && own < len(cs) && !a.boundedBy(own) {
			if alone, can = q.indexAccess(ix, cs[:own], approach{at: at}); !can {
				return
			}
			alone.used = append(alone.used, make([]bool, len(cs)-own)...)
		}
		add(alone)
		for _, other := range q.otherLeads(ix, cs, a, at) {
			if own == len(cs) || other.boundedBy(own) {
				add(other)
			}
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
	slices.SortStableFunc(all, func(a, b access) int {
		return cmp.Or(cmp.Compare(b.points, a.points), cmp.Compare(b.bounded, a.bounded))
	})
	return q.withoutInferior(all)
}

// withoutInferior returns the first accesses without those that are bounded by no other conjuncts than an access before
// them, unless only they have the order of the sort.
func (q *Query) withoutInferior(all []access) (out []access) {
	for _, a := range all {
		inferior := slices.ContainsFunc(out, func(better access) bool {
			if slices.ContainsFunc(a.by, func(k int) bool { return !slices.Contains(better.by, k) }) {
				return false
			}
			sorted, _ := q.sortedBy(a)
			betterSorted, _ := q.sortedBy(better)
			return betterSorted || !sorted
		})
		if !inferior && len(out) < accessesMax {
			out = append(out, a)
		}
	}
	return out
}
