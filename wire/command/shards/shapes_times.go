package shards

import (
	"math/bits"
	"time"
)

// shapeTimes is a histogram of the durations of a shape's runs. Each power of two of microseconds has two buckets, so
// a duration read from the histogram is exact to half a power of two. Those above half an hour share the last bucket.
type shapeTimes [64]uint32

// add counts one run.
func (t *shapeTimes) add(took time.Duration) {
	us := uint64(max(0, took.Microseconds()))
	at := 2 * bits.Len64(us)
	if l := bits.Len64(us); l > 1 && us>>(l-2)&1 == 1 {
		at++
	}
	t[min(at, len(t)-1)]++
}

// quantile returns the duration within which a fraction of the runs ended. part is the fraction, from 0 to 1.
func (t *shapeTimes) quantile(part float64) time.Duration {
	all := uint64(0)
	for _, n := range t {
		all += uint64(n)
	}
	if all == 0 {
		return 0
	}
	wanted, seen := uint64(part*float64(all-1))+1, uint64(0)
	for at, n := range t {
		if seen += uint64(n); seen < wanted {
			continue
		}
		if at < 2 {
			return 0
		}
		low := uint64(1) << (at/2 - 1)
		return time.Duration(low+low/2*uint64(at%2+1)) * time.Microsecond
	}
	return 0
}
