//go:build !invariants

// The build with the tag invariants overwrites and copies memory on purpose, so the allocations of a row are
// counted without this tag.

package exec_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/collection/exec"
	"github.com/cantledb/cantle/collection/plan"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/storage/pebblekv"
)

// bigWorld holds n documents of about 1 KiB.
func bigWorld(tb testing.TB, n int) *world {
	store, err := pebblekv.Open("", pebblekv.Options{InMemory: true})
	if err != nil {
		tb.Fatal(err)
	}
	w := newWorldIn(tb, store, "", 1, `{key: {a: 1}, name: "a_1"}`, `{key: {m: 1}, name: "m_1"}`, `{key: {a: 1, b: 1}, name: "ab"}`, `{key: {f0: 1}, name: "f0"}`)
	pad := strings.Repeat("x", 60)
	for i := range n {
		var fields []string
		for f := range 12 {
			fields = append(fields, fmt.Sprintf("f%d: %q", f, pad))
		}
		w.insert(bsontest.Doc(tb, fmt.Sprintf("{_id: %d, a: %d, b: %d, m: [%d, %d], %s}", i, i%10, i, i, i+1, strings.Join(fields, ", "))))
	}
	w.env.Meter = &ratelimit.Meter{}
	return w
}

// drain runs a plan of a find on the test's only shard to its end and returns the number of rows.
func (w *world) drain(tb testing.TB, q *plan.Query, sol *plan.Solution) (n int) {
	r, err := w.store.Snapshot(context.Background(), 0)
	if err != nil {
		tb.Fatal(err)
	}
	defer r.Close()
	op, err := exec.Build(sol.Shards, exec.Source{Coll: q.Coll, Shard: q.Coll.Map.Shards()[0], Reader: r})
	if err != nil {
		tb.Fatal(err)
	}
	defer op.Close()
	for {
		row, err := op.Next(w.env)
		if err != nil {
			tb.Fatal(err)
		}
		if row == nil {
			return n
		}
		n++
	}
}

// TestAllocsPlans checks the allocations of a row: none, up to measuring noise, except for the growth that a case
// allows as most. It compares plans over 100 and over 1,100 documents, so that the allocations of a plan as a whole do
// not count.
func TestAllocsPlans(t *testing.T) {
	const few, many = 100, 1100
	small, big := bigWorld(t, few), bigWorld(t, many)
	for _, c := range []struct {
		name, filter, sort, projection string
		count                          bool
		most                           float64 // per document
	}{
		{name: "scan", filter: `{f3: {$gt: "y"}, b: {$gte: 0}}`},
		{name: "scan and return", filter: `{f3: {$lt: "y"}}`},
		{name: "index and fetch", filter: `{a: {$gte: 0}}`, most: 0.05}, // the batch grows
		{name: "index, fetch and refuse", filter: `{a: {$gte: 0}, f3: "y"}`, most: 0.05},
		{name: "count", filter: `{a: {$gte: 0}}`, count: true},
		{name: "regex on keys, refused by its literal", filter: `{f0: /y$/}`},
		{name: "regex on keys, refused by the engine", filter: `{f0: /x[yz]/}`},
		{name: "regex on keys, counted", filter: `{f0: /x$/}`, count: true},
		{name: "covered", filter: `{a: {$gte: 0}}`, projection: `{_id: 0, a: 1, b: 1}`},
		{name: "array elements", filter: `{m: {$gte: 0}}`, most: 0.5}, // the set of records grows
		{name: "first of a sort", filter: `{}`, sort: `{f3: 1, b: -1}`, most: 0.7},
	} {
		measure := func(w *world) float64 {
			f := plan.Find{Filter: bsontest.Doc(t, c.filter)}
			if c.sort != "" {
				f.Sort, f.Limit = bsontest.Doc(t, c.sort), 5
			}
			if c.projection != "" {
				f.Projection = bsontest.Doc(t, c.projection)
			}
			q := w.query(f)
			q.KeysOnly = c.count
			sol := w.candidates(q)[0]
			return testing.AllocsPerRun(5, func() { w.drain(t, q, sol) })
		}
		// A few allocations per thousand rows are caused by the garbage collector, which empties a pool.
		if per := (measure(big) - measure(small)) / (many - few); per > max(c.most, 0.01) {
			t.Errorf("%s: %.2f allocations per document", c.name, per)
		}
	}
}

// BenchmarkScan measures a scan of documents of 1 KiB, with a filter that rejects all of them and one that accepts
// all, and of an index that returns all.
func BenchmarkScan(b *testing.B) {
	const n = 2000
	w := bigWorld(b, n)
	for name, filter := range map[string]string{"refuse": `{a: 5, b: {$gt: 1000000}}`, "return": `{b: {$gte: 0}}`, "index": `{a: {$gte: 0}}`} {
		b.Run(name, func(b *testing.B) {
			f := plan.Find{Filter: bsontest.Doc(b, filter)}
			if name != "index" {
				f.Hint = bson.Value{Type: bson.TypeDocument, Data: bsontest.Doc(b, "{$natural: 1}")}
			}
			q, err := plan.Canonical(w.env, w.coll, f)
			if err != nil {
				b.Fatal(err)
			}
			sols, err := q.Candidates(w.env)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				w.drain(b, q, sols[0])
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/doc")
		})
	}
}
