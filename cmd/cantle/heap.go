package main

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// The collector's goal. While little lives, the heap may grow to so many percent
// above it before the collector runs: at the standard setting it would run all the
// time, as the block cache lies outside of the heap. Measured: point reads take a
// tenth less CPU than at 100. Large sorts and groups keep 100 MB each: there the
// heap may grow to heapGoal, and above that by half.
const (
	gcPercent    = 400
	gcPercentMin = 50
	heapGoal     = 256 << 20
)

// percentFor is how far the heap may grow above what lives.
func percentFor(live uint64) int {
	if live == 0 {
		return gcPercent
	}
	return int(max(gcPercentMin, min(gcPercent, (float64(heapGoal)/float64(live)-1)*100)))
}

// tuneHeap sets the collector's goal again after each of its runs.
func tuneHeap() {
	now := gcPercent
	debug.SetGCPercent(now)
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	var watch func()
	watch = func() {
		// Collected, and so finalized, in the next run.
		runtime.SetFinalizer(new([64]byte), func(*[64]byte) {
			metrics.Read(live)
			if want := percentFor(live[0].Value.Uint64()); want != now {
				now = want
				debug.SetGCPercent(now)
			}
			watch()
		})
	}
	watch()
}
