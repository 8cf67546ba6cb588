package expr_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/bson/ejson"
	"github.com/cantledb/cantle/collection/expr"
)

// An object of many paths, which are read in one pass, has the values that each path has alone.
func TestObjectFields(t *testing.T) {
	values := []string{"1", "null", `{b: 1}`, `{b: [1, {c: 2}], c: {b: 3}}`, `[{b: 1}, {b: {c: 2}}, 3]`, `[]`, `"x"`, "undefined"}
	names := []string{"a", "b", "c", "ab", "d", "e"}
	paths := []string{`"$a"`, `"$b"`, `"$c.b"`, `"$ab.b.c"`, `"$d.c.b"`, `"$e"`, `"$none"`, `"$none.b"`, `"$$ROOT.a"`, `"$$CURRENT.b"`, `{$ifNull: ["$c", 7]}`, `{x: "$a"}`, `[["$b"]]`}
	var parsed []bson.Value
	for _, v := range values {
		parsed = append(parsed, bsontest.Value(t, v))
	}
	env := newEnv(t.Context())
	var s expr.Scratch
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 3))
		b := bson.NewBuilder(nil)
		for range r.IntN(9) {
			b.Value(names[r.IntN(len(names))], parsed[r.IntN(len(parsed))]) // names may be repeated
		}
		doc := b.Doc()
		spec, want := bson.NewBuilder(nil), bson.NewBuilder(nil)
		for i := range 16 + r.IntN(30) {
			name, path := fmt.Sprintf("f%d", i), bsontest.Value(t, paths[r.IntN(len(paths))])
			spec.Value(name, path)
			e, err := expr.Parse(env, path)
			if err != nil {
				t.Fatal(err)
			}
			s.Reset()
			v, err := e.Eval(env, doc, &s)
			if err != nil {
				t.Fatal(err)
			}
			if !v.IsMissing() {
				want.Value(name, v)
			}
		}
		object := spec.Doc()
		e, err := expr.Parse(env, object.Value())
		if err != nil {
			t.Fatal(err)
		}
		s.Reset()
		got, err := e.Eval(env, doc, &s)
		if err != nil {
			t.Fatal(err)
		}
		if w := want.Doc().Value(); !got.Identical(w) {
			t.Fatalf("seed %d, %s of %s:\n got %s\nwant %s", seed, object, ejson.String(doc), ejson.ValueString(got), ejson.ValueString(w))
		}
	}
}

func BenchmarkObject(b *testing.B) {
	for _, n := range []int{16, 100, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			spec, doc := bson.NewBuilder(nil), bson.NewBuilder(nil)
			for i := range n {
				spec.String(fmt.Sprintf("f%d", i), fmt.Sprintf("$f%d", i))
				doc.Int32(fmt.Sprintf("f%d", i), int32(i))
			}
			env := newEnv(b.Context())
			e, err := expr.Parse(env, spec.Doc().Value())
			if err != nil {
				b.Fatal(err)
			}
			d := doc.Doc()
			var s expr.Scratch
			for b.Loop() {
				s.Reset()
				if _, err := e.Eval(env, d, &s); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
