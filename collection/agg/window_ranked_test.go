package agg

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/internal/casefile"
)

// rankedCalls are calls of the accumulators that, over a moving window, remove the documents that leave it. The values
// of v have ties of different types.
var rankedCalls = []string{
	`{$top: {sortBy: {v: 1}, output: "$_id"}}`, `{$top: {sortBy: {v: -1, w: 1}, output: ["$v", "$_id"]}}`,
	`{$bottom: {sortBy: {v: 1}, output: "$_id"}}`, `{$bottom: {sortBy: {w: -1}, output: "$missing"}}`,
	`{$topN: {n: 2, sortBy: {v: 1}, output: "$_id"}}`, `{$topN: {n: 3, sortBy: {w: -1}, output: "$v"}}`,
	`{$bottomN: {n: 2, sortBy: {v: 1}, output: "$_id"}}`, `{$bottomN: {n: 40, sortBy: {v: -1}, output: "$_id"}}`,
	`{$minN: {n: 2, input: "$v"}}`, `{$maxN: {n: 3, input: "$v"}}`, `{$minN: {n: 1, input: "$w"}}`, `{$maxN: {n: 50, input: "$w"}}`,
	`{$firstN: {n: 2, input: "$v"}}`, `{$lastN: {n: 3, input: "$v"}}`, `{$lastN: {n: 30, input: "$_id"}}`, `{$firstN: {n: 30, input: "$missing"}}`,
}

// The accumulators of rankedCalls have, over windows that move, the values that $group has for the documents of the
// window: of each window, or of every twelfth if there are 700 documents.
func TestRandomRankedWindows(t *testing.T) {
	values := []string{"1", "1.0", "NumberLong(2)", "2", "3.5", "null", `"a"`, `"A"`, `"b"`, "[1, 2]", "{k: 1}", "NaN", "NumberDecimal(\"2.0\")", "true", "undefined"}
	for seed := range uint64(90) {
		r := rand.New(rand.NewPCG(seed, 23))
		var docs []string
		size := r.IntN(60)
		if seed%10 == 0 {
			size = 700 // several chunks
		}
		for i := range size {
			w := ""
			if r.IntN(4) > 0 {
				w = fmt.Sprintf(", w: %d", r.IntN(4+size/2))
			}
			docs = append(docs, fmt.Sprintf("{_id: %d, v: %s%s}", i, values[r.IntN(len(values))], w))
		}
		lo := r.IntN(12) - 8
		if size > 500 {
			lo = -400 - r.IntN(200)
		}
		hi := lo + r.IntN(10)
		if size > 500 {
			hi = r.IntN(3)
		}
		call := rankedCalls[r.IntN(len(rankedCalls))]
		run := func(docs []string, pipeline string, how way) string {
			w := &world{env: mql.NewEnv(context.Background()), docs: mustDocs(t, "["+strings.Join(docs, ", ")+"]"), memory: mql.StageBytesMax, ns: collection.Namespace{DB: "test", Coll: "c"}}
			if seed%3 == 0 {
				var err error
				if w.env.Collation, err = mql.ParseCollation(bsontest.Value(t, `{locale: "en", strength: 2}`)); err != nil {
					t.Fatal(err)
				}
			}
			w.pipeline = mustDocs(t, pipeline)
			return w.run(how)
		}
		var want []string
		step := 1 + size/60
		for i := 0; i < size; i += step {
			from, to := min(max(i+lo, 0), size), min(max(i+hi+1, 0), size)
			line := run(docs[from:max(from, to)], `[{$group: {_id: null, r: `+call+`}}, {$project: {_id: 0}}]`, whole)
			if line == "" { // no document, no group
				line = `{"r":[]}`
				if strings.HasPrefix(call, "{$top:") || strings.HasPrefix(call, "{$bottom:") {
					line = `{"r":null}`
				}
			}
			want = append(want, line)
		}
		pipeline := fmt.Sprintf(`[{$setWindowFields: {sortBy: {_id: 1}, output: {r: %s}}}, {$match: {_id: {$mod: [%d, 0]}}}, {$project: {_id: 0, r: 1}}]`,
			strings.TrimSuffix(call, "}")+fmt.Sprintf(", window: {documents: [%d, %d]}}", lo, hi), step)
		for _, how := range []way{whole, spilled} {
			if got := run(docs, pipeline, how); got != strings.Join(want, "\n") {
				t.Fatalf("seed %d, %s\n%s\n%s\n%s", seed, how, pipeline, docs, casefile.Diff(strings.Join(want, "\n"), got))
			}
		}
	}
}

// A list of ranked rows stays sorted while rows are inserted and removed in random order.
func TestRankedRows(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var l rankedRows
	var all []*rankedRow
	for i := range 20_000 {
		if grow := i < 8000; len(all) > 0 && (!grow || r.IntN(4) == 0) {
			at := r.IntN(len(all))
			l.remove(all[at])
			all = slices.Delete(all, at, at+1)
			continue
		}
		row := &rankedRow{key: []byte{byte(r.IntN(200))}, at: i}
		l.insert(row)
		all = append(all, row)
		if i%997 == 0 {
			sorted := slices.SortedFunc(slices.Values(all), (*rankedRow).compare)
			n := r.IntN(len(all) + 2)
			if got := slices.Collect(l.first(int64(n), false)); !slices.Equal(got, sorted[:min(n, len(sorted))]) {
				t.Fatalf("%d rows: the first %d are wrong", len(sorted), n)
			}
			if got := slices.Collect(l.first(int64(n), true)); !slices.Equal(got, sorted[max(0, len(sorted)-n):]) {
				t.Fatalf("%d rows: the last %d are wrong", len(sorted), n)
			}
		}
	}
	if len(all) == 0 && len(l.chunks) > 0 {
		t.Errorf("%d chunks of an empty list", len(l.chunks))
	}
}

func BenchmarkRankedWindow(b *testing.B) {
	for _, width := range []int{100, 1000} {
		b.Run(fmt.Sprint(width), func(b *testing.B) {
			env := mql.NewEnv(context.Background())
			window := fmt.Sprintf("{documents: [%d, 0]}", 1-width)
			stages := bsontest.Value(b, `[{$setWindowFields: {sortBy: {_id: 1}, output: {r: {$topN: {n: 3, sortBy: {v: 1}, output: "$v"}, window: `+window+`}}}}]`)
			list, _ := pipelineDocs(stages)
			p, err := Parse(env, list, Options{NS: collection.Namespace{DB: "test", Coll: "c"}})
			if err != nil {
				b.Fatal(err)
			}
			docs := &spool{}
			for i := range 3000 {
				d := bson.NewBuilder(nil)
				d.Int32("_id", int32(i))
				d.Int32("v", int32(i*7919%3001))
				if err := docs.add(env, d.Doc(), nil); err != nil {
					b.Fatal(err)
				}
			}
			stage := p.stages[0].(*windowStage)
			for b.Loop() {
				run := stage.out[0].fn.start(&partition{docs: docs, stage: stage})
				for i := range docs.len() {
					d := docs.docs[i]
					if err := run.at(env, bson.NewBuilder(nil), "r", i, d); err != nil {
						b.Fatal(err)
					}
				}
				run.close(env)
			}
		})
	}
}
