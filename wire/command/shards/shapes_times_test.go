package shards

import (
	"testing"
	"time"
)

func TestShapeTimes(t *testing.T) {
	var x shapeTimes
	if x.quantile(0.99) != 0 {
		t.Error("of nothing")
	}
	for i := range 1000 {
		x.add(time.Duration(i) * time.Millisecond)
	}
	x.add(time.Hour * 24 * 365)
	x.add(-time.Second)
	for _, c := range []struct {
		part        float64
		least, most time.Duration
	}{{0, 0, 0}, {0.5, 500 * time.Millisecond, 750 * time.Millisecond}, {0.99, 990 * time.Millisecond, 1500 * time.Millisecond}} {
		if got := x.quantile(c.part); got < c.least || got > c.most {
			t.Errorf("%v within %s, want %s to %s", c.part, got, c.least, c.most)
		}
	}
}
