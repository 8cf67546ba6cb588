package history

import (
	"math/bits"
	"sync/atomic"
	"time"

	"github.com/cantledb/cantle/ratelimit"
)

// Total holds the load of the whole server in one column: RU, requests and KiB are averages per second, the others
// the highest values seen or quantiles.
type Total struct {
	RU          float32 // used
	Provisioned float32 // RU/s of all partitions that have a limit
	Busiest     float32 // RU/s of the busiest partition in percent of its share
	Reads       float32 // requests that read, and succeeded
	Writes      float32 // requests that wrote, and succeeded
	Refused     float32 // requests refused for lack of request units
	Failed      float32 // requests that failed otherwise
	KiB         float32 // kibibytes of documents read, returned or stored
	P50, P99    float32 // median and 99th percentile of the duration of requests, in milliseconds
	Connections float32
	// RefusedBy is Refused by limit, in the order of ratelimit.Limits.
	RefusedBy [len(ratelimit.Limits)]float32 `json:",omitzero"`
}

// sums collects the work of the whole server until the column is full, and then makes a Total.
type sums struct {
	work
	provisioned, connections, busiest float64 // highest seen
	durations                         histogram
	refusedBy                         ratelimit.LimitCounts // adds up to refused
}

func (s *sums) add(o *sums) {
	s.work.add(&o.work)
	s.provisioned, s.connections, s.busiest = max(s.provisioned, o.provisioned), max(s.connections, o.connections), max(s.busiest, o.busiest)
	for i, n := range o.durations {
		s.durations[i] += n
	}
	s.refusedBy.Add(&o.refusedBy)
}

func (s *sums) total(seconds int64) Total {
	v := func(m Metric) float32 { return float32(s.value(m, seconds)) }
	t := Total{RU: v(RU), Provisioned: float32(s.provisioned), Busiest: float32(s.busiest), Reads: v(Reads), Writes: v(Writes), Refused: v(Refused),
		Failed: v(Failed), KiB: v(KiB), P50: s.durations.quantile(0.5), P99: s.durations.quantile(0.99), Connections: float32(s.connections)}
	for i, n := range s.refusedBy {
		t.RefusedBy[i] = float32(n) / float32(seconds)
	}
	return t
}

// Latencies are counted by powers of two of microseconds, each divided in four parts: a quantile is
// off by at most an eighth.
const (
	durationParts   = 4
	durationBuckets = 31 * durationParts
)

// millis converts milliseconds to a duration.
func millis(v float32) time.Duration { return time.Duration(float64(v) * float64(time.Millisecond)) }

// histogram counts requests by duration.
type histogram [durationBuckets]int64

// durationBucket returns the bucket of a duration.
func durationBucket(d time.Duration) int {
	us := uint64(max(durationParts, d.Microseconds()))
	power := bits.Len64(us) - 1
	part := int(us>>(power-2)) & (durationParts - 1)
	return min(durationBuckets-1, (power-2)*durationParts+part)
}

// bucketMillis returns the middle of a bucket, in milliseconds.
func bucketMillis(i int) float32 {
	low := float32(uint64(durationParts+i%durationParts) << (i / durationParts))
	return (low + float32(uint64(1)<<(i/durationParts))/2) / 1000
}

// quantile returns the duration that the given fraction of the requests did not exceed, 0 without
// requests.
func (h *histogram) quantile(part float64) float32 {
	var all int64
	for _, n := range h {
		all += n
	}
	if all == 0 {
		return 0
	}
	rest := int64(float64(all)*part + 0.999999)
	for i, n := range h {
		if rest -= n; rest <= 0 {
			return bucketMillis(i)
		}
	}
	return bucketMillis(durationBuckets - 1)
}

// counters are incremented by requests as they end.
type counters struct {
	reads, writes, failed atomic.Int64
	refused               ratelimit.LimitCounters
	durations             [durationBuckets]atomic.Int64
}

// take moves the counts into s, and resets them to 0.
func (c *counters) take(s *sums) {
	s.reads += c.reads.Swap(0)
	s.writes += c.writes.Swap(0)
	for i := range c.refused {
		n := c.refused[i].Swap(0)
		s.refused += n
		s.refusedBy[i] += n
	}
	s.fails += c.failed.Swap(0)
	for i := range c.durations {
		if c.durations[i].Load() != 0 {
			s.durations[i] += c.durations[i].Swap(0)
		}
	}
}

// Outcome is the result of a request that was not refused for lack of request units.
type Outcome uint8

// The outcomes.
const (
	DidRead Outcome = iota
	DidWrite
	DidFail
)

// CountRefused counts statements, documents of an insert, that were refused for lack of request units.
func (r *Recorder) CountRefused(by *ratelimit.LimitCounts) { r.ended.refused.Add(by) }

// Ended counts a request that has ended, of any collection. It costs a few atomic adds.
func (r *Recorder) Ended(o Outcome, took time.Duration) {
	c := &r.ended
	switch o {
	case DidRead:
		c.reads.Add(1)
	case DidWrite:
		c.writes.Add(1)
	case DidFail:
		c.failed.Add(1)
	}
	c.durations[durationBucket(took)].Add(1)
}
