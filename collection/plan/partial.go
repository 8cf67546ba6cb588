package plan

import (
	"bytes"
	"slices"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/path"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/match"
)

// coversPartial reports whether a partial index contains every document that the query can match: the conjuncts of the
// query prove the filter of the index.
// Manual: core/index-partial#query-coverage.
func (q *Query) coversPartial(ix *catalog.Index, cs []conjunct) bool {
	return ix.Partial == nil || q.proves(ix, cs, match.Normalize(ix.Partial))
}

// proves reports whether each document that satisfies the conjuncts provably satisfies goal, a part of the filter of a
// partial index: each clause of an $and must be proved, one of an $or. An $or of the query proves what each of its
// clauses proves.
func (q *Query) proves(ix *catalog.Index, cs []conjunct, goal match.Node) bool {
	switch n := goal.(type) {
	case match.Always:
		return bool(n)
	case *match.And:
		return !slices.ContainsFunc(n.Children(), func(g match.Node) bool { return !q.proves(ix, cs, g) })
	case *match.Or:
		if slices.ContainsFunc(n.Children(), func(g match.Node) bool { return q.proves(ix, cs, g) }) {
			return true
		}
	}
	var condition conjunct
	condition.take(goal, nil)
	for _, c := range cs {
		for _, rule := range proofs {
			if rule.proves(q, ix, c, condition) {
				return true
			}
		}
	}
	return slices.ContainsFunc(cs, func(c conjunct) bool {
		or, ok := c.node.(*match.Or)
		return ok && !slices.ContainsFunc(or.Children(), func(clause match.Node) bool {
			return !q.mayContinue(branchWork) || !q.proves(ix, q.conjuncts(clause), goal)
		})
	})
}

// proof is a rule by which one conjunct of a query proves a condition of a partial index.
type proof struct {
	name   string
	proves func(q *Query, ix *catalog.Index, c, goal conjunct) bool
}

var proofs = [...]proof{
	{"the same condition", sameCondition},
	{"intervals within intervals", liesWithin},
	{"a value exists", provesExistence},
}

// sameCondition reports whether the conditions are equal. If the index has a different collation than the query, they
// must not compare text.
func sameCondition(q *Query, ix *catalog.Index, c, goal conjunct) bool {
	if c.node == nil || !bytes.Equal(match.String(c.node), match.String(goal.node)) {
		return false
	}
	return ix.Collation.Equal(q.collation) || goal.path != "" && collationFits(q, ix, goal.intervals)
}

// liesWithin reports whether the intervals of c lie within exact intervals of goal on the same path: a document that
// satisfies c then has a key that proves goal. Under a collation, intervals of text are in another order than here.
func liesWithin(q *Query, ix *catalog.Index, c, goal conjunct) bool {
	if c.path == "" || c.path != goal.path || c.scalar || !goal.exact || len(c.intervals) == 0 {
		return false
	}
	if ix.Collation != nil && match.EndWithText(c.intervals) || !collationFits(q, ix, c.intervals) {
		return false
	}
	return slices.EqualFunc(match.Intersect(c.intervals, goal.intervals), c.intervals, func(a, b match.Interval) bool {
		return bson.Compare(a.Lo, b.Lo, nil) == 0 && bson.Compare(a.Hi, b.Hi, nil) == 0 && a.LoInclusive == b.LoInclusive && a.HiInclusive == b.HiInclusive
	})
}

// provesExistence reports whether c requires a value at or below the path of goal, an $exists.
func provesExistence(_ *Query, _ *catalog.Index, c, goal conjunct) bool {
	l, ok := goal.node.(*match.Leaf)
	if !ok || l.Operator() != "$exists" || c.path == "" {
		return false
	}
	if n, ok := c.node.(interface{ RequiresValue() bool }); ok && c.path == goal.path && n.RequiresValue() {
		return true
	}
	// A missing value has the key null.
	p, err := path.Compile(c.path)
	return err == nil && !p.HasPosition() && p.HasPrefix(l.Path()) && !c.scalar && len(c.intervals) > 0 && !holdsNull(c.intervals)
}
