package agg

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/ejson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
)

// Definitions that only this test has: two accumulators, one allowed in windows and one not, and a window
// function.
var (
	accProduct = AccumulatorDef{Name: "$product", Parse: unary(startProduct)}
	accTimes   = AccumulatorDef{Name: "$times", Parse: unary(startProduct), OnlyGroups: true}
	winTurn    = WindowFunctionDef{Name: "$turn", parse: parseTurn, ranking: true}
)

func startProduct(*mql.Env) valueState { return &productState{1} }

// productState multiplies whole numbers.
type productState struct{ n int64 }

func (t *productState) take(_ *mql.Env, v bson.Value) (int, error) {
	n, ok := v.AsInt64()
	if !ok {
		return 0, mongoerr.New(2, "$product wants whole numbers")
	}
	t.n *= n
	return 0, nil
}

func (t *productState) Merge(env *mql.Env, partial bson.Value) (int, error) {
	return t.take(env, partial)
}

func (t *productState) Partial(b *bson.Builder, name string) { b.Int64(name, t.n) }

func (t *productState) Result(_ *mql.Env, b *bson.Builder, name string, _ *expr.Scratch) error {
	b.Int64(name, t.n)
	return nil
}

// turnFunc reports for each document whether its position in the partition, counted from 1, is odd.
type turnFunc struct{}

func parseTurn(_ *parser, c *windowCall) (windowFunc, error) {
	if c.window != nil {
		return nil, mongoerr.New(3, "$turn has no window")
	}
	return turnFunc{}, nil
}

func (turnFunc) paths(func(string))         {}
func (turnFunc) start(*partition) windowRun { return turnFunc{} }
func (turnFunc) close(*mql.Env)             {}
func (turnFunc) at(_ *mql.Env, b *bson.Builder, name string, i int, _ bson.Raw) error {
	b.Bool(name, i%2 == 0)
	return nil
}

// newTables returns copies of the tables with the new rows.
func newTables() tables {
	all := allTables()
	all.accumulators = append(slices.Clone(all.accumulators), accProduct, accTimes)
	slices.SortFunc(all.accumulators, func(a, b AccumulatorDef) int { return strings.Compare(a.Name, b.Name) })
	all.windows = append(slices.Clone(all.windows), winTurn)
	slices.SortFunc(all.windows, func(a, b WindowFunctionDef) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// The definition of an accumulator or window function is one row of a table: added to a copy of the table, it works in
// every stage that accumulates, optimised or not, divided and spilled; a printed pipeline has the accumulator.
func TestAccumulatorIsOneRow(t *testing.T) {
	const window = `{$setWindowFields: {sortBy: {a: 1}, output: `
	for _, tc := range []struct{ pipeline, want string }{
		{`{$group: {_id: null, n: {$product: "$a"}}}`, `{"_id":null,"n":24}`},
		{`{$group: {_id: {$mod: ["$a", 2]}, n: {$product: "$a"}, m: {$times: ["$a"]}}}`, "error 40237"},
		{`{$group: {_id: {$mod: ["$a", 2]}, n: {$times: "$a"}}}, {$sort: {_id: 1}}`, `{"_id":0,"n":8} {"_id":1,"n":3}`},
		{`{$bucket: {groupBy: "$a", boundaries: [0, 3, 9], output: {n: {$product: "$a"}}}}`, `{"_id":0,"n":2} {"_id":3,"n":12}`},
		{`{$bucketAuto: {groupBy: "$a", buckets: 2, output: {n: {$product: "$a"}}}}, {$project: {_id: 0}}`, `{"n":2} {"n":12}`},
		{`{$facet: {f: [{$group: {_id: null, n: {$product: "$a"}}}]}}`, `{"f":[{"_id":null,"n":24}]}`},
		{window + `{n: {$product: "$a"}}}}`, `{"a":1,"n":24} {"a":2,"n":24} {"a":3,"n":24} {"a":4,"n":24}`},
		{window + `{n: {$product: "$a", window: {documents: [-1, 0]}}}}}`, `{"a":1,"n":1} {"a":2,"n":2} {"a":3,"n":6} {"a":4,"n":12}`},
		{window + `{n: {$turn: {}}}}}`, `{"a":1,"n":true} {"a":2,"n":false} {"a":3,"n":true} {"a":4,"n":false}`},
		{window + `{n: {$turn: {}, window: {}}}}}`, "error 3"},
		{window + `{n: {$turn: {}, more: 1}}}}`, "error 5371601"},
		{window + `{n: {$times: "$a"}}}}`, "error 9"},
		{`{$group: {_id: null, n: {$turn: {}}}}`, "error 15952"},
		{`{$group: {_id: null, n: {$product: "x"}}}`, "error 2"},
	} {
		for _, how := range []way{whole, optimised, divided, spilled} {
			if got := accumulateNew(t, tc.pipeline, how); got != tc.want {
				t.Errorf("%s, %s:\n%s\nwant\n%s", tc.pipeline, how, got, tc.want)
			}
		}
	}
	p := parser{env: mql.NewEnv(context.Background()), ns: collection.Namespace{DB: "test", Coll: "c"}, tables: newTables()}
	parsed, err := p.pipeline(mustDocs(t, `[{$group: {_id: null, n: {$product: "$a"}}}]`))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := showPipeline(parsed), `[{"$group":{"_id":{"$const":null},"n":{"$product":"$a"}}}]`; got != want {
		t.Errorf("printed as %s, want %s", got, want)
	}
}

// accumulateNew runs stages with the new tables over four documents.
func accumulateNew(t *testing.T, stages string, how way) string {
	t.Helper()
	env := mql.NewEnv(context.Background())
	if how == spilled {
		env.Memory = mql.NewMemory(200)
		env.Memory.SpillDir, env.Memory.Spill = t.TempDir(), true
	}
	w := &world{env: env, ns: collection.Namespace{DB: "test", Coll: "c"}, docs: mustDocs(t, `[{a: 1}, {a: 2}, {a: 3}, {a: 4}]`)}
	p := parser{env: env, ns: w.ns, tables: newTables()}
	parsed, err := p.pipeline(mustDocs(t, "["+stages+"]"))
	if err != nil {
		return showCode(err)
	}
	op, err := w.open(env, parsed, how, w.docs)
	if err != nil {
		return showCode(err)
	}
	defer op.Close()
	rows, err := drain(env, op)
	if err != nil {
		return showCode(err)
	}
	var out []string
	for _, r := range rows {
		out = append(out, ejson.String(r))
	}
	return strings.Join(out, " ")
}

func showCode(err error) string { return fmt.Sprintf("error %d", mongoerr.From(err).Code) }
