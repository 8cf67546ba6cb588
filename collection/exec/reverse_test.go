package exec_test

import (
	"fmt"
	"testing"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/bson/ejson"
	"github.com/cantledb/cantle/collection/exec"
	"github.com/cantledb/cantle/collection/plan"
)

// TestReverseScanJumps: a backward index scan, like a forward one, jumps over keys outside of its bounds.
func TestReverseScanJumps(t *testing.T) {
	w := newWorld(t, "", 1, `{key: {a: 1, b: 1}, name: "ab"}`)
	for i := range 1000 {
		w.insert(bsontest.Doc(t, fmt.Sprintf("{_id: %d, a: %d, b: %d}", i, i/100, i%100)))
	}
	for _, c := range []struct {
		find    plan.Find
		rows    int
		keysMax int64
	}{
		{plan.Find{Filter: bsontest.Doc(t, `{a: {$gte: 0}, b: 7}`), Sort: bsontest.Doc(t, `{a: -1}`)}, 10, 40},
		{plan.Find{Filter: bsontest.Doc(t, `{a: {$gte: 0}, b: 7}`), Sort: bsontest.Doc(t, `{a: 1}`)}, 10, 40},
		{plan.Find{Filter: bsontest.Doc(t, `{a: {$gte: 2, $lt: 5}, b: {$in: [3, 90]}}`), Sort: bsontest.Doc(t, `{a: -1, b: -1}`)}, 6, 25},
		{plan.Find{Filter: bsontest.Doc(t, `{a: {$gt: 0}, b: {$gt: 97}}`), Sort: bsontest.Doc(t, `{a: -1, b: -1}`)}, 18, 40},
		{plan.Find{Filter: bson.Empty, Sort: bsontest.Doc(t, `{a: -1, b: -1}`), Hint: bson.Value{Type: bson.TypeDocument, Data: bsontest.Doc(t, "{a: 1, b: 1}")}}, 1000, 1000},
	} {
		q := w.query(c.find)
		var sol *plan.Solution
		for _, s := range w.candidates(q) {
			if s.Index == "ab" && s.Sorted {
				sol = s
			}
		}
		if sol == nil {
			t.Fatalf("%s sort %s: no plan reads the index in order", c.find.Filter, c.find.Sort)
		}
		r, err := w.store.Snapshot(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		op, err := exec.Build(sol.Shards, exec.Source{Coll: w.coll, Shard: w.coll.Map.Shards()[0], Reader: r})
		if err != nil {
			t.Fatal(err)
		}
		rows := 0
		for {
			row, err := op.Next(w.env)
			if err != nil {
				t.Fatal(err)
			}
			if row == nil {
				break
			}
			rows++
		}
		op.Close()
		r.Close()
		b := bson.NewBuilder(nil)
		op.Explain(b, true)
		stage := b.Doc()
		if keys := deepest(stage, "keysExamined"); rows != c.rows || keys > c.keysMax || keys < int64(c.rows) {
			t.Errorf("%s sort %s: %d rows, want %d; %d keys, want at most %d\n%s", c.find.Filter, c.find.Sort, rows, c.rows, keys, c.keysMax, ejson.String(stage))
		}
	}
}

// deepest returns the value of a field of the innermost stage.
func deepest(stage bson.Raw, name string) int64 {
	if in, ok := stage.Get("inputStage").Doc(); ok {
		return deepest(in, name)
	}
	n, _ := stage.Get(name).AsInt64()
	return n
}
