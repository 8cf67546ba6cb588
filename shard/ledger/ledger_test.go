package ledger

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/shard/history"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/faultkv"
	"github.com/cantledb/cantle/storage/memkv"
)

// world is a ledger with a clock that only the test moves.
type world struct {
	*Ledger
	t     *testing.T
	store storage.Store
	now   time.Time
}

func newWorld(t *testing.T, store storage.Store) *world {
	w := &world{t: t, store: store, now: time.Unix(1_800_000_000/hourSeconds*hourSeconds, 0)}
	w.restart()
	return w
}

// restart replaces the ledger by a new one over the same store, as after a kill.
func (w *world) restart() {
	w.Ledger = New(Config{Store: w.store, Now: func() time.Time { return w.now }, ValueOf: func(_ collection.Namespace, key []byte) (bson.Raw, bool) {
		return bsontest.Doc(w.t, fmt.Sprintf("{tenant: %q}", key)), true
	}})
}

func (w *world) flush() {
	w.t.Helper()
	bsontest.Must(w.t, w.Flush(w.t.Context()))
}

// rows returns all rows by the start of their hour.
func (w *world) rows() map[int64][]Row {
	w.t.Helper()
	out, after := map[int64][]Row{}, int64(-1)
	for {
		page, last, err := w.Page(w.t.Context(), after)
		bsontest.Must(w.t, err)
		if len(page) == 0 {
			return out
		}
		if last <= after {
			w.t.Fatalf("a page ends at hour %d, the page before at %d", last, after)
		}
		for _, r := range page {
			if r.Start/hourSeconds <= after || r.Start/hourSeconds > last {
				w.t.Fatalf("hour %d in the page of hours %d to %d", r.Start/hourSeconds, after, last)
			}
			out[r.Start] = append(out[r.Start], r.Row)
		}
		after = last
	}
}

// check fails unless the rows of each kind add up to a sum and a number of commands.
func (w *world) check(want sum) {
	w.t.Helper()
	got := map[Kind]sum{}
	for _, rows := range w.rows() {
		for _, r := range rows {
			s := got[r.Kind]
			s.add(r.sum)
			got[r.Kind] = s
		}
	}
	for _, k := range Kinds {
		if got[k.Kind] != want {
			w.t.Errorf("the rows by %s add up to %+v, not %+v", k.Name, got[k.Kind], want)
		}
	}
}

// stored returns the number of stored rows, and their bytes.
func (w *world) stored() (rows, bytes int) {
	w.t.Helper()
	snap, err := w.store.Snapshot(w.t.Context(), 0)
	bsontest.Must(w.t, err)
	defer snap.Close()
	bsontest.Must(w.t, scan(w.t.Context(), snap, hoursFrom(0), func(key []byte, _ int64, _ []byte, _ rowID, value []byte) bool {
		rows, bytes = rows+1, bytes+len(key)+len(value)
		return true
	}))
	return rows, bytes
}

// origins returns n origins that differ in user, application and shape.
func origins(n int, text string) []Origin {
	out := make([]Origin, n)
	for i := range out {
		out[i] = Origin{
			Caller: &ratelimit.Caller{User: fmt.Sprint("user", i), App: fmt.Sprint("app", i)},
			Shape:  &history.Shape{Namespace: fmt.Sprint("test.c", i), Command: "find", Filter: text},
			Bucket: uint8(1 + i%5),
		}
	}
	return out
}

// However many users, applications, collections, shapes and values there are, an hour has at most RowsMax rows of a kind,
// twice as many while it lasts: those with the highest sums. The others share a row, and nothing is lost.
func TestRowsOfAnHour(t *testing.T) {
	w := newWorld(t, memkv.Open(memkv.Options{}))
	from := origins(700, "{a: ?}")
	var want sum
	for round := range 3 {
		for i, o := range from {
			w.Add(int64(i), w.now, o, fmt.Append(nil, "t", i), int64(i+1))
			want.add(sum{int64(i + 1), 1})
		}
		w.flush()
		w.check(want)
		for _, rows := range w.rows() {
			count := map[Kind]int{}
			for _, r := range rows {
				count[r.Kind]++
			}
			for _, k := range Kinds {
				if n := count[k.Kind]; n > 2*RowsMax+1 {
					t.Errorf("round %d: %d rows by %s", round, n, k.Name)
				}
			}
		}
	}
	w.now = w.now.Add(time.Hour)
	w.flush()
	w.check(want)
	if n, bytes := w.stored(); n != 6*(RowsMax+1) || bytes > 6*(kindBytesMax+rowBytes) {
		t.Errorf("%d rows of %d bytes are stored", n, bytes)
	}
	for _, rows := range w.rows() {
		for _, r := range rows {
			if r.Kind == User && !r.Others && r.Hundredths != 3*int64(600) && r.Hundredths < 3*600 {
				t.Errorf("%s has a row, with %d only", r.Name, r.Hundredths)
			}
		}
	}
	w.restart()
	w.check(want)
}

// Long names share the row of the others once they take kindBytesMax.
func TestBytesOfAnHour(t *testing.T) {
	w := newWorld(t, memkv.Open(memkv.Options{}))
	var want sum
	for i, o := range origins(100, "{"+strings.Repeat("x", 600)+": ?}") {
		w.Add(int64(i), w.now, o, []byte(strings.Repeat("v", valueMax-i)), 7)
		w.Add(int64(i), w.now, o, []byte(strings.Repeat("v", valueMax+1)), 5) // too long for a row
		want.add(sum{12, 2})
	}
	w.now = w.now.Add(time.Hour)
	w.flush()
	w.check(want)
	if n, bytes := w.stored(); n <= RowsMax || bytes > 6*kindBytesMax*3/2 {
		t.Errorf("%d rows of %d bytes are stored", n, bytes)
	}
}

// Values that come once cannot crowd out those with most of the load, nor the users.
func TestManyValues(t *testing.T) {
	w := newWorld(t, memkv.Open(memkv.Options{}))
	o := origins(2, "{}")
	o[1].Shape = o[0].Shape
	want, n, random := map[string]int64{}, 0, rand.New(rand.NewPCG(1, 1))
	for range 20 {
		for i := range 4000 {
			n++
			w.Add(1, w.now, o[0], fmt.Append(nil, "once", n), 10)
			if i%10 == 0 {
				tenant := random.IntN(40)
				w.Add(1, w.now, o[1], fmt.Append(nil, "t", tenant), 30)
				want[fmt.Sprintf(`test.c0 {"tenant":"t%d"}`, tenant)] += 30
			}
		}
		w.flush()
		w.now = w.now.Add(time.Minute)
	}
	w.check(sum{20*4000*10 + 20*400*30, 20 * 4400})
	counted, users := 0, map[string]int64{}
	for _, rows := range w.rows() {
		for _, r := range rows {
			if r.Kind == User {
				users[r.Name] += r.Hundredths
			}
			if want[r.Name] != 0 && r.Kind == Value && r.Hundredths >= want[r.Name]/2 && r.Hundredths <= want[r.Name] {
				counted++
			}
		}
	}
	if counted < len(want)*9/10 || users["user0"] != 20*4000*10 || users["user1"] != 20*400*30 {
		t.Errorf("%d of %d values are counted, and the users %v", counted, len(want), users)
	}
}

// Entries between two flushes are bounded: those of a lane, of commands without a shape, and all while the store fails.
func TestEntries(t *testing.T) {
	faults := faultkv.New(memkv.Open(memkv.Options{}), 1)
	w := newWorld(t, faults)
	broken := errors.New("broken")
	faults.SetRules(faultkv.Rule{Op: faultkv.Begin, Err: broken}, faultkv.Rule{Op: faultkv.Snapshot, Err: broken})
	full := newTaken() // without sums, in place of hours of load
	for i := range pendingMax - 3*originsMax {
		full.origins[originKey{Origin{Shape: &history.Shape{}, Bucket: uint8(i)}, 1}] = &sum{}
		full.values[valueKey{"test.c", 1, fmt.Sprint(i)}] = &sum{}
	}
	w.pending[1] = &full
	var want sum
	got := 0
	for n := range 5 {
		shape := w.Unshaped(collection.Namespace{DB: "test", Coll: fmt.Sprint("c", n)}, "count")
		for i := range 2 * originsMax {
			w.Add(3, w.now, Origin{Shape: shape, Caller: &ratelimit.Caller{}}, fmt.Append(nil, n, i), 2)
			want.add(sum{2, 1})
		}
		if got := w.lanes[3].taken; len(got.origins) > originsMax+1 || len(got.values) > valuesMax {
			t.Fatalf("%d origins and %d values in a lane", len(got.origins), len(got.values))
		}
		if err := w.Flush(t.Context()); !errors.Is(err, broken) {
			t.Fatal(err)
		}
		got = 0
		for _, p := range w.pending {
			if len(p.values) > pendingMax {
				t.Fatalf("%d pending values", len(p.values))
			}
			got += len(p.origins)
		}
		if got > pendingMax+2 {
			t.Fatalf("%d pending origins", got)
		}
	}
	if got < pendingMax-originsMax {
		t.Errorf("%d pending origins do not reach the bound", got)
	}
	delete(w.pending, 1)
	for i := range 3 * commandsMax {
		w.Unshaped(collection.Namespace{DB: "test", Coll: fmt.Sprint("c", i)}, "count")
		if got := len(w.unshaped.by); got > commandsMax {
			t.Fatalf("%d commands without a shape", got)
		}
	}
	faults.SetRules()
	w.flush()
	w.check(want)
	w.restart()
	w.check(want)
}

// A commit of unknown outcome is repeated, and counts once.
func TestUndeterminedCommit(t *testing.T) {
	faults := faultkv.New(memkv.Open(memkv.Options{}), 1)
	w := newWorld(t, faults)
	var want sum
	for i, o := range origins(300, "{}") {
		if i%3 == 0 {
			faults.SetRules(faultkv.UndeterminedCommitted(0))
		} else if i%3 == 1 {
			faults.SetRules(faultkv.UndeterminedAborted(0))
		} else {
			faults.SetRules()
		}
		w.Add(1, w.now, o, nil, 11)
		want.add(sum{11, 1})
		if err := w.Flush(t.Context()); (err != nil) != (i%3 != 2) {
			t.Fatal(err)
		}
		w.now = w.now.Add(time.Minute)
	}
	w.check(want)
	w.restart()
	w.check(want)
}

// Hours are kept for 90 days: rows of older hours are neither returned nor stored.
func TestKeptHours(t *testing.T) {
	w := newWorld(t, memkv.Open(memkv.Options{}))
	first := w.now
	o := origins(20, "{}")
	const hours = KeptHours + 50
	for n := range hours {
		for i := range o {
			if n < 100 || i == 0 {
				w.Add(int64(i), w.now, o[i], nil, 1)
			}
		}
		w.flush()
		if n < hours-1 {
			w.now = w.now.Add(time.Hour)
		}
	}
	rows := w.rows()
	if len(rows) != KeptHours+1 {
		t.Errorf("%d hours", len(rows))
	}
	oldest := w.now.Add(-KeptHours * time.Hour).Unix()
	for start := range rows {
		if start < oldest {
			t.Errorf("the hour of %s, now is %s", time.Unix(start, 0), w.now)
		}
	}
	if len(w.hours) > 3 {
		t.Errorf("%d hours in memory", len(w.hours))
	}
	// after a long pause more rows are too old than one flush removes
	w.now = first.Add((KeptHours + 100 + KeptHours) * time.Hour)
	w.restart()
	if got := w.rows(); len(got) != 0 {
		t.Errorf("%d hours after a pause", len(got))
	}
	before, _ := w.stored()
	for range before/removedAtOne + 1 {
		w.flush()
	}
	if n, _ := w.stored(); n != 0 || before < 2*removedAtOne {
		t.Errorf("%d of %d rows are still stored", n, before)
	}
}

// A killed server continues the rows of its hour, and has lost only what it had not flushed.
func TestRestart(t *testing.T) {
	w := newWorld(t, memkv.Open(memkv.Options{}))
	o := origins(3, "{}")
	var want sum
	for i := range 50 {
		w.Add(int64(i), w.now, o[i%3], []byte("t"), int64(i))
		want.add(sum{int64(i), 1})
		w.flush()
		w.Add(int64(i), w.now, o[i%3], []byte("t"), 1000) // lost
		w.restart()
		w.now = w.now.Add(11 * time.Minute)
	}
	w.check(want)
}

// TestHide checks that the rows of hidden values become one row of their collection and hour, with their sum.
func TestHide(t *testing.T) {
	w := newWorld(t, nil)
	for i := range 6 {
		o := Origin{Shape: &history.Shape{Namespace: fmt.Sprint("test.c", i%2), Command: "find"}}
		w.Add(0, w.now, o, fmt.Append(nil, "t", i), int64(i))
	}
	page, _, err := w.Page(t.Context(), -1)
	bsontest.Must(t, err)
	got := map[string]int64{}
	for _, r := range Hide(page, func(ns string) bool { return ns == "test.c1" }) {
		if r.Kind == Value {
			got[r.Name] += r.Hundredths
		}
	}
	if want := map[string]int64{`test.c0 {"tenant":"t0"}`: 0, `test.c0 {"tenant":"t2"}`: 2, `test.c0 {"tenant":"t4"}`: 4, "test.c1": 9}; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%v, not %v", got, want)
	}
}

// TestAllocsAdd checks that counting a charge allocates nothing, except for the first of its origin and value.
func TestAllocsAdd(t *testing.T) {
	w := newWorld(t, nil)
	o := origins(1, "{}")[0]
	value := []byte("tenant")
	if n := testing.AllocsPerRun(100, func() { w.Add(5, w.now, o, value, 100) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkAdd(b *testing.B) {
	now := time.Now()
	l := New(Config{Now: time.Now})
	o := origins(1, "{}")[0]
	value := []byte("tenant")
	b.ReportAllocs()
	for b.Loop() {
		l.Add(5, now, o, value, 100)
	}
}

// BenchmarkFlush measures a flush after charges for many values, with the calls of Add before it.
func BenchmarkFlush(b *testing.B) {
	now := time.Now()
	values := map[string]bson.Raw{}
	l := New(Config{Store: memkv.Open(memkv.Options{}), Now: func() time.Time { return now }, ValueOf: func(_ collection.Namespace, key []byte) (bson.Raw, bool) {
		return values[string(key)], true
	}})
	o := origins(4, "{a: ?}")
	var keys [lanes * originsMax][]byte
	for i := range keys {
		keys[i] = fmt.Append(nil, "tenant", i)
		values[string(keys[i])] = bson.D{{"tenant", string(keys[i])}}.Doc()
	}
	b.ReportAllocs()
	for b.Loop() {
		for i, k := range keys {
			l.Add(int64(i), now, o[i%4], k, 100)
		}
		if err := l.Flush(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N), "flushes")
}
