package agg

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/internal/casefile"
)

// TestRandomWindows compares random windows over random documents with a model that evaluates all
// documents for each: by documents and by range, over numbers and dates, with ties, ascending and
// descending.
func TestRandomWindows(t *testing.T) {
	for seed := range uint64(400) {
		g := windowModel{Rand: rand.New(rand.NewPCG(seed, 11))}
		g.make()
		want := g.answers()
		for _, how := range []way{whole, divided, spilled} {
			w := &world{env: mql.NewEnv(context.Background()), docs: mustDocs(t, g.docs()), memory: mql.StageBytesMax, ns: collection.Namespace{DB: "test", Coll: "c"}}
			w.env.DB = "test"
			w.pipeline = mustDocs(t, g.pipeline())
			if got := w.run(how); got != want {
				t.Fatalf("seed %d, %s\npipeline %s\ndocs %s\n%s", seed, how, g.pipeline(), g.docs(), casefile.Diff(want, got))
			}
		}
	}
}

// windowModel is a random window over random documents; the _id of a document is its position in the collection.
type windowModel struct {
	*rand.Rand
	keys   []int64 // sort keys of the documents, in the order of the collection
	unit   string  // "" for numbers
	ranged bool
	dir    int
	lo, hi modelBound
}

// modelBound is one end: a word, or a number.
type modelBound struct {
	word string
	n    int
}

func (b modelBound) String() string {
	if b.word != "" {
		return `"` + b.word + `"`
	}
	return fmt.Sprint(b.n)
}

// make draws all random parts.
func (g *windowModel) make() {
	g.ranged, g.dir = g.IntN(2) == 0, 1
	if !g.ranged && g.IntN(2) == 0 {
		g.dir = -1
	}
	if g.ranged && g.IntN(2) == 0 {
		g.unit = []string{"day", "hour", "week", "month"}[g.IntN(4)]
	}
	for range g.IntN(25) {
		g.keys = append(g.keys, int64(g.IntN(12)))
	}
	pick := func(word string) modelBound {
		switch g.IntN(4) {
		case 0:
			return modelBound{word: word}
		case 1:
			return modelBound{word: "current"}
		}
		return modelBound{n: g.IntN(9) - 4}
	}
	for {
		g.lo, g.hi = pick("unbounded"), pick("unbounded")
		if g.lo.word == "unbounded" || g.hi.word == "unbounded" || g.lo.n <= g.hi.n {
			return
		}
	}
}

// at returns the date of an integer key of the model, so that a step of the window's unit is one key.
func (g *windowModel) at(key int64) time.Time {
	day := time.Date(2024, 2, 20, 12, 0, 0, 0, time.UTC)
	n := int(key)
	switch g.unit {
	case "hour":
		return day.Add(time.Duration(n) * time.Hour)
	case "week":
		return day.AddDate(0, 0, 7*n)
	case "month":
		return day.AddDate(0, n, 0)
	}
	return day.AddDate(0, 0, n)
}

func (g *windowModel) docs() string {
	var out []string
	for i, k := range g.keys {
		v := fmt.Sprint(k)
		switch {
		case g.unit != "":
			v = fmt.Sprintf("ISODate(%q)", g.at(k).Format(time.RFC3339))
		case i%3 == 1:
			v = fmt.Sprintf("%d.0", k)
		case i%3 == 2:
			v = fmt.Sprintf("NumberLong(%d)", k)
		}
		out = append(out, fmt.Sprintf("{_id: %d, k: %s}", i, v))
	}
	return "[" + strings.Join(out, ", ") + "]"
}

func (g *windowModel) pipeline() string {
	kind, unit := "documents", ""
	if g.ranged {
		kind = "range"
		if g.unit != "" {
			unit = fmt.Sprintf(", unit: %q", g.unit)
		}
	}
	window := fmt.Sprintf("window: {%s: [%s, %s]%s}", kind, g.lo, g.hi, unit)
	var out []string
	for _, f := range windowOutputs {
		out = append(out, fmt.Sprintf(`"o.%s": {$%s: %s, %s}`, f, f, map[bool]string{true: "{}", false: `"$_id"`}[f == "count"], window))
	}
	return fmt.Sprintf(`[{$setWindowFields: {sortBy: {k: %d}, output: {%s}}}, {$project: {k: 0}}]`, g.dir, strings.Join(out, ", "))
}

// windowOutputs are functions that are computed over windows in different ways.
var windowOutputs = [...]string{"push", "sum", "min", "max", "first", "last", "count"}

// answers returns the expected result of the pipeline.
func (g *windowModel) answers() string {
	order := make([]int, len(g.keys))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(g.keys[a], g.keys[b]) * g.dir })
	var lines []string
	for i, id := range order {
		var in []int
		for j, other := range order {
			from, to := int64(j-i), int64(j-i) // distance of the other document
			if g.ranged {
				from, to = g.keys[other]-g.keys[id], g.keys[other]-g.keys[id]
			}
			if g.lo.word == "current" {
				from = int64(j - i)
			}
			if g.hi.word == "current" {
				to = int64(j - i)
			}
			if (g.lo.word == "unbounded" || from >= int64(g.lo.n)) && (g.hi.word == "unbounded" || to <= int64(g.hi.n)) {
				in = append(in, other)
			}
		}
		lines = append(lines, showWindow(id, in))
	}
	return strings.Join(lines, "\n")
}

// showWindow returns the expected document for an _id, with the outputs of a window that contains the documents
// in.
func showWindow(id int, in []int) string {
	sum, least, most, first, last := 0, "null", "null", "null", "null"
	var list []string
	for _, v := range in {
		sum += v
		list = append(list, fmt.Sprint(v))
	}
	if len(in) > 0 {
		least, most = fmt.Sprint(slices.Min(in)), fmt.Sprint(slices.Max(in))
		first, last = list[0], list[len(list)-1]
	}
	return fmt.Sprintf(`{"_id":%d,"o":{"push":[%s],"sum":%d,"min":%s,"max":%s,"first":%s,"last":%s,"count":%d}}`,
		id, strings.Join(list, ","), sum, least, most, first, last, len(in))
}

// TestWindowOutputsAreAddedFields sets a constant at random paths of random documents: $setWindowFields
// must have the same result as $addFields.
func TestWindowOutputsAreAddedFields(t *testing.T) {
	for seed := range uint64(300) {
		g := generator{rand.New(rand.NewPCG(seed, 13))}
		docs := g.docs(20)
		path := g.pick("a", "a.x", "b.n", "c.x.y", "d.x.y.z", "e.f", "b.y.n")
		run := func(pipeline string) string {
			w := &world{env: mql.NewEnv(context.Background()), docs: docs, memory: mql.StageBytesMax, ns: collection.Namespace{DB: "test", Coll: "c"}}
			w.pipeline = mustDocs(t, pipeline)
			return w.run(whole)
		}
		want := run(fmt.Sprintf(`[{$addFields: {%q: 1}}]`, path))
		got := run(fmt.Sprintf(`[{$setWindowFields: {output: {%q: {$max: 1}}}}]`, path))
		if got != want {
			t.Fatalf("seed %d, %s\n%s", seed, path, casefile.Diff(want, got))
		}
	}
}

// TestRandomGroupKeys compares $group by an object of one field, where a missing value becomes null,
// with $group by the field alone.
func TestRandomGroupKeys(t *testing.T) {
	for seed := range uint64(200) {
		g := generator{rand.New(rand.NewPCG(seed, 17))}
		docs := g.docs(40)
		path := g.path()
		for _, how := range []way{whole, optimised, divided, spilled} {
			run := func(pipeline string) string {
				w := &world{env: mql.NewEnv(context.Background()), docs: docs, memory: mql.StageBytesMax, ns: collection.Namespace{DB: "test", Coll: "c"}}
				w.pipeline = mustDocs(t, pipeline)
				return sortedLines(w.run(how))
			}
			condition := g.condition()
			want := run(fmt.Sprintf(`[{$group: {_id: "$%s", n: {$sum: 1}}}, {$replaceWith: {_id: {a: "$_id"}, n: "$n"}}, {$match: {"_id.a": %s}}]`, path, condition))
			got := run(fmt.Sprintf(`[{$group: {_id: {a: "$%s"}, n: {$sum: 1}}}, {$match: {"_id.a": %s}}]`, path, condition))
			if got != want {
				t.Fatalf("seed %d, %s, %s, %s\n%s", seed, how, path, condition, casefile.Diff(want, got))
			}
		}
	}
}

// TestGraphSeesEveryDocument runs a $graphLookup that connects every document to every other, under a collation
// that treats all _ids as equal: each document is found once.
func TestGraphSeesEveryDocument(t *testing.T) {
	w := &world{env: mql.NewEnv(context.Background()), memory: mql.StageBytesMax, ns: collection.Namespace{DB: "test", Coll: "c"}}
	var err error
	if w.env.Collation, err = mql.ParseCollation(bsontest.Doc(t, `{locale: "en", strength: 1}`).Value()); err != nil {
		t.Fatal(err)
	}
	w.docs = mustDocs(t, `[{_id: 0}]`)
	nodes := mustDocs(t, `[{_id: "foo", t: 1}, {_id: "FOO", t: 1}, {_id: "Foo", t: 1}, {_id: "fóo", t: 1}]`)
	w.foreign = map[string][]bson.Raw{"f": nodes}
	w.pipeline = mustDocs(t, `[{$graphLookup: {from: "f", startWith: 1, connectFromField: "t", connectToField: "t", as: "g"}}, {$project: {n: {$size: "$g"}}}]`)
	if got, want := w.run(whole), fmt.Sprintf(`{"_id":0,"n":%d}`, len(nodes)); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
