package exec_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/collection/exec"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/collection/plan"
	"github.com/cantledb/cantle/storage"
)

// openReader is a storage reader that counts the iterators that are open. Prefetch opens some of them on
// goroutines.
type openReader struct {
	storage.Reader
	open   atomic.Int64
	parked int // number of times that Park closed an iterator
}

func (r *openReader) Iter(ctx context.Context, of storage.Range, o storage.IterOptions) (storage.Iterator, error) {
	it, err := r.Reader.Iter(ctx, of, o)
	if err != nil {
		return nil, err
	}
	r.open.Add(1)
	return &openIterator{Iterator: it, reader: r}, nil
}

// openIterator is a counted iterator.
type openIterator struct {
	storage.Iterator
	reader *openReader
	closed bool
}

func (it *openIterator) Close() {
	if !it.closed {
		it.closed = true
		it.reader.open.Add(-1)
	}
	it.Iterator.Close()
}

// park parks an operator that reads from r, as a cursor is parked between two batches, and fails the test
// unless every iterator is closed. It waits for goroutines that read ahead: once their pages are full, nothing
// may be open.
func (r *openReader) park(t testing.TB, op exec.Operator) {
	before := r.open.Load()
	for _, done := op.Park(); !done; _, done = op.Park() {
		runtime.Gosched()
		before = r.open.Load()
	}
	if n := r.open.Load(); n > 0 {
		t.Fatalf("%d iterators stay open while their plan is parked", n)
	}
	if before > 0 {
		r.parked++
	}
}

// TestParkedResumes compares the rows of plans that are parked after two of three rows with the rows of the same
// plans without Park, run directly and from the plan cache. TestEveryPlanAnswersAlike, TestTextPlans and TestGeoPlans
// park the other plans.
func TestParkedResumes(t *testing.T) {
	for _, c := range []struct {
		key    string
		shards int
	}{{"", 1}, {`{k: "hashed"}`, 3}} {
		w := newWorld(t, c.key, c.shards, `{key: {a: 1, _id: 1}, name: "a_1"}`, `{key: {b: 1, _id: 1}, name: "b_1"}`)
		for i := range 400 {
			w.insert(bsontest.Doc(t, fmt.Sprintf("{_id: %d, k: %d, a: %d, b: [%d, %d]}", i, i, i%7, i%5, i%11)))
		}
		for _, f := range []plan.Find{
			{Filter: bsontest.Doc(t, "{a: {$gt: 2}}"), Sort: bsontest.Doc(t, "{a: 1, _id: 1}"), Projection: bsontest.Doc(t, "{b: 1}")},
			{Filter: bsontest.Doc(t, "{a: {$gt: 2}}"), Sort: bsontest.Doc(t, "{a: 1, _id: 1}"), ReturnKey: true},
			{Filter: bsontest.Doc(t, "{$or: [{a: 3}, {b: 4}]}")},
			{Filter: bsontest.Doc(t, "{$or: [{a: 3}, {b: 4}]}"), Sort: bsontest.Doc(t, "{_id: -1}"), Skip: 3, Limit: 50},
			{Filter: bsontest.Doc(t, "{b: {$in: [1, 2]}}"), Sort: bsontest.Doc(t, "{b: 1, _id: 1}"), ShowRecordID: true},
		} {
			q := w.query(f)
			for _, sol := range w.candidates(q) {
				cached := *sol
				cached.Works, cached.Replan = 5, func(*mql.Env) (*plan.Solution, error) { return sol, nil }
				for _, s := range []*plan.Solution{sol, &cached} {
					w.awake = true
					want := w.run(q, s)
					w.awake = false
					if got := w.run(q, s); !slices.Equal(got, want) || len(got) == 0 {
						t.Errorf("%s sorted by %s: %d rows when parked, %d otherwise", f.Filter, f.Sort, len(got), len(want))
					}
				}
			}
		}
	}
}
