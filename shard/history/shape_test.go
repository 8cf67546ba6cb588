package history_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/cantledb/cantle/shard/history"
	"github.com/cantledb/cantle/storage"
)

// shapesOf replaces the recorder of a world by one of query shapes, over the same store; the map is the work that the
// next update takes.
func (w *world) shapesOf(pending map[history.Shape]history.ShapeWork) {
	w.t.Helper()
	w.Recorder = history.New(history.Config{Catalog: w.jobs.Catalog, Budgets: w.cluster.Budgets, Store: w.store, Now: w.clock.Now,
		Shapes: func(visit func(history.Shape, history.ShapeWork)) {
			for s, work := range pending {
				visit(s, work)
			}
			clear(pending)
		}, Failed: func(err error) { w.t.Error(err) }})
	w.must(w.Load(w.t.Context()))
}

func find(filter string) history.Shape {
	return history.Shape{Namespace: "test.orders", Command: "find", Filter: filter}
}

// The work of shapes is that of the steps in the range, the step that is being filled included, and the same number of
// steps before has its own. A restart keeps both.
func TestShapes(t *testing.T) {
	w := newWorld(t)
	pending := map[history.Shape]history.ShapeWork{}
	w.shapesOf(pending)
	w.Update()
	begun := w.clock.Now().Unix()
	for second := range 120 {
		pending[find("{a: ?}")] = history.ShapeWork{RU: 2, Runs: 1}
		if second >= 60 {
			pending[find("{b: ?}")] = history.ShapeWork{RU: 10, Runs: 2, Refused: 1}
		}
		w.clock.Advance(time.Second)
		w.Update()
	}
	check := func(when string) {
		t.Helper()
		now := w.Second()
		q := w.ShapeSteps(now-61, now-1)
		if q.Level != history.Tens || q.Steps != 6 || (q.First+6)*10 != begun+120 {
			t.Fatalf("%s: %+v", when, q)
		}
		if live := w.ShapeSteps(now-60, now); live.First != q.First+1 || live.Steps != 6 {
			t.Errorf("%s: up to the present %+v", when, live)
		}
		for _, c := range []struct {
			what  string
			first int64
			want  string
		}{
			{"now", q.First, "[{test.orders find {b: ?} } {600 120 60}] [{test.orders find {a: ?} } {120 60 0}] "},
			{"before", q.First - 6, "[{test.orders find {a: ?} } {120 60 0}] "},
		} {
			q.First = c.first
			sums, got := w.Shapes(q), ""
			for _, r := range sums.Rows {
				got += fmt.Sprintf("[%v %v] ", r.Shape, r.ShapeWork)
			}
			if got != c.want || sums.Since != begun {
				t.Errorf("%s, %s: %s since %+d", when, c.what, got, sums.Since-begun)
			}
		}
		only := find("{b: ?}")
		q.First, q.Only = q.First+3, &only
		if sums := w.Shapes(q); len(sums.Rows) != 1 || sums.Steps[0].RU != 0 || sums.Steps[3] != (history.ShapeWork{RU: 100, Runs: 20, Refused: 10}) {
			t.Errorf("%s: %+v", when, sums)
		}
	}
	check("running")
	w.Save(t.Context())
	w.shapesOf(pending)
	check("after a restart")
	w.clock.Advance(5 * time.Second)
	pending[find("{b: ?}")] = history.ShapeWork{RU: 5, Runs: 1}
	w.Update()
	w.Save(t.Context())
	w.shapesOf(pending)
	w.clock.Advance(300 * time.Second)
	w.Update()
	q := history.ShapeQuery{Level: history.Fives, First: begun / 300, Steps: 1}
	if got := w.Shapes(q).Steps[0]; got != (history.ShapeWork{RU: 845, Runs: 241, Refused: 60}) {
		t.Errorf("five minutes with two restarts: %+v", got)
	}
}

// However many shapes there are, a step has a bounded number of them; the sums are those of all, and the shape with most
// refusals has an entry.
func TestManyShapes(t *testing.T) {
	w := newWorld(t)
	pending := map[history.Shape]history.ShapeWork{}
	w.shapesOf(pending)
	w.Update()
	const seconds, perSecond = 40, 120
	for second := range seconds {
		for i := range perSecond {
			s := find(fmt.Sprintf("{f%d: ?}", second*perSecond+i))
			s.Namespace = fmt.Sprintf("test.c%d", i%100)
			pending[s] = history.ShapeWork{RU: 1, Runs: 1}
		}
		pending[find("{hot: ?}")] = history.ShapeWork{RU: 1000, Runs: 100}
		pending[find("{refused: ?}")] = history.ShapeWork{Refused: 500}
		w.clock.Advance(time.Second)
		w.Update()
	}
	steps := history.ShapeQuery{Level: history.Tens, First: start.Unix() / 10, Steps: seconds / 10}
	sums := w.Shapes(steps)
	all, rows := history.ShapeWork{}, history.ShapeWork{}
	for _, s := range sums.Steps {
		all.Add(s)
	}
	for _, r := range sums.Rows {
		rows.Add(r.ShapeWork)
	}
	want := history.ShapeWork{RU: seconds * (1000 + perSecond), Runs: seconds * (100 + perSecond), Refused: 500 * seconds}
	if all != want || rows != want {
		t.Errorf("%+v in steps, %+v in rows; want %+v", all, rows, want)
	}
	if len(sums.Rows) > 4*(32+8)+70 || sums.Rows[0].Filter != "{hot: ?}" || sums.Rows[0].RU != 1000*seconds || sums.Rows[1].Filter != "{refused: ?}" {
		t.Errorf("%d rows, first %+v", len(sums.Rows), sums.Rows[:2])
	}
	if last := sums.Rows[len(sums.Rows)-1]; !last.Others() || last.RU == 0 {
		t.Errorf("no others: %+v", last)
	}
	w.Save(t.Context())
	w.shapesOf(pending)
	if again := w.Shapes(steps); again.Rows[0] != sums.Rows[0] || again.Steps[0] != sums.Steps[0] {
		t.Errorf("after a restart %+v", again.Rows[0])
	}
}

// If the records of a store have more shapes than there are numbers, some become others at a start, and no shape has the
// work of another one.
func TestLoadOfManyShapes(t *testing.T) {
	w := newWorld(t)
	pending := map[history.Shape]history.ShapeWork{}
	w.shapesOf(pending)
	w.Update()
	want := map[history.Shape]float64{}
	for _, distinct := range []int{900, 200, 100, 100, 100, 100, 300, 100, 150} { // in five minutes each
		for range 30 {
			for range distinct / 30 {
				s := find(fmt.Sprintf("{f%d: ?}", len(want)))
				want[s] = float64(len(want) + 1)
				pending[s] = history.ShapeWork{RU: want[s], Runs: 1}
			}
			w.clock.Advance(10 * time.Second)
			w.Update()
		}
		w.StoreFullColumns(t.Context())
	}
	w.Save(t.Context())
	w.shapesOf(pending)
	sums := w.Shapes(history.ShapeQuery{Level: history.Tens, First: start.Unix() / 10, Steps: 300})
	for _, r := range sums.Rows {
		if !r.Others() && (r.RU != want[r.Shape] || r.Runs != 1) {
			t.Fatalf("%s: %+v, want %v RU", r.Filter, r.ShapeWork, want[r.Shape])
		}
	}
	if len(sums.Rows) < 800 {
		t.Errorf("%d rows", len(sums.Rows))
	}
}

// The work of shapes at a server that is gone counts until another takes its history over, and then there.
func TestShapesOfAllServers(t *testing.T) {
	o := newOwners(t)
	open := func(id byte, pending map[history.Shape]history.ShapeWork) *history.Recorder {
		o.alive = append(o.alive, storage.Member{ID: storage.MemberID{id}})
		r := history.New(history.Config{Catalog: o.jobs.Catalog, Budgets: o.cluster.Budgets, Store: member{o.store, storage.MemberID{id}, &o.alive}, Now: o.clock.Now,
			Shapes: func(visit func(history.Shape, history.ShapeWork)) {
				for s, work := range pending {
					visit(s, work)
				}
				clear(pending)
			}, Failed: func(err error) { o.t.Error(err) }})
		o.must(r.Load(t.Context()))
		return r
	}
	a := open(1, map[history.Shape]history.ShapeWork{find("{a: ?}"): {RU: 3, Runs: 1}})
	b := open(2, map[history.Shape]history.ShapeWork{find("{a: ?}"): {RU: 4, Runs: 1}, find("{b: ?}"): {RU: 50, Runs: 1}})
	o.work(a, 5)
	o.alive = o.alive[1:]
	check := func(r *history.Recorder, want string) {
		t.Helper()
		sums, unreachable, err := history.NewAllServers(r, o.cluster.Peers).Shapes(t.Context(), r.ShapeSteps(r.Second()-20, r.Second()+1))
		if err != nil || unreachable != nil || sums.Since != start.Unix() {
			t.Errorf("%v, %v, since %d", unreachable, err, sums.Since)
		}
		got := ""
		for _, row := range sums.Rows {
			got += fmt.Sprint(row.Filter, row.RU, " ", row.Runs, "; ")
		}
		if got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	check(b, "{b: ?}50 1; {a: ?}7 2; ")
	o.work(b, 1)
	c := open(3, nil) // takes the history of a over, and cannot reach b here
	check(c, "{a: ?}3 1; ")
	check(b, "{b: ?}50 1; {a: ?}4 1; ")
}
