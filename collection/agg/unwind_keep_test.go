package agg

import (
	"context"
	"strings"
	"testing"

	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/bson/ejson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/mql"
)

// TestUnwindKeepsReadFields: the rows of an $unwind in an optimised pipeline hold only the fields that it and the later
// stages read.
func TestUnwindKeepsReadFields(t *testing.T) {
	const doc = `{_id: 1, v: [1, 2], u: [3, 4], d: {x: [5, 6], y: 7, z: {p: 8, q: 9}}, l: [{x: 1, y: 2}, 3], s: 4}`
	for _, c := range []struct{ pipeline, row string }{
		{`[{$unwind: "$v"}, {$group: {_id: "$v"}}]`, `{v: 1}`},
		{`[{$unwind: "$v"}, {$count: "n"}]`, `{v: 1}`},
		{`[{$unwind: {path: "$v", includeArrayIndex: "i.j"}}, {$group: {_id: "$i.j", n: {$sum: "$s"}}}]`, `{v: 1, s: 4, i: {j: NumberLong(0)}}`},
		{`[{$unwind: "$d.x"}, {$project: {"d.z.p": 1}}]`, `{_id: 1, d: {x: 5, z: {p: 8}}}`},
		{`[{$unwind: "$v"}, {$group: {_id: "$d.z", x: {$push: "$d.z.q"}}}]`, `{v: 1, d: {z: {p: 8, q: 9}}}`},
		// Of an array, nothing is left out: a filter distinguishes its elements.
		{`[{$unwind: "$v"}, {$match: {$or: [{v: 9}, {"l.x": {$ne: 7}}]}}, {$count: "n"}]`, `{v: 1, l: [{x: 1, y: 2}, 3]}`},
		// A path below a value that is no document: the whole value is kept.
		{`[{$unwind: "$v"}, {$set: {"s.t": 1, w: "$u"}}, {$group: {_id: "$s.t", w: {$first: "$w"}}}]`, `{v: 1, u: [3, 4], s: 4}`},
		// Stages that need whole documents.
		{`[{$unwind: "$v"}]`, ""},
		{`[{$unwind: "$v"}, {$sort: {v: 1}}]`, ""},
		{`[{$unwind: "$v"}, {$out: "o"}]`, ""},
		{`[{$unwind: "$v"}, {$group: {_id: "$v", x: {$push: "$$ROOT"}}}]`, ""},
		{`[{$unwind: "$v"}, {$replaceWith: {$mergeObjects: ["$$CURRENT", {a: 1}]}}]`, ""},
		{`[{$unwind: "$v"}, {$project: {u: 0}}]`, ""},
		{`[{$unwind: "$v"}, {$redact: "$$KEEP"}, {$count: "n"}]`, ""},
		{`[{$unwind: "$v"}, {$match: {$jsonSchema: {maxProperties: 9}}}, {$count: "n"}]`, ""},
		{`[{$unwind: "$v"}, {$facet: {a: [{$count: "n"}], b: [{$limit: 1}]}}]`, ""},
		{`[{$unwind: "$v"}, {$facet: {a: [{$count: "n"}], b: [{$group: {_id: "$s"}}]}}]`, `{v: 1, s: 4}`},
	} {
		want := c.row
		if want == "" {
			want = strings.Replace(doc, "v: [1, 2]", "v: 1", 1)
		}
		env := mql.NewEnv(context.Background())
		env.DB, env.JavaScript = "test", true
		p, err := Parse(env, mustDocs(t, c.pipeline), Options{NS: collection.Namespace{DB: "test", Coll: "c"}})
		if err != nil {
			t.Fatalf("%s: %v", c.pipeline, err)
		}
		p = p.Optimize()
		at := -1
		for i, s := range p.stages {
			if s.Name() == "$unwind" {
				at = i
			}
		}
		op, err := p.stages[at].Open(env, &poisonOp{docs: mustDocs(t, "["+doc+"]")}, nil)
		if err != nil {
			t.Fatal(err)
		}
		r, err := op.Next(env)
		if err != nil {
			t.Fatalf("%s: %v", c.pipeline, err)
		}
		if got, want := ejson.String(r.Doc), ejson.String(bsontest.Doc(t, want)); got != want {
			t.Errorf("%s: row %s, want %s", c.pipeline, got, want)
		}
		op.Close()
	}
}
