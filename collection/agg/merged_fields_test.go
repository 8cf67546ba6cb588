package agg

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/ejson"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/mql"
)

// mergeModel returns the fields that $mergeObjects must have after it merged d into the fields old: those of old, with
// the values of d if d has them, then the others of d.
func mergeModel(old []bson.Field, d bson.Raw) []bson.Field {
	var out []bson.Field
	had := map[string]bool{}
	for _, f := range old {
		had[string(f.Name)] = true
		if v, ok := d.Lookup(string(f.Name)); ok {
			f.Value = v
		}
		out = append(out, f)
	}
	for it := d.Iter(); it.Next(); {
		if !had[string(it.Name)] {
			out = append(out, bson.Field{Name: it.Name, Value: it.Value})
		}
	}
	return out
}

// $mergeObjects of random documents, some with repeated names, has the same bytes whether the result is encoded or a
// list of fields, and when its state goes through partial results.
func TestRandomMergeObjects(t *testing.T) {
	env := mql.NewEnv(context.Background())
	lists := 0
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 31))
		var model []bson.Field
		states := [3]*mergeObjectsState{{doc: bson.Empty}, {doc: bson.Empty}, {doc: bson.Empty, fields: &mergedFields{}}}
		for range 1 + r.IntN(60) {
			b := bson.NewBuilder(nil)
			for range r.IntN(12) {
				name := fmt.Sprintf("f%d", r.IntN(80))
				if r.IntN(3) == 0 {
					b.String(name, fmt.Sprintf("%*d", r.IntN(40), r.IntN(9)))
				} else {
					b.Int32(name, int32(r.IntN(9)))
				}
			}
			d := b.Doc().Clone()
			model = mergeModel(model, d)
			for _, s := range states {
				if _, err := s.take(env, d.Value()); err != nil {
					t.Fatal(err)
				}
			}
			if r.IntN(5) == 0 { // the second state is spilled
				p := bson.NewBuilder(nil)
				states[1].Partial(p, "p")
				states[1] = &mergeObjectsState{doc: bson.Empty}
				if _, err := states[1].Merge(env, p.Doc().Get("p")); err != nil {
					t.Fatal(err)
				}
			}
		}
		want := bson.NewBuilder(nil)
		want.BeginDoc("r")
		for _, f := range model {
			want.ValueBytes(f.Name, f.Value)
		}
		want.End()
		expected := want.Doc()
		for i, s := range states {
			if i == 0 && s.fields != nil {
				lists++
			}
			got := bson.NewBuilder(nil)
			if err := s.Result(env, got, "r", &expr.Scratch{}); err != nil {
				t.Fatal(err)
			}
			if d := got.Doc(); string(d) != string(expected) {
				t.Fatalf("seed %d, state %d:\n got %s\nwant %s", seed, i, ejson.String(d), ejson.String(expected))
			}
		}
	}
	if lists < 50 || lists > 250 {
		t.Errorf("%d of 300 results were lists of fields", lists)
	}
}

func BenchmarkMergeObjects(b *testing.B) {
	for _, n := range []int{2000, 20000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			docs := make([]bson.Raw, n)
			for i := range docs {
				d := bson.NewBuilder(nil)
				d.Int32(fmt.Sprintf("key%d", i), int32(i))
				docs[i] = d.Doc()
			}
			env := mql.NewEnv(context.Background())
			for b.Loop() {
				s := &mergeObjectsState{doc: bson.Empty}
				for _, d := range docs {
					if _, err := s.take(env, d.Value()); err != nil {
						b.Fatal(err)
					}
				}
				if err := s.Result(env, bson.NewBuilder(nil), "r", nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
