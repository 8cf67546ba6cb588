package bench

import (
	"math/bits"
	"time"
)

// latencies is a histogram of durations in microseconds, with buckets as high dynamic range histograms have them: exact
// below 128 µs, and 64 buckets for each further power of two, so that a quantile is wrong by at most 1.6 %. It has 8 KB.
// The maximum is exact.
type latencies struct {
	buckets [latencyBuckets]uint32
	n       int64
	max     time.Duration
}

const (
	subBits        = 6                                      // of the buckets of a power of two
	latencyBits    = 36                                     // longer than 2^36 µs, 19 hours, is the last bucket
	latencyBuckets = (latencyBits - subBits + 1) << subBits // 1984
)

// bucketOf returns the bucket of a number of microseconds.
func bucketOf(us uint64) int {
	shift := max(0, bits.Len64(us)-subBits-1)
	return min(shift<<subBits+int(us>>shift), latencyBuckets-1)
}

// longest returns the largest number of microseconds of a bucket.
func longest(bucket int) uint64 {
	shift := max(0, bucket>>subBits-1)
	return (uint64(bucket-shift<<subBits)+1)<<shift - 1
}

// add counts a duration.
func (l *latencies) add(d time.Duration) {
	l.buckets[bucketOf(uint64(max(0, d.Microseconds())))]++
	l.n++
	l.max = max(l.max, d)
}

// merge adds the counts of m.
func (l *latencies) merge(m *latencies) {
	for i, n := range m.buckets {
		l.buckets[i] += n
	}
	l.n += m.n
	l.max = max(l.max, m.max)
}

// quantile returns the duration that a part q of all does not exceed, 0 without any.
func (l *latencies) quantile(q float64) time.Duration {
	rank := int64(q*float64(l.n)) + 1
	for i, n := range l.buckets {
		if rank -= int64(n); rank <= 0 && i < latencyBuckets-1 {
			return min(time.Duration(longest(i))*time.Microsecond, l.max)
		}
	}
	return l.max
}
