package path

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/bsontest"
)

// kilobyte is a document of about 1 KiB and 15 fields; n is the second to last.
func kilobyte(tb testing.TB) bson.Raw {
	var s strings.Builder
	for i := range 12 {
		fmt.Fprintf(&s, "field%02d: %q, ", i, strings.Repeat("x", 55))
	}
	doc := bsontest.Doc(tb, "{_id: 1, "+s.String()+`n: {x: 1, y: "abc", z: {w: 5}}, arr: [{b: 1}, {b: 2}, {b: 3}]}`)
	if len(doc) < 900 || len(doc) > 1200 {
		tb.Fatal(len(doc))
	}
	return doc
}

func TestAllocsWalk(t *testing.T) {
	doc := kilobyte(t)
	nested, array := Must("n.z.w"), Must("arr.b")
	var arena bson.Arena
	for a := Traverse; a <= TraverseLeaf; a++ {
		sum := int64(0)
		n := testing.AllocsPerRun(100, func() {
			count := func(v bson.Value, trail []int32) bool {
				n, _ := v.Int64()
				sum += n
				return true
			}
			nested.Walk(doc, a, count)
			array.Walk(doc, a, count)
			if v := nested.Lookup(doc, &arena); v.Type != bson.TypeInt32 {
				t.Fatal(v.Type)
			}
			if v := array.Lookup(doc, &arena); v.Type != bson.TypeArray {
				t.Fatal(v.Type)
			}
			arena.Reset()
		})
		if n != 0 {
			t.Errorf("rule %d: %v allocations", a, n)
		}
	}
}

func BenchmarkWalk(b *testing.B) {
	doc := kilobyte(b)
	for _, s := range []string{"_id", "n", "n.z.w", "arr.b", "arr.1.b"} {
		p := Must(s)
		b.Run(s, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				n := 0
				p.Walk(doc, TraverseLeaf, func(v bson.Value, trail []int32) bool {
					n++
					return true
				})
			}
		})
	}
}

func BenchmarkLookup(b *testing.B) {
	doc := kilobyte(b)
	var arena bson.Arena
	for _, s := range []string{"n.z.w", "arr.b"} {
		p := Must(s)
		b.Run(s, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				p.Lookup(doc, &arena)
				arena.Reset()
			}
		})
	}
}
