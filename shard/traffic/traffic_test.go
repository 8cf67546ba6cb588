package traffic

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/shard"
)

var (
	orders = collection.Namespace{DB: "shop", Coll: "orders"}
	begun  = time.Unix(1_000_020, 0) // at the beginning of a minute
)

func doc(t testing.TB, text string, args ...any) bson.Raw {
	t.Helper()
	return bsontest.Doc(t, fmt.Sprintf(text, args...))
}

func key(t testing.TB, text string) shard.KeyPattern {
	t.Helper()
	k, err := shard.ParseKeyPattern(doc(t, "%s", text))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// replay replays the whole sample under a key.
func (r *Recorder) replay(t testing.TB, text string, partitions int) *Replay {
	t.Helper()
	out, err := r.Sample(orders, 0, math.MaxInt32).Replay(key(t, text), partitions)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// fullest returns the work of the partition with most work as a multiple of the average.
func (r *Replay) fullest() float64 {
	var sums []float64
	for _, m := range r.Minutes {
		if sums == nil {
			sums = make([]float64, len(m.Loads))
		}
		for i, x := range m.Loads {
			sums[i] += x
		}
	}
	all, most := 0.0, 0.0
	for _, x := range sums {
		all += x
		most = max(most, x)
	}
	return most * float64(len(sums)) / all
}

// Recorded statements are replayed under other shard keys. If the key is the tenant, a tenant with most of the work
// fills a partition. If the key is the order, no partition fills, but queries that fix only the tenant pay for visiting
// all partitions.
func TestReplay(t *testing.T) {
	var r Recorder
	for i := range 100 {
		r.Note(&Statement{NS: orders, At: begun, RU: 6, Write: true, Document: doc(t, `{_id: %d, tenant: "t%d", order: %d, lines: [1]}`, i, i%10, i)})
	}
	for i := range 20 {
		r.Note(&Statement{NS: orders, At: begun.Add(time.Minute), RU: 30, Visits: 1, Filter: doc(t, `{tenant: "t7", order: {$in: [%d]}, at: {$gt: 5}}`, i)})
		r.Note(&Statement{NS: orders, At: begun.Add(time.Minute), RU: 10, Visits: 1, Filter: doc(t, `{$and: [{tenant: {$eq: "t7"}}], order: {$gt: 5}}`)})
	}
	by := r.replay(t, `{tenant: "hashed"}`, 8)
	if by.Statements != 140 || by.Samples != 140 || by.RU != 600+600+200 || by.One != 1 || by.Cost != 1 || by.fullest() < 4.5 {
		t.Errorf("by the tenant: %+v, the fullest has %.2f times the average", by, by.fullest())
	}
	if len(by.Minutes) != 2 || by.Minutes[0].RU != 600 || by.Minutes[1].At != begun.Unix()+60 || by.Values[0].Texts[0] != `"t7"` || math.Abs(by.Values[0].Share-(800+60)/1400.0) > 1e-9 {
		t.Errorf("%+v", by)
	}
	by = r.replay(t, `{order: "hashed"}`, 8)
	if math.Abs(by.All-200/1400.0) > 1e-9 || math.Abs(by.Cost-(1400+20*7*2.5)/1400) > 1e-9 || by.fullest() > 2 {
		t.Errorf("by the order: %+v, the fullest has %.2f times the average", by, by.fullest())
	}
	by = r.replay(t, `{tenant: "hashed", order: "hashed"}`, 8)
	if by.All != 0 || by.Some == 0 || by.fullest() > 2.5 {
		t.Errorf("by both: %+v, the fullest has %.2f times the average", by, by.fullest())
	}
	by = r.replay(t, `{tenant: "hashed", _id: {buckets: 16}}`, 8)
	if by.fullest() > 2 || by.All == 0 {
		t.Errorf("with a suffix: %+v, the fullest has %.2f times the average", by, by.fullest())
	}
	by = r.replay(t, `{none: "hashed"}`, 8)
	if by.One != 600/1400.0 || by.fullest() < 2 { // all documents are in one partition
		t.Errorf("by what there is not: %+v", by)
	}
	fields := r.Sample(orders, 0, math.MaxInt32).Fields(3)
	if len(fields) != 3 || fields[0].Path != "tenant" || fields[0].Fixed != 1 || fields[0].Values != 10 || fields[1].Path != "order" {
		t.Errorf("%+v", fields)
	}
	if _, err := r.Sample(orders, 0, 1).Replay(key(t, `{order: 1}`), 8); err == nil || !strings.Contains(err.Error(), "hashed keys") {
		t.Error(err)
	}
	r.Forget(func(ns collection.Namespace) bool { return ns == orders })
	if by := r.replay(t, `{order: "hashed"}`, 8); by.Samples != 0 || by.Minutes != nil {
		t.Errorf("after it was forgotten: %+v", by)
	}
}

// A read by _id and key visits one partition under a key that it fixes, and becomes a query of all
// partitions under another; pages and writes by key pay no visits.
func TestCost(t *testing.T) {
	for _, c := range []struct {
		s    Statement
		want float64
	}{
		{Statement{RU: 3, Visits: 1, Filter: doc(t, `{_id: 1, k: 1}`)}, 1},
		{Statement{RU: 1, Filter: doc(t, `{_id: 1, k: 1}`)}, 1},
		{Statement{RU: 1, Filter: doc(t, `{_id: 1, a: 1}`)}, 10},
		{Statement{RU: 12, Visits: 4, Filter: doc(t, `{k: 1}`)}, 4.5},
		{Statement{RU: 12, Visits: 4, Filter: doc(t, `{a: 1}`)}, 12},
		{Statement{RU: 10, Filter: doc(t, `{_id: 1, a: 1}`), Write: true}, 20},
		{Statement{RU: 12.5, Visits: 1, Filter: doc(t, `{_id: 1, k: 1}`), Write: true}, 10},
		{Statement{RU: 7, Filter: doc(t, `{a: 1}`), Page: true}, 7},
		{Statement{RU: 7, Document: doc(t, `{a: 1}`), Write: true}, 7},
	} {
		var r Recorder
		c.s.NS, c.s.At = orders, begun
		r.Note(&c.s)
		by := r.replay(t, `{k: "hashed"}`, 4)
		if got := by.Cost * by.RU; math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%+v: %v RU, want %v", c.s, got, c.want)
		}
	}
}

// The sample is bounded however many statements there are; the sum of RU that it stands for is 75 to 130 % of the true
// sum.
func TestBounds(t *testing.T) {
	var r Recorder
	all := 0.0
	for i := range 20_000 {
		ru := 1 + float64(i%7)
		if i%1000 == 0 {
			ru = 500
		}
		all += ru
		r.Note(&Statement{NS: orders, At: begun, RU: ru, Filter: doc(t, `{k: %d}`, i)})
	}
	by := r.replay(t, `{k: "hashed"}`, 4)
	if by.Statements != 20_000 || by.Samples != samplesOf || by.RU < all*0.75 || by.RU > all*1.3 {
		t.Errorf("%d samples stand for %.0f RU of %.0f", by.Samples, by.RU, all)
	}
	for i := range 200 {
		for j := range 500 {
			r.Note(&Statement{NS: collection.Namespace{DB: "shop", Coll: fmt.Sprint(i)}, At: begun.Add(time.Minute), RU: 1, Document: doc(t, `{a%d: 1, b%d: 1, c%d: 1}`, i*500+j, i, j)})
		}
	}
	m := r.now.Load()
	kept := 0
	for _, b := range *m.bins.Load() {
		kept += len(b.list)
	}
	if n := len(*m.bins.Load()); n != collectionsMax || kept > samplesMax+collectionsMax || len(r.paths.list) > pathsMax {
		t.Errorf("%d collections, %d statements, %d paths", n, kept, len(r.paths.list))
	}
	wide := "_id: 1"
	for i := range 100 {
		wide += fmt.Sprintf(", f%d: 1", i)
	}
	r.Note(&Statement{NS: orders, At: begun.Add(2 * time.Minute), RU: 5, Document: doc(t, "{%s}", wide)})
	if by, _ := r.Sample(orders, begun.Unix()+120, math.MaxInt32).Replay(key(t, `{f99: "hashed"}`), 4); by.Unknown != 1 {
		t.Errorf("a field that was not kept: %+v", by)
	}
	for i := range 70 { // an hour later nothing is left
		r.Note(&Statement{NS: collection.Namespace{DB: "x", Coll: "y"}, At: begun.Add(time.Duration(i) * time.Minute), RU: 1, Filter: doc(t, `{a: 1}`)})
	}
	if by := r.replay(t, `{k: "hashed"}`, 4); by.Samples != 0 {
		t.Errorf("an hour later: %+v", by)
	}
}

// noting returns a recorder whose sample of a minute is full, and a statement to note.
func noting(t testing.TB) (*Recorder, *Statement) {
	var r Recorder
	s := &Statement{NS: orders, At: begun, RU: 5, Visits: 1, Filter: doc(t, `{tenant: "t7", order: 5}`)}
	for range 100_000 {
		r.Note(s)
	}
	return &r, s
}

// A statement that is not kept allocates no memory.
func TestAllocsNote(t *testing.T) {
	r, s := noting(t)
	if n := testing.AllocsPerRun(10_000, func() { r.Note(s) }); n > 0.1 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkNote(b *testing.B) {
	r, s := noting(b)
	for b.Loop() {
		r.Note(s)
	}
}
