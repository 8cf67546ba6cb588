package exec_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/collection/plan"
	"github.com/cantledb/cantle/internal/testenv"
)

// TestTimeOrder compares the plans of random queries on a time-series collection, by ranges of time and in the order of
// time, with a scan. Many documents have equal times, or times so far away that they share a position.
func TestTimeOrder(t *testing.T) {
	w := newWorld(t, "", 1, `{key: {n: 1, t: 1}, name: "nt"}`, `{key: {t: 1}, name: "t_1"}`)
	w.coll.Options.TimeSeries, w.coll.Options.TimeField = bsontest.Doc(t, `{timeField: "t"}`), "t"
	r := rand.New(rand.NewPCG(3, 5))
	far := []int64{math.MinInt64, math.MinInt64 + 1, -1 << 51, 1 - 1<<51, 2 - 1<<51, 1<<51 - 2, 1<<51 - 1, 1 << 51, math.MaxInt64 - 1, math.MaxInt64}
	time := func() string {
		ms := int64(r.IntN(20) - 5)
		if r.IntN(3) == 0 {
			ms = far[r.IntN(len(far))]
		}
		return fmt.Sprintf(`{$date: {$numberLong: "%d"}}`, ms)
	}
	for _, i := range r.Perm(150) {
		w.insert(bsontest.Doc(t, fmt.Sprintf(`{_id: %d, t: %s, n: %d}`, i, time(), r.IntN(4))))
	}
	condition := func() string {
		switch r.IntN(9) {
		case 0:
			return time()
		case 1:
			return fmt.Sprintf("{$in: [%s, %s, null]}", time(), time())
		case 2:
			return fmt.Sprintf("{$ne: %s}", time())
		case 3:
			return fmt.Sprintf("{$not: {$gte: %s}}", time())
		case 4:
			return oneText(r, `{$gt: 5}`, `{$type: "date"}`, `{$exists: true}`, `null`, `{$lt: MaxKey}`, `{$gte: MinKey}`, `{$nin: ["a", null]}`)
		case 5:
			return fmt.Sprintf("{$gte: %s, $lt: %s}", time(), time())
		}
		return fmt.Sprintf("{%s: %s}", oneText(r, "$gt", "$gte", "$lt", "$lte"), time())
	}
	filter := func() string {
		switch r.IntN(6) {
		case 0:
			return "{}"
		case 1:
			return fmt.Sprintf("{n: %d}", r.IntN(4))
		case 2:
			return fmt.Sprintf("{n: %d, t: %s}", r.IntN(4), condition())
		case 3:
			return fmt.Sprintf("{$or: [{t: %s}, {t: %s, n: %d}], n: {$lt: 3}}", condition(), condition(), r.IntN(4))
		case 4:
			return fmt.Sprintf("{$expr: {%s: ['$t', %s]}}", oneText(r, "$gt", "$gte", "$lt", "$lte", "$eq"), time())
		}
		return fmt.Sprintf("{t: %s}", condition())
	}
	orders := []string{"{t: 1}", "{t: -1}", "{t: 1, _id: 1}", "{t: 1, _id: -1}", "{t: -1, _id: 1}", "{n: 1, t: -1, _id: 1}"}
	queries := 600
	if testenv.IsLong() {
		queries = 6000
	}
	for range queries {
		f := plan.Find{Filter: bsontest.Doc(t, filter())}
		by := orders[r.IntN(len(orders))]
		if r.IntN(3) > 0 {
			f.Sort = bsontest.Doc(t, by)
		}
		unique := f.Sort == nil || strings.Contains(by, "_id")
		if unique && f.Sort != nil && r.IntN(2) == 0 {
			f.Skip, f.Limit = int64(r.IntN(3)), int64(1+r.IntN(20))
		}
		if unique {
			w.compare(f)
		} else {
			w.compareTimes(f)
		}
		if r.IntN(3) == 0 {
			w.compareKeys(f.Filter)
		}
	}
	for _, stage := range []string{"CLUSTERED_IXSCAN", "COLLSCAN", "IXSCAN nt", "IXSCAN t_1", "OR", "SORT", "SORT_MERGE", "time order", "EOF"} {
		if w.used[stage] < 1 {
			t.Errorf("%s was never planned", stage)
		}
	}
	if w.parked == 0 {
		t.Error("no plan was parked with an iterator open")
	}
}

func oneText(r *rand.Rand, of ...string) string { return of[r.IntN(len(of))] }

// compareTimes compares the candidates of a find that is sorted by t alone with the scan: they must have the same
// documents, and the same times in the same order.
func (w *world) compareTimes(f plan.Find) {
	w.t.Helper()
	times := func(rows []string) []string {
		out := make([]string, len(rows))
		for i, row := range rows {
			out[i] = string(bson.Raw(row).Get("t").Data)
		}
		return out
	}
	q := w.query(w.natural(f))
	want := w.run(q, w.candidates(q)[0])
	q = w.query(f)
	for _, s := range w.candidates(q) {
		visitPlan(s.Shards, func(n plan.Node) {
			if _, ok := n.(*plan.TimeSort); ok {
				w.used["time order"]++
			}
		})
		got := w.run(q, s)
		w.same(f, s, times(got), times(want), true)
		w.same(f, s, got, want, false)
	}
}

// visitPlan calls visit for each node of a plan.
func visitPlan(n plan.Node, visit func(plan.Node)) {
	visit(n)
	for _, in := range n.Inputs() {
		visitPlan(in, visit)
	}
}
