package plan

import (
	"math"
	"slices"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/match"
)

// timeAccess is the part of a time-series collection that a filter permits, by the time field alone: its records are
// stored in the order of their time.
type timeAccess struct {
	times []catalog.Times // nil permits every time, an empty list none
	used  []bool          // by conjunct: the times answer it exactly
}

// bounded reports whether the filter restricts the times.
func (a *timeAccess) bounded() bool { return a.times != nil }

// timeAccess returns the times that the conjuncts permit; ok is false for a collection without time order.
func (q *Query) timeAccess(cs []conjunct) (a timeAccess, ok bool) {
	o := &q.Coll.Options
	if o.TimeSeries == nil || q.Coll.Sharded() {
		return a, false
	}
	a.used = make([]bool, len(cs))
	var all [][]match.Interval
	var exact []int
	for i, c := range cs {
		if c.path != o.TimeField {
			continue
		}
		// A time is one date, so that no document has an array on the path.
		ivs, isExact := c.intervals, c.exact
		if c.flat != nil {
			ivs, isExact = c.flat, true
		}
		if !restricts(ivs) || q.collation != nil && match.EndWithText(ivs) || !q.mayContinue(len(ivs)*intervalWork) {
			continue
		}
		all = append(all, ivs)
		if isExact {
			exact = append(exact, i)
		}
	}
	if all == nil {
		return a, true
	}
	a.times = timesWithin(q.intersectAll(all))
	for _, t := range a.times {
		if t == (catalog.Times{From: math.MinInt64, To: math.MaxInt64}) {
			a.times = nil
			break
		}
		if !t.IsExact() {
			exact = nil
		}
	}
	for _, i := range exact {
		a.used[i] = true
	}
	return a, true
}

// anyDate is a date, to be compared with values of other types.
var anyDate = bson.Value{Type: bson.TypeDateTime, Data: make([]byte, 8)}

// timesWithin returns the times within ascending intervals of values. The result is not nil.
func timesWithin(ivs []match.Interval) []catalog.Times {
	out := []catalog.Times{}
	for _, iv := range ivs {
		t := catalog.Times{From: math.MinInt64, To: math.MaxInt64}
		lo, isDate := iv.Lo.DateTime()
		switch {
		case isDate && !iv.LoInclusive && lo == math.MaxInt64, !isDate && bson.Compare(iv.Lo, anyDate, nil) > 0:
			continue
		case isDate && !iv.LoInclusive:
			t.From = lo + 1
		case isDate:
			t.From = lo
		}
		hi, isDate := iv.Hi.DateTime()
		switch {
		case isDate && !iv.HiInclusive && hi == math.MinInt64, !isDate && bson.Compare(iv.Hi, anyDate, nil) < 0:
			continue
		case isDate && !iv.HiInclusive:
			t.To = hi - 1
		case isDate:
			t.To = hi
		}
		if t.From <= t.To {
			out = append(out, t)
		}
	}
	return out
}

// sortsByTime reports whether a scan in the order of time gives the query's order, with the help of TimeSort, and whether
// it must then read backwards. After the time, one more field is supported: an order by two arrays is an error, which
// must not depend on how many documents have the same time.
func (q *Query) sortsByTime() (sorted, reverse bool) {
	if q.Pattern == nil || len(q.Pattern.Parts) > 2 {
		return false, false
	}
	for _, part := range q.Pattern.Parts {
		if part.Meta != "" {
			return false, false
		}
	}
	first := q.Pattern.Parts[0]
	sorted = first.Path.String() == q.Coll.Options.TimeField
	return sorted, sorted && first.Dir < 0
}

// timeScan returns the scan of the records of an access that match the filter.
func (q *Query) timeScan(a timeAccess, left match.Node, reverse bool) *RecordScan {
	n := &RecordScan{Reverse: reverse, Filter: left, Seeks: 1, Times: a.times, Computed: isComputed(left), Predicates: predicates(left)}
	if a.bounded() {
		n.Bounds.Ranges = catalog.TimeRanges(a.times)
		n.Seeks = max(1, len(n.Bounds.Ranges))
	}
	return n
}

// byTime returns the plan that reads the records of a time-series collection in the order of their time, within the
// times that the filter permits; nil if it restricts nothing and does not give the order of a sort. Without a limit on
// the query, a plan that restricts nothing is returned only if it is the sole one: a sort of fewer documents can be
// cheaper.
// Manual: core/timeseries/timeseries-querying.
func (q *Query) byTime(cs []conjunct, sole bool) *Solution {
	a, ok := q.timeAccess(cs)
	if !ok {
		return nil
	}
	sorted, reverse := q.sortsByTime()
	switch {
	case !a.bounded() && !(sorted && (sole || q.Limit > 0)):
		return nil
	case a.bounded() && len(a.times) == 0:
		return q.finish(&EOF{}, true, "", false)
	}
	scan := q.timeScan(a, unused(cs, a.used), reverse)
	scan.Predicates = beyondFirst(cs, scan.Filter)
	scan.Count = scan.Filter == nil && q.counts() && q.Pattern == nil
	var n Node = scan
	if sorted {
		n = &TimeSort{Input: scan, Pattern: q.Pattern}
	}
	s := q.finish(n, sorted || q.Pattern == nil, "", false)
	s.guess = a.guess()
	if sorted {
		s.guess += 8
	}
	if scan.Count {
		s.guess += 3
	}
	return s
}

// timeBranch plans one branch of an $or on a time-series collection, if its conjuncts restrict the times; n is nil if not.
func (q *Query) timeBranch(cs []conjunct) (n Node, sorted bool) {
	a, ok := q.timeAccess(cs)
	if !ok || !a.bounded() || q.Only != nil {
		return nil, false
	}
	if len(a.times) == 0 {
		return &EOF{}, true
	}
	sorted, reverse := q.sortsByTime()
	scan := q.timeScan(a, unused(cs, a.used), reverse)
	if sorted {
		return &TimeSort{Input: scan, Pattern: q.Pattern}, true
	}
	return scan, false
}

// guess returns the planner's score of an access: one above that of an index on the time, whose documents must be
// fetched.
func (a *timeAccess) guess() float64 {
	switch {
	case !a.bounded():
		return 0
	case areInstants(a.times):
		return 12
	}
	return 7
}

// ReadsInstants reports whether a scan by time reads single times, as an equality permits them.
func (n *RecordScan) ReadsInstants() bool { return areInstants(n.Times) }

func areInstants(times []catalog.Times) bool {
	return !slices.ContainsFunc(times, func(t catalog.Times) bool { return t.From != t.To })
}

// IsPlain reports whether the order is that of the time alone: then most rows need no sort, and explain omits the node,
// because MongoDB has no such stage.
func (n *TimeSort) IsPlain() bool { return len(n.Pattern.Parts) == 1 }

// describeTimes prints the ends of the times that the scan reads, as those of the record identifiers of a clustered
// collection.
func (n *RecordScan) describeTimes(b *bson.Builder) {
	if len(n.Times) == 0 {
		return
	}
	if from := n.Times[0].From; from != math.MinInt64 {
		b.DateTime("minRecord", from)
	}
	if to := n.Times[len(n.Times)-1].To; to != math.MaxInt64 {
		b.DateTime("maxRecord", to)
	}
}
