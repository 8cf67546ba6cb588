package ratelimit

import (
	"sync"
	"testing"
)

// A Part is bounded by its own limit and by that of the Memory to which it belongs. A refused Take does not change
// the used bytes of either.
func TestMemoryParts(t *testing.T) {
	all := NewMemory(100)
	a, b := all.Part(80), all.Part(80)
	if !a.Take(70) || a.Take(20) {
		t.Fatal("a part of 80 takes 70, and not 20 more")
	}
	if b.Take(40) || !b.Take(30) {
		t.Fatal("of 100 of which 70 are taken, 40 are not to be had and 30 are")
	}
	if got := all.Free(); got != 0 {
		t.Errorf("%d bytes are free", got)
	}
	b.Force(10) // already held
	if got, want := all.Stats(), (MemoryStats{Max: 100, Used: 110, Peak: 110, Refused: 1}); got != want {
		t.Errorf("all: %+v, want %+v", got, want)
	}
	a.Give(70)
	if got, want := b.Stats(), (MemoryStats{Max: 80, Used: 40, Peak: 40, Refused: 1}); got != want {
		t.Errorf("part: %+v, want %+v", got, want)
	}
	if got := b.Free(); got != 40 {
		t.Errorf("the part has %d bytes free, want 40", got)
	}
}

// Concurrent takers never exceed the limit.
func TestMemoryIsNeverExceeded(t *testing.T) {
	m := NewMemory(1000)
	part := m.Part(900)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for i := range 2000 {
				n := int64(i%300 + 1)
				if part.Take(n) {
					part.Give(n)
				}
			}
		})
	}
	wg.Wait()
	if s := m.Stats(); s.Used != 0 || part.Stats().Used != 0 {
		t.Errorf("used at the end: %+v", s)
	}
}

// Without a limit every Take succeeds.
func TestMemoryWithoutEnd(t *testing.T) {
	var m *Memory
	if !m.Take(1<<50) || m.Free() < 1<<60 {
		t.Error("a nil memory refuses")
	}
	m.Force(1)
	m.Give(1)
}
