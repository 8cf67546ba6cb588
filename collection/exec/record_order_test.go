package exec_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/collection/exec"
	"github.com/cantledb/cantle/collection/plan"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/storage"
)

// lookupReader is a reader that counts the records that are looked up by their keys.
type lookupReader struct {
	*openReader
	lookups int
}

func (r *lookupReader) GetMany(ctx context.Context, keys [][]byte, emit func(i int, value []byte) error) error {
	r.lookups += len(keys)
	return r.openReader.GetMany(ctx, keys, emit)
}

// TestFetchInRecordOrder: a fetch of many rows whose order is not needed finds the same documents, at the same price, by
// few lookups, behind the first ones in the order of the records.
func TestFetchInRecordOrder(t *testing.T) {
	const n = 3000
	for _, shards := range []int{1, 3} {
		key := map[int]string{1: "", 3: `{_id: "hashed"}`}[shards]
		w := newWorld(t, key, shards, `{key: {a: 1}, name: "a_1"}`)
		m := rand.New(rand.NewPCG(1, 2))
		for id, a := range m.Perm(n) {
			w.insert(bsontest.Doc(t, fmt.Sprintf("{_id: %d, a: [%d, %d], b: %d}", id, a, m.IntN(n), id%5)))
		}
		for _, c := range []struct {
			filter string
			looked int // records that may be looked up by key, per shard
		}{
			{"{a: {$gte: 0}}", 1400}, // those of batches in the order of the index, and of the last batch
			{"{a: {$gte: 0}, b: {$in: [0, 1, 2]}}", 1400},
			{"{a: {$lt: 1000}}", n},
			{"{a: 5}", n},
		} {
			q := w.query(plan.Find{Filter: bsontest.Doc(t, c.filter)})
			want, paid, _, _ := w.fetched(q)
			q.AnyOrder = true
			got, paidToo, looked, ascending := w.fetched(q)
			if slices.Sort(got); !slices.Equal(got, slices.Sorted(slices.Values(want))) {
				t.Errorf("%d shards: %s: %d documents, expected %d", shards, c.filter, len(got), len(want))
			}
			if paid != paidToo {
				t.Errorf("%d shards: %s: costs %v in any order, else %v", shards, c.filter, paidToo, paid)
			}
			if looked > c.looked*shards {
				t.Errorf("%d shards: %s: %d lookups of records, expected at most %d", shards, c.filter, looked, c.looked*shards)
			}
			if shards == 1 && len(got) > 2000 && ascending < len(got)/3 {
				t.Errorf("%s: only the last %d of %d documents are in the order of records", c.filter, ascending, len(got))
			}
		}
	}
}

// fetched runs the first plan of a query, parked after some rows. It returns the values of _id in the order of
// delivery, the charge, the number of records looked up by key, and the number of rows at the end whose _id ascend.
func (w *world) fetched(q *plan.Query) (ids []int64, paid ratelimit.MicroRU, looked, ascending int) {
	w.t.Helper()
	sol := w.candidates(q)[0]
	if sol.Index != "a_1" {
		w.t.Fatalf("the plan of %s reads the index %q", q.Filter, sol.Index)
	}
	snapshot, err := w.store.Snapshot(context.Background(), 0)
	if err != nil {
		w.t.Fatal(err)
	}
	defer snapshot.Close()
	r := &lookupReader{openReader: &openReader{Reader: snapshot}}
	env := w.env.Fork(context.Background())
	env.Meter = &ratelimit.Meter{}
	env.Meter.Reset(1, ratelimit.Normative())
	for _, d := range w.coll.Map.Shards() {
		op, err := exec.Build(sol.Shards, exec.Source{Coll: w.coll, Shard: d, Reader: storage.Reader(r)})
		if err != nil {
			w.t.Fatal(err)
		}
		for {
			row, err := op.Next(env)
			if err != nil {
				w.t.Fatal(err)
			}
			if row == nil {
				break
			}
			id, _ := row.Doc.Get("_id").AsInt64()
			if ascending++; len(ids) > 0 && id < ids[len(ids)-1] {
				ascending = 1
			}
			if ids = append(ids, id); len(ids)%500 == 0 {
				r.park(w.t, op)
			}
		}
		op.Close()
	}
	return ids, env.Meter.Total(), r.lookups, ascending
}
