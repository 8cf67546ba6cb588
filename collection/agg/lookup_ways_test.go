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

// TestLookupWays runs random joins over random documents by every way in which the foreign collection may be read. The
// results must equal those of a sub-pipeline that no rule of $lookup divides, because it begins with a $limit that keeps
// all documents.
func TestLookupWays(t *testing.T) {
	defer func(n int) { lookupSpillScans = n }(lookupSpillScans)
	lookupSpillScans = 0
	seeds := uint64(200)
	if testenv.IsNightly() {
		seeds = 40_000
	}
	for seed := range seeds {
		g := joins{generator{rand.New(rand.NewPCG(seed, 42))}}
		docs, foreign := g.rows(1+g.IntN(60)), g.rows(g.IntN(40))
		head, sub := g.head(), g.sub()
		if !strings.Contains(head, "foreignField") && g.IntN(4) > 0 {
			sub = strings.TrimSuffix("{$match: {$expr: "+g.equality()+"}}, "+sub, ", ")
		}
		tail := g.pick("", `, {$unwind: "$r"}`, `, {$unwind: {path: "$r", preserveNullAndEmptyArrays: true}}`, `, {$unwind: "$r"}, {$match: {"r.a": {$gte: 2}}}`)
		text := func(first string) string {
			inner := "pipeline: [" + first + sub + "]"
			return fmt.Sprintf(`[{$lookup: {from: "f", as: "r", %s, %s}}%s]`, head, inner, tail)
		}
		collation := g.pick("", "", `{locale: "en", strength: 2}`)
		run := func(pipeline string, how way, a Access) string {
			return joined(t, docs, foreign, pipeline, collation, how, a)
		}
		want := run(text("{$limit: 100000}, "), whole, Access{Indexed: true})
		for _, a := range []Access{{}, {Indexed: true}, {Indexed: true, Direct: true}} {
			for _, how := range []way{whole, optimised, parked, spilled} {
				if how == spilled && a.Indexed {
					continue // nothing is read into a table
				}
				if got := run(text(""), how, a); got != want {
					t.Fatalf("seed %d, %s, %+v, collation %s\npipeline %s\n%s", seed, how, a, collation, text(""), casefile.Diff(want, got))
				}
			}
		}
	}
}

// TestGraphWays runs random $graphLookup stages with a table of the foreign documents, in memory and spilled, and
// without one, as if an index found them; the results must be equal.
func TestGraphWays(t *testing.T) {
	for seed := range uint64(100) {
		g := joins{generator{rand.New(rand.NewPCG(seed, 43))}}
		docs, foreign := g.rows(1+g.IntN(20)), g.rows(g.IntN(40))
		text := fmt.Sprintf(`[{$graphLookup: {from: "f", startWith: "$%s", connectFromField: "%s", connectToField: "%s", as: "g", depthField: "depth"%s}}]`,
			g.field(), g.field(), g.field(), g.pick("", ", maxDepth: 1", ", restrictSearchWithMatch: {n: {$gte: 2}}", `, restrictSearchWithMatch: {$expr: {$gt: ["$n", 1]}}`))
		collation := g.pick("", `{locale: "en", strength: 2}`)
		want := joined(t, docs, foreign, text, collation, whole, Access{Indexed: true})
		for _, how := range []way{whole, spilled} {
			if got := joined(t, docs, foreign, text, collation, how, Access{}); got != want {
				t.Fatalf("seed %d, %s, collation %s\npipeline %s\n%s", seed, how, collation, text, casefile.Diff(want, got))
			}
		}
	}
}

// joined runs a pipeline over docs and returns its result as text. foreign are the documents of the collection f, and a
// is the Access by which the stage chooses how it reads them.
func joined(t *testing.T, docs, foreign []bson.Raw, pipeline, collation string, how way, a Access) string {
	w := &world{env: mql.NewEnv(context.Background()), docs: docs, foreign: map[string][]bson.Raw{"f": foreign}, memory: mql.StageBytesMax, ns: collection.Namespace{DB: "test", Coll: "c"}, access: a}
	w.env.DB = "test"
	if collation != "" {
		c, err := mql.ParseCollation(mustDocs(t, "["+collation+"]")[0].Value())
		if err != nil {
			t.Fatal(err)
		}
		w.env.Collation = c
	}
	w.pipeline = mustDocs(t, pipeline)
	return w.run(how)
}

// joins makes random joins.
type joins struct{ generator }

// key returns a random value to join by.
func (g joins) key(depth int) string {
	if depth > 0 {
		switch g.IntN(6) {
		case 0:
			var items []string
			for range g.IntN(3) {
				items = append(items, g.key(depth-1))
			}
			return "[" + strings.Join(items, ", ") + "]"
		case 1:
			return fmt.Sprintf("{x: %s}", g.key(depth-1))
		}
	}
	return g.pick("1", "2", "2.0", "NumberLong(2)", `NumberDecimal("2")`, "3", "null", "undefined", `"a"`, `"A"`, `"b"`, "/a/", "true", "NaN", `NumberDecimal("NaN")`, "MinKey", `ISODate("2020-01-01")`)
}

func (g joins) rows(n int) (out []bson.Raw) {
	for i := range n {
		text := fmt.Sprintf("{_id: %d", i)
		for _, f := range [...]string{"a", "b"} {
			if g.IntN(5) > 0 {
				text += fmt.Sprintf(", %s: %s", f, g.key(2))
			}
		}
		d, err := ejson.Parse(fmt.Sprintf("%s, n: %d}", text, g.IntN(5)))
		if err != nil {
			panic(err)
		}
		out = append(out, d)
	}
	return out
}

func (g joins) field() string { return g.pick("a", "b", "a.x", "b.x", "n", "a.0", "a.x.x") }

// head returns random arguments of a $lookup: let with values of the row, and perhaps localField and foreignField.
func (g joins) head() string {
	if g.IntN(2) == 0 {
		return fmt.Sprintf(`let: {v: "$%s", w: "$n"}`, g.field())
	}
	return fmt.Sprintf(`localField: "%s", foreignField: "%s", let: {v: "$%s", w: "$n"}`, g.field(), g.field(), g.field())
}

// sub returns the stages of a random sub-pipeline.
func (g joins) sub() string {
	var stages []string
	for range g.IntN(3) {
		stages = append(stages, "{$match: {"+g.condition()+"}}")
	}
	cut := []string{fmt.Sprintf("{$limit: %d}", 1+g.IntN(3))}
	if g.IntN(2) == 0 {
		cut = append([]string{fmt.Sprintf("{$skip: %d}", g.IntN(3))}, cut...)
	}
	if g.IntN(2) == 0 {
		cut = append([]string{fmt.Sprintf("{$sort: {n: %s, _id: 1}}", g.pick("1", "-1"))}, cut...)
	}
	switch g.IntN(6) {
	case 0, 1:
		stages = append(stages, cut...)
	case 4:
		stages = append(stages, g.pick(`{$count: "c"}`, `{$group: {_id: null, c: {$sum: 1}}}`))
	case 2:
		stages = append(stages, `{$group: {_id: "$n", c: {$sum: 1}}}`, "{$sort: {_id: 1}}")
	case 3:
		stages = append(stages, `{$set: {q: "$$w"}}`, "{$match: {q: {$gte: 1}, n: {$lte: 3}}}")
	}
	return strings.Join(stages, ", ")
}

// equality returns an expression that requires an equality with the row's variable.
func (g joins) equality() string {
	f := g.field()
	return fmt.Sprintf(g.pick(`{$eq: ["$%s", "$$v"]}`, `{$eq: ["$$v", "$%s"]}`, `{$and: [{$gte: ["$n", "$$w"]}, {$eq: ["$%s", "$$v"]}]}`, `{$and: [{$and: [{$eq: ["$%s", "$$v"]}]}, {$lt: ["$$w", "$n"]}]}`,
		`{$and: [{$eq: ["$%s", "$$v"]}, {$and: [{$gte: ["$n", 2]}, {$ne: ["$a", 1]}]}]}`, `{$and: [{$lt: [null, "$a"]}, {$eq: ["$%s", "$$v"]}]}`), f)
}

func (g joins) condition() string {
	switch g.IntN(5) {
	case 0:
		return fmt.Sprintf(`"%s": %s`, g.field(), g.pick("2", "null", `"a"`, "{$gte: 2}", "{$ne: 2}", "{$exists: false}", `{$in: [1, "a"]}`))
	case 1:
		return fmt.Sprintf("n: {$%s: %d}", g.pick("gt", "lt", "gte", "ne"), g.IntN(5))
	case 2:
		return fmt.Sprintf(`n: {$lte: %d}, $expr: {$%s: ["$n", "$$w"]}`, g.IntN(5), g.pick("gte", "lt"))
	case 3:
		return fmt.Sprintf(`$expr: {$eq: ["$%s", "$$v"]}`, g.field())
	}
	return fmt.Sprintf(`$or: [{n: %d}, {$expr: {$eq: ["$n", "$$w"]}}]`, g.IntN(5))
}
