package status

import (
	"slices"
	"sync/atomic"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
)

// latencyRanges is the number of ranges of a latencyHistogram: the first, 40 powers of two, 10 half steps.
const latencyRanges = 1 + 40 + 10

// latencyFrom are the first durations of the ranges in microseconds, in ascending order: 0, each power of two, and from 2048
// to about a second also one and a half times each power. The last range has no end.
// Manual: reference/operator/aggregation/collStats#latencystats-document.
var latencyFrom = func() (from [latencyRanges]int64) {
	n := 1
	for power := 1; power <= 40; power++ {
		from[n], n = 1<<power, n+1
		if power >= 11 && power <= 20 {
			from[n], n = 3<<(power-1), n+1
		}
	}
	return from
}()

// latencyHistogram counts commands by ranges of their duration. Safe for concurrent use.
type latencyHistogram struct {
	durations
	ranges [latencyRanges]atomic.Int64
}

// add counts a command with its duration.
func (h *latencyHistogram) add(micros int64) {
	h.durations.add(micros)
	h.ranges[latencyRange(micros)].Add(1)
}

// latencyRange returns the number of the range of a duration in microseconds, at least 0.
func latencyRange(micros int64) int {
	n, first := slices.BinarySearch(latencyFrom[:], micros)
	if !first {
		n--
	}
	return n
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
					b.Int64("micros", latencyFrom[i])
					b.Int64("count", n)
					b.End()
				}
			}
			b.End()
		}
		h.appendTo(b)
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
