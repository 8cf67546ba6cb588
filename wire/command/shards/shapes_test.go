package shards

import (
	"testing"
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/wire/command"
)

// noting returns a function that counts a find by its shape.
func noting() func() {
	var x shapes
	body := bson.NewBuilder(nil)
	body.String("find", "c")
	body.BeginDoc("filter")
	body.Int32("_id", 1)
	body.End()
	d := body.Doc()
	ns := collection.Namespace{DB: "test", Coll: "c"}
	var text []byte
	query := func(d bson.Raw) (filter, sort bson.Raw) {
		filter, _ = d.Get("filter").Doc()
		return filter, nil
	}
	now, def := time.Unix(1000, 0), &command.Def{Name: "find", Query: query}
	return func() { text, _, _, _ = x.record(text, ns, def, d, shapeRun{charge: 5, ran: 1}, now) }
}

// TestAllocsShape checks that counting a command allocates nothing, except for the first command of its shape.
func TestAllocsShape(t *testing.T) {
	note := noting()
	note()
	if n := testing.AllocsPerRun(100, note); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// BenchmarkShape measures the counting of a command by its shape.
func BenchmarkShape(b *testing.B) {
	note := noting()
	b.ReportAllocs()
	for b.Loop() {
		note()
	}
}
