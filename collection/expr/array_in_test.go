package expr_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/bson/ejson"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/mql"
)

// $in with a constant array gives the same as with an equal array in the document, under several collations.
func TestInConstantSet(t *testing.T) {
	var parsed []bson.Value
	for _, s := range append(scalars, `"A"`, `"É"`, `"e"`, `["a"]`, `["A"]`, `{x: 1.0}`, `[[1], 2]`, `Decimal128("-0")`, `NumberLong(31)`, `31.0`) {
		parsed = append(parsed, bsontest.Value(t, s))
	}
	var collations [3]*mql.Collation
	for i, text := range []string{`{locale: "en", strength: 1}`, `{locale: "de", strength: 2, numericOrdering: true}`} {
		c, err := mql.ParseCollation(bsontest.Value(t, text))
		if err != nil {
			t.Fatal(err)
		}
		collations[i+1] = c
	}
	found := 0
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 5))
		doc, spec := bson.NewBuilder(nil), bson.NewBuilder(nil)
		doc.BeginArray("list")
		spec.BeginArray("$in")
		spec.String("", "$a")
		spec.BeginDoc("")
		spec.BeginArray("$literal")
		for range 8 + r.IntN(12) {
			v := parsed[r.IntN(len(parsed))]
			doc.Value("", v)
			spec.Value("", v)
		}
		doc.End()
		spec.End()
		spec.End()
		spec.End()
		env := newEnv(t.Context())
		constant, err := expr.Parse(env, spec.Doc().Value())
		if err != nil {
			t.Fatal(err)
		}
		varying, err := expr.Parse(env, bsontest.Value(t, `{$in: ["$a", "$list"]}`))
		if err != nil {
			t.Fatal(err)
		}
		list := doc.Doc().Get("list")
		var s expr.Scratch
		for i := range 2 * len(parsed) {
			env.Collation = collations[(int(seed)+i/len(parsed))%3] // the second half is not sorted in the order of the first
			b := bson.NewBuilder(nil)
			b.Value("a", parsed[i%len(parsed)])
			b.Value("list", list)
			d := b.Doc()
			got, err := constant.Eval(env, d, &s)
			if err != nil {
				t.Fatal(err)
			}
			want, err := varying.Eval(env, d, &s)
			if err != nil {
				t.Fatal(err)
			}
			if !got.Identical(want) {
				t.Fatalf("seed %d: %s: got %s", seed, d, ejson.ValueString(got))
			}
			if want.Truthy() {
				found++
			}
		}
	}
	if found < 500 {
		t.Errorf("only %d values were found", found)
	}
}

func BenchmarkInConstants(b *testing.B) {
	for _, n := range []int{10, 100, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			spec := bson.NewBuilder(nil)
			spec.BeginArray("$in")
			spec.String("", "$a")
			spec.BeginArray("")
			for i := range n {
				spec.Int32("", int32(i*7919%n))
			}
			spec.End()
			spec.End()
			env := newEnv(b.Context())
			e, err := expr.Parse(env, spec.Doc().Value())
			if err != nil {
				b.Fatal(err)
			}
			doc := bsontest.Doc(b, `{a: 3.5}`)
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
