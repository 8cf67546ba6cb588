package agg

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/ejson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/compat-tests/casefile"
)

// TestRandomPipelines runs random pipelines over random documents in every way:
// optimised, divided and spilled answers equal the plain one.
func TestRandomPipelines(t *testing.T) {
	for seed := range uint64(150) {
		g := generator{rand.New(rand.NewPCG(seed, 7))}
		docs := g.docs(60)
		foreign := g.docs(20)
		text := g.pipeline()
		answers := map[way]string{}
		for _, how := range []way{whole, optimised, divided, spilled} {
			w := &world{env: mql.NewEnv(context.Background()), docs: docs, foreign: map[string][]bson.Raw{"f": foreign}, memory: mql.StageBytesMax, ns: collection.Namespace{DB: "test", Coll: "c"}}
			w.env.DB = "test"
			w.pipeline = mustDocs(t, text)
			answers[how] = sortedLines(rounded(w.run(t, how)))
		}
		for how, got := range answers {
			if got != answers[whole] {
				t.Fatalf("seed %d, %s\npipeline %s\n%s", seed, how, text, casefile.Diff(answers[whole], got))
			}
		}
	}
}

// generator makes random documents and pipelines.
type generator struct{ *rand.Rand }

func (g generator) pick(list ...string) string { return list[g.IntN(len(list))] }

func (g generator) value(depth int) string {
	if depth > 0 {
		switch g.IntN(4) {
		case 0:
			var items []string
			for range g.IntN(4) {
				items = append(items, g.value(depth-1))
			}
			return "[" + strings.Join(items, ", ") + "]"
		case 1:
			return fmt.Sprintf("{x: %s, y: %s}", g.value(depth-1), g.value(0))
		}
	}
	return g.pick("1", "2", "3", "2.5", "NumberLong(2)", `"a"`, `"b"`, "null", "true", `NumberDecimal("3")`, "7", `"c"`)
}

func (g generator) docs(n int) []bson.Raw {
	var out []bson.Raw
	for i := range n {
		text := fmt.Sprintf("{_id: %d", i)
		for _, f := range [...]string{"a", "b", "c", "d"} {
			if g.IntN(5) > 0 {
				text += fmt.Sprintf(", %s: %s", f, g.value(2))
			}
		}
		d, err := ejson.Parse(text + "}")
		if err != nil {
			panic(err)
		}
		out = append(out, d)
	}
	return out
}

func (g generator) path() string { return g.pick("a", "b", "c", "d", "a.x", "b.y", "c.x.y", "_id") }

func (g generator) match() string {
	switch g.IntN(5) {
	case 0:
		return fmt.Sprintf(`{$match: {"%s": %s}}`, g.path(), g.value(1))
	case 1:
		return fmt.Sprintf(`{$match: {"%s": {$gte: %s}, "%s": {$ne: %s}}}`, g.path(), g.value(0), g.path(), g.value(0))
	case 2:
		return fmt.Sprintf(`{$match: {$or: [{"%s": {$in: [%s, %s]}}, {"%s": {$exists: false}}]}}`, g.path(), g.value(0), g.value(0), g.path())
	case 3:
		return fmt.Sprintf(`{$match: {$expr: {$gt: ["$%s", %s]}}}`, g.path(), g.value(0))
	}
	return fmt.Sprintf(`{$match: {"%s": {$type: "number"}}}`, g.path())
}

func (g generator) pipeline() string {
	var stages []string
	for range 1 + g.IntN(4) {
		stages = append(stages, g.stage())
	}
	return "[" + strings.Join(stages, ", ") + "]"
}

func (g generator) stage() string {
	f := g.pick("a", "b", "c", "d")
	switch g.IntN(14) {
	case 0, 1, 2:
		return g.match()
	case 3:
		return fmt.Sprintf(`{$unwind: {path: "$%s", preserveNullAndEmptyArrays: %s}}`, f, g.pick("true", "false"))
	case 4:
		return fmt.Sprintf(`{$addFields: {%s: "$%s", "e.%s": {$ifNull: ["$%s", 0]}}}`, f, g.path(), f, g.path())
	case 5:
		return fmt.Sprintf(`{$project: {%s: 1, z: "$%s", "b.y": 1}}`, g.pick("a", "c", "d"), g.path())
	case 6:
		return fmt.Sprintf(`{$project: {"%s": 0}}`, g.pick("a", "b.x", "c", "d.y"))
	case 7:
		return fmt.Sprintf(`{$sort: {"%s": %s, _id: 1}}, {$limit: %d}, {$match: {%s: {$ne: 5}}}`, g.pick("a", "b", "c.x"), g.pick("1", "-1"), 1+g.IntN(40), f)
	case 8:
		return fmt.Sprintf(`{$sort: {_id: %s}}, {$skip: %d}, {$limit: %d}`, g.pick("1", "-1"), g.IntN(10), 1+g.IntN(30))
	case 9:
		return fmt.Sprintf(`{$lookup: {from: "f", localField: "%s", foreignField: "%s", as: "%s"}}`, g.path(), g.pick("a", "b.x", "_id", "d"), g.pick("j", "a", "b.j"))
	case 10:
		return fmt.Sprintf(`{$lookup: {from: "f", localField: "%s", foreignField: "%s", as: "j"}}, {$unwind: "$j"}, {$match: {"j.a": %s, %s: {$ne: 3}}}`, g.path(), g.pick("a", "b.x", "_id", "d"), g.value(0), f)
	case 11:
		return fmt.Sprintf(`{$group: {_id: %s, n: {$sum: "$%s"}, avg: {$avg: "$%s"}, lo: {$min: "$%s"}, hi: {$max: "$%s"}, c: {$count: {}}, top: {$top: {sortBy: {_id: 1}, output: "$%s"}}, mn: {$minN: {input: "$_id", n: 3}}}}`,
			g.pick(`"$a"`, `{a: "$a", b: "$b"}`, "null", `"$c.x"`), f, f, f, f, f)
	case 12:
		return fmt.Sprintf(`{$unionWith: {coll: "f", pipeline: [%s]}}`, g.match())
	}
	return fmt.Sprintf(`{$count: "%s"}`, f)
}
