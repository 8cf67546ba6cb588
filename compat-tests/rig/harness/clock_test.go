package harness

import (
	"testing"
	"time"
)

func TestStepped(t *testing.T) {
	for _, by := range []time.Duration{0, time.Hour, -time.Hour, -1500 * time.Millisecond} {
		before := time.Now()
		got := Stepped(by)
		if off := got.Round(0).Sub(before.Round(0)); off < by || off > by+time.Minute {
			t.Errorf("%v: the wall is off by %v", by, off)
		}
		if passed := got.Sub(before); passed < -time.Second || passed > time.Minute {
			t.Errorf("%v: %v have passed", by, passed)
		}
	}
}
