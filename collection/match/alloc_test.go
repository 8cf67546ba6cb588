package match_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/match"
	"github.com/cantledb/cantle/collection/mql"
)

// oneKiB is a flat document of about 1 KiB: 24 strings of 24 bytes, between
// them the fields a (int), n.m (nested), tags (array) and b (double).
func oneKiB() bson.Raw {
	b := bson.NewBuilder(nil)
	b.Int32("_id", 1)
	for i := range 24 {
		switch i {
		case 8:
			b.Int32("a", 5)
			b.BeginDoc("n")
			b.Int32("m", 7)
			b.End()
		case 16:
			b.BeginArray("tags")
			for j := range 5 {
				b.String("", fmt.Sprintf("tag%d", j))
			}
			b.End()
			b.Double("b", 4)
		}
		b.String(fmt.Sprintf("field%02d", i), "abcdefghijklmnopqrstuvwx")
	}
	return b.Doc()
}

var hotFilters = []struct{ name, filter string }{
	{"and-two", `{a: 5, b: {$gt: 3}}`},
	{"eq", `{a: 5}`},
	{"eq-nested", `{"n.m": 7}`},
	{"eq-array", `{tags: "tag4"}`},
	{"in", `{a: {$in: [1, 2, 3, 4, 5, 6, 7, 8]}}`},
	{"or", `{$or: [{a: 6}, {b: 4}]}`},
	{"elemMatch", `{tags: {$elemMatch: {$gt: "tag3", $lt: "tag5"}}}`},
	{"not", `{a: {$not: {$gt: 5}}, missing: {$exists: false}}`},
	{"regex-prefix", `{field20: /^abc/}`},
}

func TestAllocsMatches(t *testing.T) {
	doc := oneKiB()
	env := mql.NewEnv(context.Background())
	for _, f := range hotFilters {
		n, err := match.Parse(env, bsontest.Doc(t, f.filter))
		if err != nil {
			t.Fatal(err)
		}
		s := &expr.Scratch{}
		got := testing.AllocsPerRun(100, func() {
			if ok, err := n.Matches(env, doc, s); !ok || err != nil {
				t.Fatal(f.filter, ok, err)
			}
		})
		if got != 0 {
			t.Errorf("%s: %v allocations", f.filter, got)
		}
	}
}

func BenchmarkMatch(b *testing.B) {
	doc := oneKiB()
	env := mql.NewEnv(context.Background())
	for _, f := range hotFilters {
		b.Run(f.name+"-1KiB", func(b *testing.B) {
			n, err := match.Parse(env, bsontest.Doc(b, f.filter))
			if err != nil {
				b.Fatal(err)
			}
			s := &expr.Scratch{}
			b.ReportAllocs()
			for b.Loop() {
				n.Matches(env, doc, s)
			}
		})
	}
}
