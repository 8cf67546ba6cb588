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
	"github.com/cantledb/cantle/internal/casefile"
	"github.com/cantledb/cantle/internal/testenv"
)

// TestRandomPipelines runs random pipelines over random documents. The results of the optimised, divided and spilled
// pipeline must equal those of the pipeline as written, in any order, doubles to 12 digits.
func TestRandomPipelines(t *testing.T) {
	seeds := uint64(250)
	if testenv.IsNightly() {
		seeds = 20_000
	}
	for seed := range seeds {
		g := generator{rand.New(rand.NewPCG(seed, 7))}
		docs := g.docs(60)
		foreign := g.docs(20)
		text := g.pipeline()
		answers := map[way]string{}
		for _, how := range []way{whole, optimised, divided, spilled} {
			w := &world{env: mql.NewEnv(context.Background()), docs: docs, foreign: map[string][]bson.Raw{"f": foreign}, memory: mql.StageBytesMax, ns: collection.Namespace{DB: "test", Coll: "c"}}
			w.env.DB = "test"
			w.pipeline = mustDocs(t, text)
			answers[how] = sortedLines(rounded(w.run(how)))
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

// condition returns a random condition on a field.
func (g generator) condition() string {
	switch g.IntN(6) {
	case 0:
		return g.value(1)
	case 1:
		return fmt.Sprintf("{$in: [%s, %s]}", g.value(0), g.value(1))
	case 2:
		return fmt.Sprintf("{$%s: %s}", g.pick("gt", "gte", "lt", "lte", "ne"), g.value(0))
	case 3:
		return fmt.Sprintf("{$not: {$gte: %s}}", g.value(0))
	case 4:
		return fmt.Sprintf("{$exists: %s}", g.pick("true", "false"))
	}
	return fmt.Sprintf("{$type: %s}", g.pick(`"number"`, `"null"`, `"array"`, `"int"`))
}

func (g generator) pipeline() string {
	var stages []string
	for range 1 + g.IntN(4) {
		stages = append(stages, g.stage())
	}
	return "[" + strings.Join(stages, ", ") + "]"
}

// noTies is a $match before a sort by _id that drops documents whose _id is an array: an array sorts by one of
// its elements, which another document may have as its _id.
const noTies = `{$match: {_id: {$not: {$type: "array"}}}}, `

func (g generator) stage() string {
	f := g.pick("a", "b", "c", "d")
	switch g.IntN(23) {
	case 0, 1, 2:
		return g.match()
	case 14: // a filter that may move in front of the $group
		return fmt.Sprintf(`{$group: {_id: %s, n: {$sum: "$%s"}}}, {$match: {"%s": %s}}`,
			g.pick(`"$a"`, `{a: "$a", b: "$b"}`, `"$c.x"`), f, g.pick("_id", "_id.a", "_id.x", "n"), g.condition())
	case 15: // or in front of a rename
		return fmt.Sprintf(`{$%s: {%s: "$%s", e: "$%s"}}, {$match: {"%s": %s, "%s": %s}}`,
			g.pick("addFields", "project"), f, g.path(), g.pick("a", "b", "c"), f, g.condition(), g.pick("e", "e.x", "d"), g.condition())
	case 16: // or into a $lookup
		return fmt.Sprintf(`{$lookup: {from: "f", localField: "%s", foreignField: "%s", as: "j"%s}}, {$unwind: "$j"}, {$match: {"j.%s": %s}}`,
			g.path(), g.pick("a", "b.x", "_id", "d"), g.pick("", `, pipeline: [{$addFields: {a: "$b"}}]`), g.path(), g.condition())
	case 17: // or in front of windows
		return fmt.Sprintf(`{$unwind: "$%s"}, {$setWindowFields: {partitionBy: "$%s", sortBy: {_id: 1, %s: 1}, output: {w: {$sum: "$_id", window: {documents: [-1, 1]}}, r: {$documentNumber: {}}}}}, {$match: {%s: %s}}`,
			f, f, f, f, g.condition())
	case 18:
		return fmt.Sprintf(`{$sortByCount: "$%s"}, {$match: {_id: %s}}`, g.path(), g.condition())
	case 19:
		return fmt.Sprintf(`{$replaceWith: {_id: "$_id", %s: "$%s", k: {$const: 1}}}`, f, g.path())
	case 20:
		return fmt.Sprintf(`{$facet: {x: [%s, {$count: "n"}], y: [{$group: {_id: null, s: {$sum: "$_id"}, set: {$addToSet: "$k"}}}]}}`, g.match())
	case 21:
		return fmt.Sprintf(`{$redact: {$cond: [{$eq: ["$%s", %s]}, "$$PRUNE", "$$KEEP"]}}`, f, g.value(0))
	case 22:
		return fmt.Sprintf(`{$graphLookup: {from: "f", startWith: "$%s", connectFromField: "%s", connectToField: "_id", as: "g", maxDepth: 2}}, {$addFields: {g: {$size: "$g"}}}, {$match: {g: {$gt: 0}, %s: {$ne: 3}}}`, f, g.pick("a", "b", "d"), f)
	case 3:
		return fmt.Sprintf(`{$unwind: {path: "$%s", preserveNullAndEmptyArrays: %s}}`, f, g.pick("true", "false"))
	case 4:
		return fmt.Sprintf(`{$addFields: {%s: "$%s", "e.%s": {$ifNull: ["$%s", 0]}}}`, f, g.path(), f, g.path())
	case 5:
		return fmt.Sprintf(`{$project: {%s: 1, z: "$%s", "b.y": 1}}`, g.pick("a", "c", "d"), g.path())
	case 6:
		return fmt.Sprintf(`{$project: {"%s": 0}}`, g.pick("a", "b.x", "c", "d.y"))
	case 7:
		return fmt.Sprintf(noTies+`{$sort: {"%s": %s, _id: 1}}, {$limit: %d}, {$match: {%s: {$ne: 5}}}`, g.pick("a", "b", "c.x"), g.pick("1", "-1"), 1+g.IntN(40), f)
	case 8:
		return fmt.Sprintf(noTies+`{$sort: {_id: %s}}, {$skip: %d}, {$limit: %d}`, g.pick("1", "-1"), g.IntN(10), 1+g.IntN(30))
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
