package shards

import (
	"testing"
	"time"
)

// TestSampleBucket checks that a sampleBucket admits its rate over a long time, and at once at most two seconds of
// the rate, or one sample if that is more.
func TestSampleBucket(t *testing.T) {
	for _, test := range []struct {
		rate         float64
		burst, after int // at once; in the ten seconds that follow
	}{{50, 100, 500}, {1, 2, 10}, {0.5, 1, 5}, {0.1, 1, 1}} {
		b := &sampleBucket{}
		now := time.Unix(1000, 0)
		count := func(tries int) (n int) {
			for range tries {
				if b.take(now, test.rate) {
					n++
				}
			}
			return n
		}
		if n := count(1000); n != test.burst {
			t.Errorf("rate %v: %d at once, want %d", test.rate, n, test.burst)
		}
		n := 0
		for range 1000 {
			now = now.Add(10 * time.Millisecond)
			n += count(3)
		}
		if n < test.after-1 || n > test.after {
			t.Errorf("rate %v: %d in ten seconds, want %d", test.rate, n, test.after)
		}
		now = now.Add(-time.Hour)
		if n := count(10); n > 1 {
			t.Errorf("rate %v: %d after the clock was set back", test.rate, n)
		}
	}
}
