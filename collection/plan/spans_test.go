package plan

import (
	"testing"

	"github.com/cantledb/cantle/storage/keyspace"
)

// For each combination of leading points, Spans returns one range for all intervals of the first field with ranges,
// independently of their number.
func TestSpans(t *testing.T) {
	point := func(v string) keyspace.Bounds { return keyspace.Bounds{Lo: []byte(v), Hi: []byte(v)} }
	b := Bounds{
		{Intervals: []keyspace.Bounds{point("a"), point("b")}},
		{Intervals: []keyspace.Bounds{{Lo: []byte("1"), Hi: []byte("2")}, {Lo: []byte("5"), Hi: []byte("6"), HiOpen: true}}},
	}
	exact, _ := b.Ranges()
	spans := b.Spans()
	if len(exact) != 4 || len(spans) != 2 {
		t.Fatalf("%d ranges and %d spans", len(exact), len(spans))
	}
	if s := spans[0]; string(s.Lo) != "a1" || string(s.Hi) != "a6" || s.LoOpen || !s.HiOpen {
		t.Errorf("%+v", s)
	}
	if n := len((Bounds{{Intervals: []keyspace.Bounds{point("a")}}}).Spans()); n != 1 {
		t.Errorf("%d spans of a point", n)
	}
	if n := len((Bounds{{}}).Spans()); n != 0 {
		t.Errorf("%d spans of nothing", n)
	}
}
