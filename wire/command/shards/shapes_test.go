package shards

import (
	"strconv"
	"testing"
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/shard/history"
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
	return func() { text, _, _, _, _ = x.record(text, ns, def, d, shapeRun{charge: 5, ran: 1}, now) }
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

// TestTakeShapes checks that taking visits the work since the last time, also that of shapes that were evicted or
// forgotten meanwhile.
func TestTakeShapes(t *testing.T) {
	var x shapes
	body := bson.NewBuilder(nil)
	body.BeginDoc("filter")
	body.Int32("_id", 1)
	body.End()
	filter := body.Doc()
	ns, n := collection.Namespace{DB: "test", Coll: "c"}, 0
	def := &command.Def{Name: "find", Query: func(bson.Raw) (bson.Raw, bson.Raw) {
		b := bson.NewBuilder(nil)
		b.Int32(strconv.Itoa(n), 1)
		return b.Doc(), nil
	}}
	run := func(r shapeRun) { x.record(nil, ns, def, filter, r, time.Unix(1000, 0)) }
	take := func() (shapes, others int, w history.ShapeWork) {
		x.take(func(s history.Shape, work history.ShapeWork) {
			if w.Add(work); s.Others() {
				others++
			} else {
				shapes++
			}
		})
		return shapes, others, w
	}
	run(shapeRun{charge: 2e6, ran: 1})
	run(shapeRun{charge: 3e6, more: true})
	run(shapeRun{docs: ratelimit.LimitCounts{3, 4}, refused: true})
	if shapes, others, w := take(); shapes != 1 || others != 0 || w != (history.ShapeWork{RU: 5, Runs: 2, Refused: 7}) {
		t.Errorf("%d shapes, %d others, %+v", shapes, others, w)
	}
	if shapes, others, _ := take(); shapes+others != 0 {
		t.Errorf("%d shapes, %d others again", shapes, others)
	}
	const many = 2 * shapeParts * shapesMax
	for n = range many {
		run(shapeRun{charge: 1e6, ran: 1})
	}
	x.forget(func(collection.Namespace) bool { return true })
	if shapes, others, w := take(); shapes != 0 || others < 1 || w.RU != many || w.Runs != many {
		t.Errorf("%d shapes, %d others, %+v", shapes, others, w)
	}
}
