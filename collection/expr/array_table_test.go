package expr_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/bson/ejson"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/ratelimit"
)

// tableBodies are bodies of a loop whose variable i is a random index and x a random value.
var tableBodies = []string{
	`{$arrayElemAt: ["$v", "$$i"]}`, `{$arrayElemAt: ["$w.k", "$$i"]}`, `{$slice: ["$v", "$$i", 3]}`, `{$slice: ["$v", {$add: ["$$i", 1]}]}`,
	`{$size: "$v"}`, `{$last: "$w"}`, `{$in: ["$$x", "$v"]}`, `{$indexOfArray: ["$v", "$$x"]}`,
	`{$indexOfArray: ["$v", "$$x", {$abs: "$$i"}]}`, `{$indexOfArray: ["$v", "$$x", {$abs: "$$i"}, {$add: [{$abs: "$$i"}, 20]}]}`,
	`{$arrayElemAt: ["$v", {$indexOfArray: ["$v", "$$x"]}]}`, `{$arrayElemAt: [{$arrayElemAt: ["$n", {$mod: [{$abs: "$$i"}, 12]}]}, "$$i"]}`,
	`{$let: {vars: {t: {$map: {input: "$v", as: "e", in: ["$$e", "$$i"]}}}, in: {$arrayElemAt: ["$$t", "$$i"]}}}`,
	`{$reduce: {input: [0, 1, 2], initialValue: "$v", in: {$concatArrays: [["$$i", {$arrayElemAt: ["$$value", "$$i"]}], "$$value"]}}}`,
}

// The tables of large arrays change no result: in a loop, where they exist, each body has the value that it has
// outside of a loop, although documents and computed arrays of equal length follow each other at one address.
func TestArrayTables(t *testing.T) {
	values := []string{"1", "1.0", "NumberLong(2)", "2.5", `"a"`, `"A"`, `"b"`, "null", "NaN", "-0.0", "0", "[1]", "{k: 1}", "undefined", "true"}
	collation, err := mql.ParseCollation(bsontest.Value(t, `{locale: "en", strength: 2}`))
	if err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 0, 1<<20)
	var s expr.Scratch
	for seed := range uint64(12) {
		r := rand.New(rand.NewPCG(seed, 9))
		list := func(n int) string {
			var b []string
			for range n {
				b = append(b, values[r.IntN(len(values))])
			}
			return "[" + strings.Join(b, ", ") + "]"
		}
		w, n, args := []string{}, []string{}, []string{}
		for range 80 {
			w = append(w, fmt.Sprintf("{k: %s}", values[r.IntN(len(values))]))
			args = append(args, fmt.Sprintf("{i: %d, x: %s}", r.IntN(220)-110, values[r.IntN(len(values))]))
		}
		for range 12 {
			n = append(n, list(100))
		}
		doc := bsontest.Doc(t, fmt.Sprintf("{v: %s, w: [%s], n: [%s], args: [%s]}", list(90+r.IntN(20)), strings.Join(w, ","), strings.Join(n, ","), strings.Join(args, ",")))
		doc = bson.Raw(append(buf[:0], doc...)) // each document is at the address of the one before
		env := newEnv(t.Context())
		if seed%2 == 1 {
			env.Collation = collation
		}
		for _, body := range tableBodies {
			parse := func(text string) expr.Expr {
				e, err := expr.Parse(env, bsontest.Value(t, text))
				if err != nil {
					t.Fatal(text, err)
				}
				return e
			}
			inLoop := parse(`{$map: {input: "$args", as: "a", in: {$let: {vars: {i: "$$a.i", x: "$$a.x"}, in: [` + body + `]}}}}`)
			s.Reset()
			got, err := inLoop.Eval(env, doc, &s)
			if err != nil {
				t.Fatal(body, err)
			}
			got = got.Clone()
			want := bson.NewBuilder(nil)
			want.BeginArray("")
			for i := range args {
				one := parse(fmt.Sprintf(`{$let: {vars: {a: {$arrayElemAt: ["$args", %d]}}, in: {$let: {vars: {i: "$$a.i", x: "$$a.x"}, in: [%s]}}}}`, i, body))
				s.Reset()
				v, err := one.Eval(env, doc, &s)
				if err != nil {
					t.Fatal(body, err)
				}
				want.Value("", v)
			}
			want.End()
			f, _ := want.Doc().First()
			if !got.Identical(f.Value) {
				t.Fatalf("seed %d: %s of %s\n got %s\nwant %s", seed, body, ejson.String(doc), ejson.ValueString(got), ejson.ValueString(f.Value))
			}
		}
	}
}

// The memory of tables counts while a loop runs, and nothing is counted once the Scratch is closed; with too little
// memory for tables the result is the same.
func TestArrayTablesCount(t *testing.T) {
	b := bson.NewBuilder(nil)
	b.BeginArray("v")
	for i := range 20_000 {
		b.Int32("", int32(i))
	}
	b.End()
	doc := b.Doc()
	for _, room := range []int64{16 << 20, 400 << 10} {
		all := ratelimit.NewMemory(room)
		env, e := parsed(t, all, `{$size: {$filter: {input: {$range: [0, 300]}, cond: {$in: [{$add: ["$$this", 19000]}, "$v"]}}}}`)
		before := env.Memory.Used() // of the constant
		var s expr.Scratch
		for range 3 {
			s.Reset()
			v, err := e.Eval(env, doc, &s)
			if n, _ := v.AsInt64(); n != 300 || err != nil {
				t.Fatal(room, n, err)
			}
		}
		if peak := env.Memory.Peak(); room > 1<<20 && peak < 800_000 {
			t.Errorf("%d bytes were counted at most", peak)
		}
		s.Close()
		if used := env.Memory.Used() - before; used != 0 {
			t.Errorf("%d bytes are counted of a Scratch that is closed", used)
		}
	}
}

func BenchmarkArrayInLoop(b *testing.B) {
	for _, c := range []struct{ name, text string }{
		{"elemAt", `{$map: {input: {$range: [0, {$size: "$v"}]}, in: {$arrayElemAt: ["$v", "$$this"]}}}`},
		{"indexOf", `{$map: {input: "$v", in: {$arrayElemAt: ["$v", {$indexOfArray: ["$v", "$$this"]}]}}}`},
		{"in", `{$filter: {input: "$v", cond: {$in: ["$$this", "$v"]}}}`},
	} {
		for _, n := range []int{1000, 10000} {
			b.Run(fmt.Sprint(c.name, "/", n), func(b *testing.B) {
				d := bson.NewBuilder(nil)
				d.BeginArray("v")
				for i := range n {
					d.Int32("", int32(i))
				}
				d.End()
				doc := d.Doc()
				env := newEnv(b.Context())
				e, err := expr.Parse(env, bsontest.Value(b, c.text))
				if err != nil {
					b.Fatal(err)
				}
				var s expr.Scratch
				for b.Loop() {
					s.Reset()
					if _, err := e.Eval(env, doc, &s); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
