package skew

import (
	"testing"

	"github.com/cantledb/cantle/ratelimit"
)

// TestStatsOfTheFirstMinute checks that a load which is younger than a minute is divided by its age, but a first second
// by ten.
func TestStatsOfTheFirstMinute(t *testing.T) {
	for _, c := range []struct {
		seconds int
		want    float64
	}{{0, 20}, {1, 120}, {10, 120}, {30, 40}, {60, 20}} {
		loads, over := Stats([]ratelimit.BucketStats{{LastMinute: 1200 * ratelimit.RU, Seconds: c.seconds}})
		if got := loads[0].RU; got != c.want || got*over != 1200 {
			t.Errorf("1200 RU in %d seconds are %v RU/s over %v s, not %v", c.seconds, got, over, c.want)
		}
	}
}
