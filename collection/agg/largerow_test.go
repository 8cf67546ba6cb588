package agg

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/collection/release"
)

// asked counts the checks whether the command must end.
type asked struct {
	context.Context
	n atomic.Int64
}

func (a *asked) Err() error { a.n.Add(1); return nil }

// TestLargeRowsCheckInterrupts: a pipeline that makes documents of a megabyte checks for each of them whether it
// must end, not for every 128th as with small documents.
func TestLargeRowsCheckInterrupts(t *testing.T) {
	const rows = 20
	pad := strings.Repeat("x", 1<<20)
	var docs []bson.Raw
	for i := range rows {
		b := bson.NewBuilder(nil)
		b.Int32("_id", int32(i))
		b.String("s", pad)
		docs = append(docs, b.Doc())
	}
	for _, pipeline := range []string{
		`[{$addFields: {x: 1}}]`,
		`[{$lookup: {from: "f", as: "x", pipeline: []}}]`,
		`[{$lookup: {from: "f", as: "x", let: {i: "$_id"}, pipeline: [{$match: {$expr: {$eq: ["$_id", "$$i"]}}}]}}]`,
		`[{$lookup: {from: "f", as: "x", localField: "_id", foreignField: "_id"}}]`,
		`[{$lookup: {from: "f", as: "x", localField: "_id", foreignField: "_id"}}, {$unwind: "$x"}]`,
		`[{$addFields: {r: [1, 2]}}, {$unwind: "$r"}]`,
		`[{$densify: {field: "_id", range: {step: 1, bounds: [0, 20]}}}]`,
		`[{$setWindowFields: {sortBy: {_id: 1}, output: {n: {$sum: 1, window: {documents: ["unbounded", "current"]}}}}}]`,
		`[{$graphLookup: {from: "f", startWith: "$_id", connectFromField: "_id", connectToField: "_id", as: "x"}}]`,
		`[{$redact: "$$KEEP"}]`,
	} {
		ctx := &asked{Context: t.Context()}
		w := &world{env: mql.NewEnv(ctx), docs: docs, foreign: map[string][]bson.Raw{"f": docs[:5]}, pipeline: mustDocs(t, pipeline),
			memory: mql.StageBytesMax, ns: collection.Namespace{DB: "test", Coll: "c"}}
		w.env.Release, w.env.ServerRelease = release.Default, release.Default
		if _, err := w.collect(whole); err != nil {
			t.Errorf("%s: %v", pipeline, err)
		}
		if n := ctx.n.Load(); n < rows {
			t.Errorf("%s: asked %d times for %d documents of a megabyte", pipeline, n, rows)
		}
	}
}
