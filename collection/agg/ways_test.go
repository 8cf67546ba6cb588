package agg

import (
	"context"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/internal/casefile"
)

// accumulatorArgs are arguments for every accumulator over fields with random values: v of many types, d a
// document, l an array, n a number; all of them may be missing.
var accumulatorArgs = map[string][]string{
	"$accumulator":  {`{init: "function() { return [] }", accumulateArgs: ["$n"], accumulate: "function(s, n) { s.push(n); return s }", merge: "function(a, b) { return a.concat(b) }", lang: "js"}`},
	"$addToSet":     {`"$v"`, `"$l"`},
	"$avg":          {`"$v"`, `"$n"`},
	"$bottom":       {`{sortBy: {n: 1, v: -1}, output: "$v"}`},
	"$bottomN":      {`{sortBy: {v: 1}, output: ["$n", "$v"], n: 3}`},
	"$concatArrays": {`"$l"`},
	"$count":        {`{}`},
	"$first":        {`"$v"`},
	"$firstN":       {`{input: "$v", n: 3}`},
	"$last":         {`"$v"`},
	"$lastN":        {`{input: "$v", n: 3}`},
	"$max":          {`"$v"`, `"$n"`},
	"$maxN":         {`{input: "$v", n: 4}`, `{input: "$n", n: 4}`},
	"$median":       {`{input: "$v", method: "approximate"}`},
	"$mergeObjects": {`"$d"`},
	"$min":          {`"$v"`, `"$n"`},
	"$minN":         {`{input: "$v", n: 4}`, `{input: "$n", n: 4}`},
	"$percentile":   {`{input: "$n", p: [0, 0.3, 0.6, 1], method: "approximate"}`},
	"$push":         {`"$v"`, `"$d"`},
	"$setUnion":     {`"$l"`},
	"$stdDevPop":    {`"$v"`, `"$n"`},
	"$stdDevSamp":   {`"$n"`},
	"$sum":          {`"$v"`, `"$n"`},
	"$top":          {`{sortBy: {v: 1}, output: "$n"}`},
	"$topN":         {`{sortBy: {n: -1}, output: "$v", n: 3}`},
}

// TestAccumulatorsEveryWay: every accumulator of $group, $bucketAuto and $setWindowFields over random values of
// many types gives the same bytes in memory, optimised, spilled and in three shards, standard deviations to twelve
// digits. The shards are read one after the other, so that the order of the documents is the same.
func TestAccumulatorsEveryWay(t *testing.T) {
	var group, window []string
	for _, def := range Accumulators {
		args := accumulatorArgs[def.Name]
		if len(args) == 0 {
			t.Errorf("no arguments for %s", def.Name)
		}
		for i, arg := range args {
			group = append(group, fmt.Sprintf("%s%d: {%s: %s}", def.Name[1:], i, def.Name, arg))
			if !def.OnlyGroups {
				window = append(window, fmt.Sprintf(`%s%d: {%s: %s, window: {documents: [-3, 1]}}`, def.Name[1:], i, def.Name, arg))
			}
		}
	}
	fields := strings.Join(group, ", ")
	pipelines := []string{
		fmt.Sprintf(`[{$group: {_id: "$g", %s}}, {$sort: {_id: 1}}]`, fields),
		fmt.Sprintf(`[{$bucketAuto: {groupBy: "$g", buckets: 3, output: {%s}}}]`, fields),
		fmt.Sprintf(`[{$setWindowFields: {partitionBy: "$g", sortBy: {_id: 1}, output: {%s}}}]`, strings.Join(window, ", ")),
	}
	for seed := range uint64(12) {
		g := accumulated{rand.New(rand.NewPCG(seed, 3))}
		docs := g.docs(t, []int{60, 60, 60, 200}[seed%4])
		for _, text := range pipelines {
			want := ""
			for _, how := range []way{whole, optimised, divided, spilled} {
				w := &world{env: mql.NewEnv(context.Background()), docs: docs, memory: mql.StageBytesMax, ns: collection.Namespace{DB: "test", Coll: "c"}}
				w.env.DB, w.env.JavaScript = "test", true
				w.pipeline = mustDocs(t, text)
				got := roundedDeviations(w.run(how))
				if how == whole {
					want = got
				}
				if strings.HasPrefix(got, "error") {
					t.Fatalf("seed %d, %s: %s\n%s", seed, how, got, text)
				}
				if got != want {
					t.Fatalf("seed %d, %s\npipeline %s\n%s", seed, how, text, casefile.Diff(want, got))
				}
			}
		}
	}
}

// accumulated draws documents for accumulators.
type accumulated struct{ *rand.Rand }

func (g accumulated) docs(t *testing.T, n int) []bson.Raw {
	t.Helper()
	var out []string
	for i := range n {
		text := fmt.Sprintf("{_id: %d, g: %s", i, g.one("1", "2", "2.0", "NumberLong(1)", `"x"`, "null"))
		for _, f := range []struct {
			name string
			draw func() string
		}{{"v", g.value}, {"n", g.number}, {"d", g.doc}, {"l", g.list}} {
			if g.IntN(6) > 0 {
				text += ", " + f.name + ": " + f.draw()
			}
		}
		out = append(out, text+"}")
	}
	return mustDocs(t, "["+strings.Join(out, ", ")+"]")
}

func (g accumulated) one(list ...string) string { return list[g.IntN(len(list))] }

// number returns a random number as text; some are equal with different types, and some have very different
// magnitudes.
func (g accumulated) number() string {
	return g.one("0", "1", "2", "-3", "1.0", "2.5", "-0.0", "0.0", "NumberLong(1)", "NumberLong(4611686018427387904)", "2147483647",
		`NumberDecimal("1")`, `NumberDecimal("1.0")`, `NumberDecimal("2.50")`, `NumberDecimal("-0")`, "0.125", "1024.5", "0.1", "1e16", "-3.3333333", "1e-7", "12345.678")
}

func (g accumulated) value() string {
	if g.IntN(2) == 0 {
		return g.number()
	}
	return g.one(`"a"`, `"b"`, `""`, "null", "undefined", "true", "false", `ISODate("2024-05-06")`, `ObjectId("65a000000000000000000001")`, "Timestamp(5, 1)", "/a/i", "MinKey", "MaxKey",
		"NaN", "Infinity", "-Infinity", `NumberDecimal("NaN")`, `NumberDecimal("Infinity")`, `{a: 1}`, `{a: 1.0}`, `{b: 1, a: [2]}`, "[]", "[1, [2]]", `[1.0, "a"]`)
}

func (g accumulated) doc() string {
	if g.IntN(8) == 0 {
		return "null"
	}
	var fields []string
	for _, i := range g.Perm(6)[:g.IntN(4)] {
		fields = append(fields, fmt.Sprintf("%c: %s", "zyxabc"[i], g.number()))
	}
	return "{" + strings.Join(fields, ", ") + "}"
}

func (g accumulated) list() string {
	var items []string
	for range g.IntN(4) {
		items = append(items, g.value())
	}
	return "[" + strings.Join(items, ", ") + "]"
}

var deviation = regexp.MustCompile(`"stdDev[A-Za-z0-9]+":\d[^,}]*`)

// roundedDeviations drops the last digits of standard deviations in results: computed from parts, they differ
// in these digits from those of the whole.
func roundedDeviations(s string) string {
	return deviation.ReplaceAllStringFunc(s, rounded)
}
