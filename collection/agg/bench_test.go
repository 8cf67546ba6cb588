package agg

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/exec"
	"github.com/cantledb/cantle/collection/mql"
)

// loopOp delivers the same documents again and again.
type loopOp struct {
	docs    []bson.Raw
	at, end int
	row     exec.Row
}

func (o *loopOp) Next(*mql.Env) (*exec.Row, error) {
	if o.at == o.end {
		return nil, nil
	}
	o.row.Doc = o.docs[o.at%len(o.docs)]
	o.at++
	return &o.row, nil
}
func (o *loopOp) Explain(*bson.Builder, bool) {}
func (o *loopOp) Park() (int, bool)           { return 0, true }
func (o *loopOp) Close()                      {}

// benchDocs returns 1000 documents of about a KiB, whose field k has ten values.
func benchDocs(b testing.TB) []bson.Raw {
	var docs []bson.Raw
	for i := range 1000 {
		d := bsontest.Doc(b, fmt.Sprintf(`{_id: %d, k: "k%d", pad: "%s", n: %d, f: %d.5, tail: "x"}`, i, i%10, strings.Repeat("p", 900), i%100, i))
		docs = append(docs, d)
	}
	return docs
}

// BenchmarkPipeline measures documents through a pipeline.
func BenchmarkPipeline(b *testing.B) {
	for name, text := range map[string]string{
		"match-group-1KiB":  `[{$match: {n: {$lt: 50}}}, {$group: {_id: "$k", s: {$sum: "$n"}, a: {$avg: "$f"}, c: {$count: {}}}}]`,
		"group-1KiB":        `[{$group: {_id: "$k", s: {$sum: "$n"}}}]`,
		"sort-limit-1KiB":   `[{$sort: {f: -1}}, {$limit: 100}]`,
		"unwind-group":      `[{$addFields: {v: {$range: [0, 100]}}}, {$unwind: "$v"}, {$group: {_id: "$v"}}]`,
		"addFields-project": `[{$addFields: {x: {$add: ["$n", 1]}}}, {$project: {x: 1, k: 1}}]`,
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			env := mql.NewEnv(context.Background())
			p, err := Parse(env, mustDocs(b, text), Options{NS: collection.Namespace{DB: "test", Coll: "c"}})
			if err != nil {
				b.Fatal(err)
			}
			docs := benchDocs(b)
			b.ResetTimer()
			op, err := p.Optimize().Open(env, &loopOp{docs: docs, end: b.N}, nil)
			if err != nil {
				b.Fatal(err)
			}
			for {
				r, err := op.Next(env)
				if err != nil {
					b.Fatal(err)
				}
				if r == nil {
					break
				}
			}
			op.Close()
		})
	}
}

// TestAllocsGroup checks that $group allocates nothing for a document whose group exists already.
func TestAllocsGroup(t *testing.T) {
	env := mql.NewEnv(context.Background())
	p, err := Parse(env, mustDocs(t, `[{$match: {n: {$lt: 50}}}, {$group: {_id: "$k", s: {$sum: "$n"}, a: {$avg: "$f"}, m: {$max: "$n"}}}]`), Options{NS: collection.Namespace{DB: "test", Coll: "c"}})
	if err != nil {
		t.Fatal(err)
	}
	docs := benchDocs(t)
	run := func(n int) float64 {
		return testing.AllocsPerRun(3, func() {
			op, err := p.Open(env, &loopOp{docs: docs, end: n}, nil)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := op.Next(env); err != nil {
				t.Fatal(err)
			}
			op.Close()
		})
	}
	if few, many := run(1000), run(20000); many > few+5 {
		t.Errorf("%v allocations for 1000 documents, %v for 20000", few, many)
	}
}

// TestAllocsReopen checks that a $match whose filter takes long to normalize does so only when it is first opened: a
// $lookup opens it for each row.
func TestAllocsReopen(t *testing.T) {
	env := mql.NewEnv(context.Background())
	allocs := func(text string) float64 {
		p, err := Parse(env, mustDocs(t, text), Options{NS: collection.Namespace{DB: "test", Coll: "c"}})
		if err != nil {
			t.Fatal(err)
		}
		return testing.AllocsPerRun(10, func() {
			op, err := p.Open(env, &loopOp{}, nil)
			if err != nil {
				t.Fatal(err)
			}
			op.Close()
		})
	}
	short := allocs(`[{$match: {a: 1}}]`)
	if long := allocs(`[{$match: {$or: [{a: 1, b: 2}, {a: 3, $expr: {$gt: ["$b", 3]}}, {c: {$in: [1, 2]}, b: 5}]}}]`); long > short {
		t.Errorf("%v allocations to open a short $match, %v to open a long one", short, long)
	}
}
