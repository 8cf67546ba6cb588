package status

import (
	"math/bits"
	"sync/atomic"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
)

// The ranges of a latencyHistogram: each power of two begins one, from halfStepsFromBits to halfStepsToBits bits also
// one and a half times each power. The first range begins at 0, the last at latencyTopBits bits and has no end.
// Manual: reference/operator/aggregation/collStats#latencystats-document.
const (
	halfStepsFromBits = 11 // 2048 µs
	halfStepsToBits   = 20 // about a second
	latencyTopBits    = 40
	latencyRanges     = latencyTopBits + 1 + halfStepsToBits + 1 - halfStepsFromBits
)

// latencyHistogram counts commands by ranges of their duration. Safe for concurrent use.
type latencyHistogram struct {
	micros, count atomic.Int64
	ranges        [latencyRanges]atomic.Int64
}

// add counts a command with its duration.
func (h *latencyHistogram) add(micros int64) {
	h.count.Add(1)
	h.micros.Add(micros)
	h.ranges[latencyRange(micros)].Add(1)
}

// latencyRange returns the number of the range of a duration in microseconds.
func latencyRange(micros int64) int {
	if micros < 2 {
		return 0
	}
	power := min(bits.Len64(uint64(micros))-1, latencyTopBits)
	steps := min(max(power-halfStepsFromBits, 0), halfStepsToBits+1-halfStepsFromBits) // ranges of half steps below
	if power >= halfStepsFromBits && power <= halfStepsToBits && micros >= 3<<(power-1) {
		steps++
	}
	return power + steps
}

// latencyFrom returns the first duration of a range: the inverse of latencyRange.
func latencyFrom(n int) int64 {
	if n == 0 {
		return 0
	}
	over := n - halfStepsFromBits
	const both = 2 * (halfStepsToBits + 1 - halfStepsFromBits)
	switch {
	case over < 0:
		return 1 << n
	case over >= both:
		return 1 << (n - both/2)
	case over%2 == 1:
		return 3 << (halfStepsFromBits + over/2 - 1)
	}
	return 1 << (halfStepsFromBits + over/2)
}

// AppendLatencies implements command.Usage. Ranges without commands are left out.
func (s *State) AppendLatencies(b *bson.Builder, ns collection.Namespace, histograms bool) {
	x := s.usage.lookup(ns)
	for _, l := range latencyNames {
		var h *latencyHistogram
		if x != nil {
			h = x.latencies[l.of].Load()
		}
		if h == nil {
			h = &latencyHistogram{}
		}
		b.BeginDoc(l.name)
		if histograms {
			b.BeginArray("histogram")
			for i := range h.ranges {
				if n := h.ranges[i].Load(); n > 0 {
					b.BeginDoc("")
					b.Int64("micros", latencyFrom(i))
					b.Int64("count", n)
					b.End()
				}
			}
			b.End()
		}
		b.Int64("latency", h.micros.Load())
		b.Int64("ops", h.count.Load())
		b.End()
	}
}

// CollectionScans implements command.Usage.
func (s *State) CollectionScans(ns collection.Namespace) (total, nonTailable int64) {
	if x := s.usage.lookup(ns); x != nil {
		return x.scans.Load(), x.nonTailable.Load()
	}
	return 0, 0
}
