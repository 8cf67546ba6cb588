package history_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/shard"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/shard/ddl"
	"github.com/cantledb/cantle/shard/history"
	"github.com/cantledb/cantle/storage/keyspace"
)

func TestScale(t *testing.T) {
	if history.Scale(0) != 0 || history.Value(0) != 0 || history.Scale(1e-9) != 1 || history.Scale(1e12) != 255 {
		t.Error("the ends of the scale")
	}
	for v := 0.001; v < 1e7; v *= 1.013 {
		if got := history.Value(history.Scale(v)); math.Abs(got-v) > 0.047*v {
			t.Fatalf("%g became %g", v, got)
		}
	}
	for b := 1; b < 256; b++ {
		if got := history.Scale(history.Value(byte(b))); got != byte(b) {
			t.Fatalf("step %d became %d", b, got)
		}
	}
}

// The work of a second is in the column of that second, and as averages in those of the coarser levels.
func TestSeconds(t *testing.T) {
	w := newWorld(t)
	w.shard(4)
	w.Update()
	hot := w.shards()[2]
	for _, n := range []int{10, 0, 30} {
		w.write(hot, n)
		w.clock.Advance(time.Second)
		w.Update()
	}
	from := start.Unix()
	h := w.Heat(history.Seconds, history.Writes, "test.orders", from, from+60)
	if len(h.Rows) != 1 || h.Rows[0].Part.Place.Shard != hot || !about(cells(h.Rows[0]), 10, 0, 30) {
		t.Fatalf("%+v", h)
	}
	if p := h.Rows[0].Part; p.From != 0.5 || p.To != 0.75 || p.Lo != `{"k":0}` {
		t.Errorf("the range of the partition: %+v", p)
	}
	for m, want := range map[history.Metric][]int{history.RU: {50, 0, 150}, history.KiB: {10, 0, 30}, history.Latency: {2, 0, 2}, history.Reads: {0, 0, 0}} {
		if got := cells(w.Heat(history.Seconds, m, "", from, from+60).Rows[0]); !about(got, want...) {
			t.Errorf("%s: %v, want %v", m, got, want)
		}
	}
	l := w.Lines(history.Seconds, from, from+60)
	if len(l.Totals) != 3 || l.From != from || l.Totals[2].Writes != 30 || l.Totals[2].RU != 150 || l.Totals[2].Connections != 3 {
		t.Errorf("%+v", l)
	}
	if p := l.Totals[2].P99; p < 1.7 || p > 2.3 || l.Totals[1].P99 != 0 {
		t.Errorf("99 of 100 took %v ms", p)
	}
	if h := w.Heat(history.Tens, history.RU, "", from, from+60); len(h.Rows) != 0 || h.Columns != 0 {
		t.Errorf("columns of ten seconds after three: %+v", h)
	}
	w.clock.Advance(297 * time.Second)
	if l := w.Lines(history.Fives, from, from+300); len(l.Totals) != 1 || math.Abs(float64(l.Totals[0].Writes)-40.0/300) > 0.001 {
		t.Errorf("five minutes: %+v", l)
	}
	if l := w.Lines(history.Tens, from, from+300); len(l.Totals) != 30 || l.Totals[0].Writes != 4 || l.Totals[1].Writes != 0 {
		t.Errorf("ten seconds: %+v", l)
	}
}

// A partition whose requests are refused is the busiest.
func TestRefused(t *testing.T) {
	w := newWorld(t)
	w.shard(2)
	id := uint64(w.cluster.Catalog().Collection(ns).ID)
	w.must(w.ddl.SetThroughput(w.op(), ns, catalog.Throughput{Mode: catalog.ThroughputManual, RU: 400}))
	w.Update()
	hot := w.shards()[0]
	w.write(hot, 60) // 300 RU of 200
	for i := range 7 {
		if w.cluster.Budgets.Admit(w.clock.Now(), ratelimit.Scope{Collection: id, Shards: []int{hot}}, ratelimit.Class{}) == nil {
			t.Fatal("admitted into debt")
		}
		w.CountRefused(refusedBy([]ratelimit.Limit{ratelimit.PartitionLimit, ratelimit.BucketLimit}[i/5]))
	}
	w.clock.Advance(time.Second)
	from := start.Unix()
	if got := w.Lines(history.Seconds, from, from+1).Totals[0]; got.Refused != 7 || got.Busiest != 150 || got.Provisioned != 400 || got.RefusedBy != [len(ratelimit.Limits)]float32{0: 5, 2: 2} {
		t.Errorf("%+v", got)
	}
	if got := cells(w.Heat(history.Seconds, history.Refused, "", from, from+1).Rows[0]); !about(got, 7) {
		t.Errorf("refused %v", got)
	}
}

// refusedBy returns one refusal by a limit.
func refusedBy(l ratelimit.Limit) *ratelimit.LimitCounts {
	n := ratelimit.LimitCounts{}
	n.Count(l)
	return &n
}

// Splits and reshards are events; a split ends a row and begins others.
func TestSplit(t *testing.T) {
	w := newWorld(t)
	w.shard(2)
	w.Update()
	parent := w.shards()[0]
	w.write(parent, 10)
	w.clock.Advance(10 * time.Second)
	w.Update()
	w.must(w.jobs.Split(t.Context(), ns, shard.ID(parent), shard.HashPosition(keyspace.Hash(1)<<62)))
	children := w.shards()[:2]
	w.Update()
	w.write(children[0], 20)
	w.write(children[1], 40)
	w.clock.Advance(time.Second)
	from := start.Unix()
	h := w.Heat(history.Seconds, history.Writes, "test.orders", from, from+60)
	var got []string
	for _, r := range h.Rows {
		last := cells(r)[len(r.Cells)-1] / 9
		got = append(got, fmt.Sprint(r.Part.Place.Shard, " ", r.First-from, " ", r.Until, " ", r.Part.From, "-", r.Part.To, " ", last))
	}
	want := []string{
		fmt.Sprintf("%d 0 %d 0-0.5 0", parent, from+10),
		fmt.Sprintf("%d 10 0 0-0.25 2", children[0]),
		fmt.Sprintf("%d 10 0 0.25-0.5 4", children[1]),
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("rows\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	w.must(w.jobs.Merge(t.Context(), ns, shard.ID(children[0]), shard.ID(children[1])))
	w.must(w.ddl.ReshardCollection(w.op(), ns, ddl.ShardOptions{Key: w.raw(`{j: "hashed"}`), Shards: 2}))
	w.clock.Advance(time.Second)
	var events []string
	for _, e := range w.Events("test.orders", from, from+60) {
		events = append(events, fmt.Sprint(e.At-from, " ", e.Kind, " ", e.Text))
	}
	want = []string{
		fmt.Sprintf("10 split partition %d became %d, %d", parent, children[0], children[1]),
		`11 reshard from { k: "hashed" } to { j: "hashed" }`,
	}
	if !slices.Equal(events, want) {
		t.Errorf("events\n%s\nwant\n%s", strings.Join(events, "\n"), strings.Join(want, "\n"))
	}
}

// After a restart the history continues where it ended, also in columns that were not full.
func TestKept(t *testing.T) {
	w := newWorld(t)
	w.shard(2)
	w.Update()
	hot := w.shards()[1]
	w.write(hot, 10)
	w.CountRefused(refusedBy(ratelimit.BucketLimit))
	w.clock.Advance(300 * time.Second)
	w.Update()
	w.write(hot, 30)
	w.CountRefused(refusedBy(ratelimit.QueueLimit))
	w.clock.Advance(2 * time.Second)
	w.Save(t.Context())
	w.clock.Advance(3 * time.Second)

	v := openWorld(t, w.store, w.clock)
	from := start.Unix()
	check := func(w *world, when string) {
		t.Helper()
		h := w.Heat(history.Seconds, history.Writes, "test.orders", from, from+400)
		if len(h.Rows) != 1 || len(h.Rows[0].Cells) != 305 {
			t.Fatalf("%s: %d rows", when, len(h.Rows))
		}
		if c := cells(h.Rows[0]); c[0] < 9 || c[0] > 11 || c[300] < 29 || c[300] > 31 || c[301] != 0 {
			t.Errorf("%s: seconds %v", when, c[295:])
		}
		if l := w.Lines(history.Fives, from, from+400); len(l.Totals) != 1 || math.Abs(float64(l.Totals[0].Writes)-10.0/300) > 0.001 {
			t.Errorf("%s: five minutes %+v", when, l)
		} else if l.Totals[0].RefusedBy != [len(ratelimit.Limits)]float32{2: 1.0 / 300} {
			t.Errorf("%s: refused by %v", when, l.Totals[0].RefusedBy)
		}
	}
	check(w, "before")
	check(v, "after")
	v.write(hot, 30)
	v.CountRefused(refusedBy(ratelimit.PartitionLimit))
	v.clock.Advance(300 * time.Second)
	got := v.Lines(history.Fives, from+300, from+600).Totals
	if len(got) != 1 || math.Abs(float64(got[0].Writes)-0.2) > 0.01 {
		t.Errorf("the column that the restart interrupted: %+v", got)
	} else if got[0].RefusedBy != [len(ratelimit.Limits)]float32{0: 1.0 / 300, 4: 1.0 / 300} {
		t.Errorf("the column that the restart interrupted: refused by %v", got[0].RefusedBy)
	}
	u := openWorld(t, w.store, ratelimit.NewVirtualClock(start.Add(30*24*time.Hour)))
	for _, r := range u.Heat(history.Fives, history.RU, "", 0, math.MaxInt64/2).Rows {
		if slices.Max(r.Cells) != 0 {
			t.Errorf("a month later %v", r)
		}
	}
}

// A clock that leaps five days forward leaves empty columns, and earlier work stays in its columns.
func TestLeap(t *testing.T) {
	w := newWorld(t)
	w.shard(1)
	w.Update()
	w.write(w.shards()[0], 300)
	w.clock.Advance(5 * 24 * time.Hour)
	from := start.Unix()
	h := w.Heat(history.Fives, history.Writes, "", 0, math.MaxInt64/2)
	if len(h.Rows) != 1 || h.From != from-2*24*3600 && h.From != from {
		t.Fatalf("%+v", h)
	}
	at := (from - h.Rows[0].First) / 300
	if c := cells(h.Rows[0]); c[at] != 1 || slices.Max(c[at+1:]) != 0 {
		t.Errorf("%v", c[:at+3])
	}
	if n := len(w.Lines(history.Seconds, 0, math.MaxInt64/2).Totals); n != 900 {
		t.Errorf("%d seconds", n)
	}
}
