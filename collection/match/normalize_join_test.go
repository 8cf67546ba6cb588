package match_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/bson/ejson"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/match"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/collection/release"
)

// Many inequalities on one path, which Normalize joins, match the same documents as before.
func TestJoinedInequalities(t *testing.T) {
	values := []string{"1", "2.0", "NumberLong(3)", "null", `"a"`, `"B"`, "[1]", "[]", "{k: 1}", "NaN", "MinKey", "true", "[null]", "[[1]]"}
	for i := range 12 {
		values = append(values, fmt.Sprint(100+i))
	}
	docs := []string{"{}", "{a: undefined}", `{a: "b"}`, "{a: {b: 1}}", "{a: [{b: 1}, {b: 5}]}", "{a: [{b: [1, 7]}, 3]}", "{a: [{}]}", "{a: [5, 6]}", "{a: {b: []}}", "{a: {b: null}}"}
	for _, v := range values {
		docs = append(docs, "{a: "+v+"}", "{a: [9, "+v+"]}", "{a: {b: "+v+"}}", "{a: [["+v+"]]}")
	}
	collation, err := mql.ParseCollation(bsontest.Value(t, `{locale: "en", strength: 2}`))
	if err != nil {
		t.Fatal(err)
	}
	joined := 0
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 41))
		env := mql.NewEnv(t.Context())
		if r.IntN(2) == 0 {
			env.Collation = collation
		}
		env.Release = []release.Release{release.Default, release.V7_0}[r.IntN(2)]
		var list []string
		for range 10 + r.IntN(30) {
			path := []string{"a", "a", "a.b", "a.0"}[r.IntN(4)]
			v, w := values[r.IntN(len(values))], values[r.IntN(len(values))]
			list = append(list, []string{
				fmt.Sprintf("{%q: {$ne: %s}}", path, v), fmt.Sprintf("{%q: {$ne: %s}}", path, v), fmt.Sprintf("{%q: {$ne: %s}}", path, w),
				fmt.Sprintf("{%q: {$nin: [%s, %s]}}", path, v, w), fmt.Sprintf("{%q: {$not: {$eq: %s}}}", path, v),
			}[r.IntN(5)])
		}
		filter := "{$and: [" + strings.Join(list, ", ") + "]}"
		n, err := match.Parse(env, bsontest.Doc(t, filter))
		if err != nil {
			t.Fatal(filter, err)
		}
		normal := match.Normalize(n)
		if strings.Count(ejson.String(match.String(normal)), "$not") <= len(list)-15 {
			joined++
		}
		var s expr.Scratch
		for _, text := range docs {
			d := bsontest.Doc(t, text)
			want, err := n.Matches(env, d, &s)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := normal.Matches(env, d, &s); got != want || err != nil {
				t.Fatalf("%s of %s: %v, %v, want %v; normalised %s", filter, text, got, err, want, ejson.String(match.String(normal)))
			}
		}
	}
	if joined < 20 {
		t.Errorf("only %d of 200 filters were joined", joined)
	}
}

func BenchmarkManyInequalities(b *testing.B) {
	for _, n := range []int{1000, 10000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			var list []string
			for i := range n {
				list = append(list, fmt.Sprintf("{c: {$ne: %d}}", i))
			}
			filter := bsontest.Doc(b, "{$and: ["+strings.Join(list, ", ")+"]}")
			env := mql.NewEnv(b.Context())
			for b.Loop() {
				f, err := match.Parse(env, filter)
				if err != nil {
					b.Fatal(err)
				}
				match.Walk(match.Normalize(f), func(n match.Node) {
					if p, ok := n.(match.Pathed); ok {
						p.Bounds(func(match.Interval) {})
					}
				})
			}
		})
	}
}
