package plan

import (
	"slices"
	"strings"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/index"
	"github.com/cantledb/cantle/collection/match"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/collection/order"
)

// Solution is a physical plan for one query.
type Solution struct {
	// Shards runs on each targeted shard: access, filter, and as much of sort,
	// skip and limit as a shard can do alone.
	Shards Node
	// Pattern merges the shards' rows; nil when their order is free.
	Pattern *order.Pattern
	// Skip and Limit are applied to the merged rows.
	Skip, Limit int64
	// Point says that the plan reads single records by key.
	Point bool
	// Index is the name of the index used, "" for a scan.
	Index string
	// Sorted says that the index delivers the order, without a sort.
	Sorted bool
	// Certain says that no other plan can be better: no trial is needed.
	Certain bool
	// guess is how good the planner thinks the plan is, beside the other candidates.
	guess float64

	Choice
}

// Choice is what became of a candidate, told by whoever chose among all of them: it is no
// part of the plan.
type Choice struct {
	// Rejected are the other candidates, set by whoever chose.
	Rejected []*Solution
	// Filtered says that an index filter restricted the candidates.
	Filtered bool
	// Cached says that the choice came from the plan cache, Works what the plan did in
	// the trial that it won, and Again chooses anew when it does much worse now. Again
	// may be called by several goroutines.
	Cached bool
	Works  int64
	Again  func(env *mql.Env) (*Solution, error)
	// Tried is the tree with its counters after a trial, as explain prints it, and
	// Score what it got; nil without a trial.
	Tried bson.Raw
	Score float64
}

// Candidates lists the ways to answer the query, best guess first. There is
// always at least one.
//
// Errors: why the command is to end; BadValue (2) for a hint that names no index; 51174 and 51175 of min and
// max; IndexNotFound (27) for $text without a text index;
// NoQueryExecutionPlans (291) where only an index could answer.
func (q *Query) Candidates(env *mql.Env) ([]*Solution, error) {
	asked := *q
	asked.asking = &asking{env: env}
	sols, err := asked.candidatesAllowed()
	if ended := asked.asking.err; ended != nil {
		return nil, ended
	}
	if q.free != nil && (err != nil || len(sols) == 0) {
		return q.free.Candidates(env)
	}
	return sols, err
}

// asking is how planning learns that its command is to end: what it then has is of no use.
type asking struct {
	env *mql.Env
	err error
}

// branchWork and intervalWork are the work on a branch of an $or and on an interval of an
// index, in bytes as Spend counts them.
const (
	branchWork   = 1024
	intervalWork = 128
)

// goesOn asks, before a piece of work on so many bytes, whether to go on.
func (q *Query) goesOn(bytes int) bool {
	a := q.asking
	if a == nil {
		return true // a look at one index
	}
	if a.err == nil {
		a.err = a.env.Spend(bytes)
	}
	return a.err == nil
}

// candidatesAllowed is Candidates with what the query's settings allow: none if that is
// not enough.
func (q *Query) candidatesAllowed() ([]*Solution, error) {
	if q.text != nil {
		return q.fullText()
	}
	ix, err := q.hinted()
	if err != nil {
		return nil, err
	}
	if q.near != nil {
		return q.nearest(ix)
	}
	cs := conjuncts(q.Match)
	// min and max are keys of the index that was named: no other can take its place.
	if ix != nil && (q.Only == nil || !q.Min.IsEmpty() || !q.Max.IsEmpty()) {
		return q.byHint(ix, cs)
	}
	if q.Match == match.Node(match.Always(false)) {
		return q.only(q.finish(&EOF{}, true, "", false)), nil
	}
	if q.Natural != 0 {
		return q.only(q.scan(cs)), nil
	}
	if n := q.point(); n != nil && q.Only == nil {
		s := q.finish(n, true, "_id_", false)
		s.Point = true
		return q.only(s), nil
	}
	var out []*Solution
	indexes := q.indexes()
	for _, ix := range indexes {
		if q.Distinct != "" {
			if s := q.distinct(ix, cs); s != nil {
				out = append(out, s)
			}
		}
		out = append(out, q.through(ix, cs, false)...)
		if s := q.overPoints(ix, cs); s != nil {
			out = append(out, s)
		}
	}
	for _, s := range []*Solution{q.byShardKey(cs), q.union(cs), q.intersection(indexes, cs)} {
		if s != nil {
			out = append(out, s)
		}
	}
	if len(out) == 0 {
		if q.free != nil && !q.scans {
			return nil, nil
		}
		out = q.only(q.scan(cs))
	}
	sortByScore(out)
	return out, nil
}

func (q *Query) only(s *Solution) []*Solution {
	s.Certain = true
	return []*Solution{s}
}

// sortByScore puts the best guess first; equals keep their order.
func sortByScore(s []*Solution) {
	slices.SortStableFunc(s, func(a, b *Solution) int {
		switch {
		case a.guess > b.guess:
			return -1
		case a.guess < b.guess:
			return 1
		}
		return 0
	})
}

// Name identifies a solution among the candidates of its shape: stages and
// indexes, without bounds.
func (s *Solution) Name() string {
	var b strings.Builder
	var visit func(n Node)
	visit = func(n Node) {
		b.WriteString(n.Stage())
		switch n := n.(type) {
		case *IndexScan:
			b.WriteString(" " + n.Index.Name)
			if n.Reverse {
				b.WriteByte('-')
			}
			if i := slices.Index(n.Index.Fields(), index.WildcardPath); i >= 0 {
				b.WriteString(" " + n.Bounds[i].text(0, n.Index.Dirs()[i]))
			}
		case *GeoNear:
			b.WriteString(" " + n.Index.Name)
		}
		ins := n.Inputs()
		if m, ok := n.(*SortMerge); ok && m.Index != nil {
			ins = ins[:1] // how many there are is a matter of values
		}
		b.WriteByte('(')
		for _, in := range ins {
			visit(in)
		}
		b.WriteByte(')')
	}
	visit(s.Shards)
	return b.String()
}

// scan reads the whole collection.
func (q *Query) scan(cs []conjunct) *Solution {
	n := &RecordScan{Reverse: q.Natural < 0, Filter: unused(cs, make([]bool, len(cs))), Seeks: 1}
	n.Computed, n.Predicates = isComputed(n.Filter), beyondFirst(cs, n.Filter)
	s := q.finish(n, false, "", false)
	s.guess = -1
	return s
}

// byShardKey reads only the positions that the filter fixes; the records of a value
// of a hashed key, or of its leading levels, lie together.
func (q *Query) byShardKey(cs []conjunct) *Solution {
	rs := q.KeyRanges()
	if rs == nil {
		return nil
	}
	n := &RecordScan{Bounds: RecordBounds{Ranges: rs}, Filter: unused(cs, make([]bool, len(cs))), Seeks: len(rs)}
	n.Computed, n.Predicates = isComputed(n.Filter), beyondFirst(cs, n.Filter)
	s := q.finish(n, false, "", false)
	s.guess = 2
	return s
}

// through plans with one index, in as many ways as a wildcard stands for paths.
// forced takes the whole index if nothing bounds it.
func (q *Query) through(ix *catalog.Index, cs []conjunct, forced bool) (out []*Solution) {
	if ix.Text != nil {
		return nil // only $text asks for it
	}
	paths := []string{""}
	wildcard := ix.Kind.Name == "wildcard"
	if wildcard {
		paths = q.wildcardPaths(ix, cs)
		if !isWildcard(ix.Parts[0].Name) {
			paths = append(paths, "")
		}
	}
	for _, at := range paths {
		a, ok := q.indexAccess(ix, cs, at)
		if !ok && forced && !wildcard {
			a = q.fullAccess(ix, cs) // what the index leaves out is not found: the caller wants it
		} else if !ok || wildcard && a.bounded == 0 {
			continue
		}
		if s := q.solve(ix, cs, a, forced); s != nil {
			out = append(out, s)
		}
	}
	return out
}

// solve makes a solution of an access, nil if it does not help.
func (q *Query) solve(ix *catalog.Index, cs []conjunct, a access, forced bool) *Solution {
	sorted, reverse := q.sortedBy(a)
	covered := q.covers(ix, cs, a)
	if a.bounded == 0 && !(sorted && q.Pattern != nil) && !(covered && q.KeysOnly) && !forced {
		return nil
	}
	if a.bounds.Empty() {
		return q.finish(&EOF{}, true, ix.Name, false)
	}
	left := unused(cs, a.used)
	var n Node
	if ix.ID == 1 && !q.Coll.PhysicalID() {
		scan := q.idScan(ix, a, left, reverse)
		scan.Predicates = beyondFirst(cs, left)
		n = scan
	} else {
		scan := q.indexScan(ix, a, reverse)
		n = scan
		if covered {
			scan.Filter = left
			scan.Rebuild = left != nil || !q.counts() || q.Pattern != nil
			scan.Count = !scan.Rebuild
		} else {
			fetch := newFetch(scan, left)
			fetch.Predicates = beyondFirst(cs, left)
			n = fetch
		}
	}
	s := q.finish(n, sorted, ix.Name, covered)
	s.guess = a.guess(q)
	if sorted && q.Pattern != nil {
		s.guess += 8
	}
	if covered {
		s.guess += 3
	}
	if ix.Unique && a.points == len(a.bounds) && len(a.bounds) > 0 {
		s.guess += 20
		s.Certain = s.guess >= 30
	}
	return s
}

// counts reports that the caller only counts rows.
func (q *Query) counts() bool { return q.KeysOnly && len(q.NeedKeys) == 0 && q.Transform == nil }

// guess is how good an access looks: points before ranges, more fields
// before fewer.
func (a *access) guess(*Query) float64 {
	return float64(10*a.points+5*min(a.bounded-a.points, 1)) + float64(a.bounded)
}

// indexScan makes the scan of an access.
func (q *Query) indexScan(ix *catalog.Index, a access, reverse bool) *IndexScan {
	n := &IndexScan{Index: ix, Bounds: a.bounds, Key: a.key, Reverse: reverse, Seeks: a.bounds.Seeks(), Dedupe: a.repeats, WithKey: q.needsKey()}
	if i := slices.Index(ix.Fields(), index.WildcardPath); i >= 0 && n.Seeks > 1 && !a.bounds[i].IsFull() {
		n.Seeks = max(1, n.Seeks-len(a.bounds[i].Intervals)) // path and value are one predicate
	}
	if a.key != nil {
		n.Seeks = 1
	}
	return n
}

func newFetch(in Node, filter match.Node) *Fetch {
	return &Fetch{Input: in, Filter: filter, Computed: isComputed(filter), Predicates: predicates(filter)}
}

// idScan reads records in _id order: the _id_ index of a collection whose record
// key is that index.
func (q *Query) idScan(ix *catalog.Index, a access, left match.Node, reverse bool) *RecordScan {
	by := q.indexScan(ix, a, reverse)
	n := &RecordScan{Bounds: RecordBounds{IDs: a.bounds[0].Intervals}, Reverse: reverse, Filter: left, Seeks: by.Seeks, ByID: by, Computed: isComputed(left), Predicates: predicates(left)}
	if a.key != nil {
		n.Bounds.IDs = append(n.Bounds.IDs[:0:0], a.key.Bounds)
	}
	n.Count = left == nil && q.counts() && q.Pattern == nil
	by.Count = n.Count
	return n
}

// predicates returns the number of comparisons and the like in a filter.
func predicates(n match.Node) (count int) {
	if n == nil {
		return 0
	}
	match.Walk(n, func(n match.Node) {
		switch n.(type) {
		case *match.And, *match.Or, *match.Nor, *match.Not, *match.Always:
		default:
			if len(n.Children()) == 0 {
				count++
			}
		}
	})
	return count
}

// beyondFirst returns the number of predicates in the rest of a filter that the price list charges: the query's first is free, be it tested
// on documents or answered by an index, which some are and are tested again.
func beyondFirst(cs []conjunct, left match.Node) int {
	all := 0
	for _, c := range cs {
		all += predicates(c.node)
	}
	return min(predicates(left), max(0, all-1))
}

// isComputed reports a filter that the price list calls a computed test: an
// expression, JavaScript, or a regular expression without an anchor.
func isComputed(n match.Node) bool {
	if n == nil {
		return false
	}
	if match.Features(n)&(match.UsesExpr|match.UsesWhere) != 0 {
		return true
	}
	computed := false
	match.Walk(n, func(n match.Node) {
		if l, ok := n.(*match.Leaf); ok && l.Operator() == "$regex" {
			computed = computed || strings.HasSuffix(match.Shape(l), "$regex")
		}
	})
	return computed
}

// noPlans is the error of a query that only an index could answer.
func (q *Query) noPlans(format string) error {
	return q.planning(mongoerr.NoQueryExecutionPlans, format)
}
