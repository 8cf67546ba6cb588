package command

import (
	"testing"
	"time"
)

// TestSampling checks the executions that the parameters of $queryStats select, and that the choice allocates nothing.
func TestSampling(t *testing.T) {
	var s StatsSampling
	s.init()
	now := time.Unix(100, 0)
	taken := func(n int, write bool) (count int) {
		for range n {
			if s.take(write, now) {
				count++
			}
		}
		return count
	}
	if n := testing.AllocsPerRun(1000, func() { s.take(false, now) }); n != 0 {
		t.Errorf("the choice allocates %v times", n)
	}
	if n := taken(100_000, true); n < 700 || n > 1300 {
		t.Errorf("%d of 100000 writes are selected by a share of 1 %%", n)
	}
	s.SetReads(1)
	if n := taken(50, false); n != 50 {
		t.Errorf("%d of 50 are selected by a share of 1", n)
	}
	s.SetReads(0)
	if n := taken(50, false); n != 0 {
		t.Errorf("%d of 50 are selected by a share of 0", n)
	}
	s.SetPerSecond(7)
	for second := range 2 {
		now = time.Unix(200+int64(second), 0)
		if n := taken(50, false); n != 7 {
			t.Errorf("%d of 50 are selected by a limit of 7 per second", n)
		}
	}
	s.SetPerSecond(-1)
	if n := taken(50, false); n != 50 {
		t.Errorf("%d of 50 are selected without a limit", n)
	}
}
