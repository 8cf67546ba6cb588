package plan

import (
	"slices"
	"strconv"
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
	// Shards is the part of the plan that runs on each targeted shard: access, filter, and as much of sort,
	// skip and limit as a shard can do alone.
	Shards Node
	// Pattern is the order by which the shards' rows are merged; nil if any order will do.
	Pattern *order.Pattern
	// Skip and Limit are applied to the merged rows.
	Skip, Limit int64
	// Point reports that the plan reads single records by key.
	Point bool
	// Index is the name of the index used, "" for a scan or several indexes.
	Index string
	// Sorted reports that the index delivers the order, without a sort.
	Sorted bool
	// Certain reports that no other plan is allowed or can be better, so no trial is needed.
	Certain bool
	// guess is the planner's estimate; the best candidate has the largest.
	guess float64

	Choice
}

// Choice records how a solution was chosen among the candidates. It is not part of the plan; the chooser sets it.
type Choice struct {
	// Rejected are the other candidates.
	Rejected []*Solution
	// Filtered reports that an index filter restricted the candidates.
	Filtered bool
	// Cached reports that the choice came from the plan cache. Works is then the work of the plan in the trial that it won.
	// Replan chooses a new plan if the plan does much worse now; several goroutines may call it.
	Cached bool
	Works  int64
	Replan func(env *mql.Env) (*Solution, error)
	// Tried is the plan's tree of stages with its counters after a trial, as explain prints it, and Score its
	// score. Tried is nil without a trial.
	Tried bson.Raw
	Score float64
}

// Candidates returns the possible solutions of the query, best guess first. There is always at least one.
//
// Errors: the reason why the command must end; BadValue (2) for a hint that names no usable index; 51174 and 51175
// for keys of min and max that do not fit the index or have the wrong order; IndexNotFound (27) for $text without a
// text index, or a hint that matches several indexes; NoQueryExecutionPlans (291) if only an index could answer the
// query; 5626500 for $near on a time-series collection.
func (q *Query) Candidates(env *mql.Env) ([]*Solution, error) {
	asked := *q
	asked.asking = &asking{env: env}
	sols, err := asked.candidatesAllowed()
	if ended := asked.asking.err; ended != nil {
		return nil, ended
	}
	if q.unrestricted != nil && (err != nil || len(sols) == 0) {
		return q.unrestricted.Candidates(env)
	}
	return sols, err
}

// asking checks during planning whether the command must end. If err is set, the result of planning is unusable.
type asking struct {
	env *mql.Env
	err error
}

// branchWork and intervalWork are the cost of planning a branch of an $or and an interval of an index, in bytes for
// Env.Spend.
const (
	branchWork   = 1024
	intervalWork = 128
)

// mayContinue counts planning work on a number of bytes for the command's next check for interrupts. It is
// called before the work, and returns false if the command must end.
func (q *Query) mayContinue(bytes int) bool {
	a := q.asking
	if a == nil {
		return true // no command plans: a test of one index
	}
	if a.err == nil {
		a.err = a.env.Spend(bytes)
	}
	return a.err == nil
}

// candidatesAllowed returns the candidates for the query with the restrictions of its query settings
// (setQuerySettings). It returns none if they permit no plan.
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
	cs := q.conjuncts(q.Match)
	// Query settings replace the hint, except with min or max: these are keys of the hinted index, so no other can be
	// used.
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
		if s := q.planSortMerge(ix, cs); s != nil {
			out = append(out, s)
		}
	}
	if s := q.byShardKey(cs); s != nil {
		out = append(out, s)
	}
	out = append(out, q.union(cs)...)
	if s := q.intersection(indexes, cs); s != nil {
		out = append(out, s)
	}
	if s := q.byTime(cs, len(out) == 0); s != nil && q.Only == nil {
		out = append(out, s)
	}
	if len(out) == 0 {
		if q.unrestricted != nil && !q.scans {
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

// sortByScore sorts by guess, the best first. The sort is stable.
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

// Name identifies a solution among the candidates of its query shape, for the plan cache: its stages and indexes,
// with the direction, a wildcard's path and the conjunct that leads (approach.lead), without other bounds.
func (s *Solution) Name() string {
	var b strings.Builder
	var visit func(n Node)
	visit = func(n Node) {
		b.WriteString(n.Stage())
		switch n := n.(type) {
		case *IndexScan:
			b.WriteString(" " + n.Index.Name)
			if n.lead > 0 {
				b.WriteString("#" + strconv.Itoa(n.lead))
			}
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
			ins = ins[:1] // the number of inputs depends on values
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

// scan returns the plan that reads the whole collection.
func (q *Query) scan(cs []conjunct) *Solution {
	n := &RecordScan{Reverse: q.Natural < 0, Filter: unused(cs, make([]bool, len(cs))), Seeks: 1}
	n.Computed, n.Predicates = isComputed(n.Filter), beyondFirst(cs, n.Filter)
	s := q.finish(n, false, "", false)
	s.guess = -1
	return s
}

// byShardKey returns the plan that reads only the records at the positions that the filter fixes by a hashed shard key;
// nil if KeyRanges returns nil. The records with one value of a hashed key, or of its leading levels, are contiguous.
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

// through returns the plans that use one index. A wildcard index has a plan for each path for which it can be
// used. With forced, as for a hint, the plan reads the whole index if nothing bounds it.
func (q *Query) through(ix *catalog.Index, cs []conjunct, forced bool) (out []*Solution) {
	if ix.Text != nil {
		return nil // only $text uses a text index
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
		a, ok := q.indexAccess(ix, cs, approach{at: at})
		if !ok && forced && !wildcard {
			a = q.fullAccess(ix, cs) // forced: documents that the index leaves out are not found
		} else if !ok || wildcard && a.bounded == 0 {
			continue
		}
		if s := q.solve(ix, cs, a, forced); s != nil {
			out = append(out, s)
		}
		for _, a := range q.otherLeads(ix, cs, a, at) {
			if s := q.solve(ix, cs, a, forced); s != nil {
				out = append(out, s)
			}
		}
	}
	return out
}

// solve returns the plan that reads an index within the bounds of an access. Unless forced, it returns nil if the
// index neither restricts nor orders the query, nor covers a query with KeysOnly.
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
		n, covered = q.readIndex(q.indexScan(ix, a, reverse), cs, a, covered)
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

// readIndex returns the plan that reads the documents of an index scan, and whether the keys cover the query. covered
// is the result of covers.
func (q *Query) readIndex(scan *IndexScan, cs []conjunct, a access, covered bool) (Node, bool) {
	left := unused(cs, a.used)
	cover := func(scan *IndexScan) (Node, bool) {
		scan.Filter = left
		scan.Rebuild = left != nil || !q.counts() || q.Pattern != nil
		scan.Count = !scan.Rebuild
		return scan, true
	}
	counted := q.counts() && q.Pattern == nil && left != nil
	if covered && !counted {
		return cover(scan)
	}
	onKeys := *scan
	rest := q.filterKeys(&onKeys, cs, a.used)
	switch {
	case rest == nil && counted:
		onKeys.Counted = true
		return &onKeys, true
	case covered:
		return cover(scan)
	}
	fetch := newFetch(&onKeys, rest)
	fetch.Predicates = beyondFirst(cs, rest)
	return fetch, false
}

// counts reports whether the caller only counts rows.
func (q *Query) counts() bool { return q.KeysOnly && len(q.NeedKeys) == 0 && q.Transform == nil }

// guess returns the planner's score of an access, higher for a better one: points count more than ranges, more
// bounded fields more than fewer.
func (a *access) guess(*Query) float64 {
	return float64(10*a.points+5*min(a.bounded-a.points, 1)) + float64(a.bounded)
}

// indexScan makes the scan node of an access.
func (q *Query) indexScan(ix *catalog.Index, a access, reverse bool) *IndexScan {
	n := &IndexScan{Index: ix, Bounds: a.bounds, Key: a.key, Reverse: reverse, Seeks: a.bounds.Seeks(), Dedupe: a.repeats, WithKey: q.needsKey(), At: a.at, lead: a.lead}
	if i := slices.Index(ix.Fields(), index.WildcardPath); i >= 0 && n.Seeks > 1 && !a.bounds[i].IsFull() {
		n.Seeks = max(1, n.Seeks-len(a.bounds[i].Intervals)) // path and value count as one predicate
	}
	if a.key != nil {
		n.Seeks = 1
	}
	return n
}

func newFetch(in Node, filter match.Node) *Fetch {
	return &Fetch{Input: in, Filter: filter, Computed: isComputed(filter), Predicates: predicates(filter)}
}

// idScan returns a scan of records in _id order, with the bounds of an access to the _id_ index. It replaces
// this index in a collection whose records are stored in _id order.
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

// predicates returns the number of leaves of a filter.
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

// beyondFirst returns the number of predicates that the price list charges in left, the part of a filter that
// is tested on documents: all of left, but at most one less than the whole filter has, because a query's first
// predicate is free.
func beyondFirst(cs []conjunct, left match.Node) int {
	all := 0
	for _, c := range cs {
		all += predicates(c.node)
	}
	return min(predicates(left), max(0, all-1))
}

// isComputed reports whether a filter is a computed test of the price list: an expression, JavaScript, or a regular
// expression without an anchor.
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

// noPlans returns the error for a query that only an index could answer.
func (q *Query) noPlans(format string) error {
	return q.planning(mongoerr.NoQueryExecutionPlans, format)
}
