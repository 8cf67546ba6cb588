package ratelimit

import (
	"testing"
	"time"
)

// TestCountCaller checks that each visited shard of a collection counts the caller of a statement, that other
// collections do not, and that counting allocates nothing.
func TestCountCaller(t *testing.T) {
	b, m, now := &Budgets{}, &Meter{}, time.Unix(1_000_000, 0)
	p := b.Collection(7)
	m.SetCollection(8)
	m.Add(3, PointRead, 1) // as a $lookup does
	m.SetCollection(7)
	m.Add(0, PointRead, 1)
	m.Add(3, PointRead, 3)
	shop, batch := &Caller{App: "shop"}, &Caller{App: "batch"}
	p.CountCaller(m, shop, now)
	p.CountCaller(m, nil, now)
	for shard, want := range map[int]float64{0: 1, 3: 3, 1: 0} {
		c := p.Callers(shard)
		if got, _ := c.Recent(now); got != want {
			t.Errorf("shard %d: %v RU, want %v", shard, got, want)
		}
	}
	if n := testing.AllocsPerRun(100, func() { p.CountCaller(m, batch, now) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
	c := p.Callers(0)
	if list := c.List(now); len(list) != 2 || list[0].App != "batch" || list[1].App != "shop" {
		t.Errorf("%+v", list)
	}
}
