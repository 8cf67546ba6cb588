package ratelimit

import (
	"math/rand/v2"
	"reflect"
	"testing"
)

func TestNilMeter(t *testing.T) {
	var m *Meter
	m.Reset(1, nil)
	m.SetStrong(true)
	m.SetCollection(2)
	m.Add(0, DocLoaded, 1)
	m.PointRead(0, 1)
	m.WriteNew(0, 1)
	m.WriteOld(0, 1)
	m.Visit(0, 1)
	m.Terms(0, 1, 1)
	m.Merge(&Meter{})
	(&Meter{}).Merge(m)
	if m.Fork(1) != nil || m.Total() != 0 || len(m.Receipt().Lines) != 0 || m.Sum(DocLoaded) != 0 || m.TermWeight(1) != 1 {
		t.Error("a nil meter counts")
	}
}

// Merging forks in any order gives the same receipt as counting all work in one meter.
func TestMeterMerge(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		var whole Meter
		whole.Reset(7, nil)
		parts := make([]*Meter, 5)
		for i := range parts {
			parts[i] = whole.Fork(7)
		}
		for range 200 {
			shard, item, q := r.IntN(12), Item(r.IntN(int(itemCount))), r.Int64N(5000)
			whole.Add(shard, item, q)
			parts[r.IntN(len(parts))].Add(shard, item, q)
		}
		var merged Meter
		r.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
		for _, p := range parts {
			merged.Merge(p)
		}
		if !reflect.DeepEqual(whole.Receipt(), merged.Receipt()) {
			t.Fatalf("merged:\n%+v\nwhole:\n%+v", merged.Receipt(), whole.Receipt())
		}
	}
}

func TestMeterCollections(t *testing.T) {
	var m Meter
	m.Reset(1, nil)
	m.PointRead(3, 100)
	f := m.Fork(2)
	f.PointRead(3, 100)
	m.Merge(f)
	r := m.Receipt()
	if len(r.Lines) != 2 || r.Lines[0].ShardID != (ShardID{1, 3}) || r.Lines[1].ShardID != (ShardID{2, 3}) || r.Total != 2*RU {
		t.Errorf("%+v", r)
	}
	if m.Quantity(3, PointRead) != 1 || m.Sum(PointRead) != 2 {
		t.Error("quantities")
	}
}

// The charges of the batches of a query add up to the price of the whole query, whatever the number of documents in
// a batch.
func TestPagesAddUp(t *testing.T) {
	for _, page := range []int{1, 7, 100} {
		var m Meter
		var sum, before MicroRU
		m.Visit(0, 1)
		for i := 1; i <= 100; i++ {
			m.Add(0, DocLoaded, 1)
			m.Add(0, ByteReturned, 333)
			if i%page == 0 || i == 100 {
				sum += m.Total() - before
				before = m.Total()
			}
		}
		if sum != m.Total() || m.Total().String() != "9.20" {
			t.Errorf("page %d: %s", page, sum)
		}
	}
}

func TestAllocsMeter(t *testing.T) {
	var m Meter
	var b Budgets
	b.Collection(1)
	if n := testing.AllocsPerRun(100, func() {
		m.Reset(1, nil)
		m.PointRead(0, 3000)
		m.Visit(1, 2)
		m.Terms(1, 2, 0)
		if b.Admit(t0, Scope{Collection: 1}, Class{}) != nil {
			t.Fatal("refused")
		}
		b.Charge(t0, Class{}, &m)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkMeterPointRead(b *testing.B) {
	b.ReportAllocs()
	var m Meter
	for b.Loop() {
		m.PointRead(2, 3000)
	}
}

// A whole command on an unlimited collection: count, admit, charge.
func BenchmarkUnlimitedCommand(b *testing.B) {
	b.ReportAllocs()
	var g Budgets
	var m Meter
	for b.Loop() {
		m.Reset(1, nil)
		g.Admit(t0, Scope{Collection: 1}, Class{})
		m.PointRead(0, 3000)
		g.Charge(t0, Class{}, &m)
	}
}

// Cut moves what a meter has counted so far to another meter, and the pieces add up to the whole.
func TestMeterCut(t *testing.T) {
	var whole, parts, m, piece Meter
	m.Reset(3, nil)
	m.SetStrong(true)
	for i := range 9 {
		whole.Reset(3, nil)
		m.Visit(i, 2)
		m.Add(i, DocLoaded, int64(i))
		if i%4 == 3 {
			m.Cut(&piece)
			parts.Merge(&piece)
			if m.Total() != 0 || piece.Collection() != 3 {
				t.Fatal("not cut")
			}
		}
	}
	m.Cut(&piece)
	parts.Merge(&piece)
	parts.SetStrong(true)
	for i := range 9 {
		whole.Visit(i, 2)
		whole.Add(i, DocLoaded, int64(i))
	}
	if parts.Total() != 2*whole.Total() || piece.Total() == 0 {
		t.Errorf("%v, want %v", parts.Total(), 2*whole.Total())
	}
}

// A statement that had a write conflict pays only for the failure, not for the reads and writes before it.
func TestMeterConflict(t *testing.T) {
	var m Meter
	m.Reset(1, nil)
	m.PointRead(2, 5000)
	m.WriteOld(2, 5000)
	m.WriteNew(2, 5000)
	m.Terms(2, 3, 3)
	m.Conflict()
	if m.Total() != 5*RU || m.Quantity(2, Failure) != 1 {
		t.Errorf("%v", m.Total())
	}
	m.Reset(1, nil)
	m.Conflict()
	if m.Total() != 5*RU {
		t.Errorf("%v", m.Total())
	}
}
