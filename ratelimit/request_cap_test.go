package ratelimit

import "testing"

// TestCapWhileProbing checks that work which a batch pays for in another way does not reach a cap in advance.
func TestCapWhileProbing(t *testing.T) {
	c := NewRequestCap(nil)
	c.Fix(RU / 2)
	m := Meter{}
	m.SetCap(c)
	if m.CheckCapFor(ExtraSeek, 100) == nil || m.CheckCapFor(ByteReturned, 1<<20) == nil || m.CheckCapForSized(PointRead, 1) == nil {
		t.Fatal("work beyond the cap is not refused")
	}
	for probing, free := range map[Probing][]Item{ProbeQueries: {ExtraSeek, ResultSet}, ProbePoints: {ExtraSeek, ResultSet, ByteReturned, CountEntry}} {
		before := m.Probe(probing)
		for _, i := range free {
			if err := m.CheckCapFor(i, 1<<20); err != nil {
				t.Errorf("probing %d, item %s: %v", probing, i, err)
			}
			if m.Add(0, i, 1<<20); !m.Empty() {
				t.Errorf("probing %d counts item %s", probing, i)
			}
		}
		if err := m.CheckCapForSized(PointRead, 1<<20); err != nil {
			t.Errorf("probing %d, a point read: %v", probing, err)
		}
		if m.CheckCapForSized(WriteNew, 1) == nil {
			t.Errorf("probing %d: a write beyond the cap is not refused", probing)
		}
		m.Probe(before)
	}
}

// TestExactAmounts checks that an amount is the same after it was stored.
func TestExactAmounts(t *testing.T) {
	for _, m := range []MicroRU{0, 1, 9, 4999, 5_000_001, 123_456_789, 1e15, 1e15 - 1} {
		if got := AmountOf(m.Exact()); got != m {
			t.Errorf("%d is stored as %v and read as %d", int64(m), m.Exact(), int64(got))
		}
	}
	if AmountOf(-1) != 0 || AmountOf(1e-9) != 1 {
		t.Error("a negative amount, or one below a millionth of a request unit")
	}
}
