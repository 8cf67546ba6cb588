package main

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"
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

// A heap that has grown under load keeps what it has got of the system until the collector
// runs again, which nobody makes it do when the load is over. So it is looked at now and
// then: when next to nothing was allocated since the last look and there is much that nothing lives in, that
// is given back. It takes some 20 ms, and work that begins again gets fresh pages.
const (
	restEvery  = 5 * time.Second
	restAllocs = 4 << 20  // allocated between two looks by a server that rests, in bytes
	restSpare  = 16 << 20 // that are worth giving back
)

// heapState is what the heap has allocated ever, and what of it is held without need.
type heapState struct{ allocated, spare uint64 }

// heapMetrics are what a heapState is made of.
var heapMetrics = [...]string{"/gc/heap/allocs:bytes", "/memory/classes/heap/objects:bytes",
	"/memory/classes/heap/free:bytes", "/gc/heap/live:bytes"}

// readHeap reads the state of the heap.
func readHeap() heapState {
	var s [len(heapMetrics)]metrics.Sample
	for i, name := range heapMetrics {
		s[i].Name = name
	}
	metrics.Read(s[:])
	held := s[1].Value.Uint64() + s[2].Value.Uint64()
	return heapState{s[0].Value.Uint64(), held - min(held, s[3].Value.Uint64())}
}

// rests reports whether a heap does nothing and has something to give back.
func (h heapState) rests(before heapState) bool {
	return h.allocated-before.allocated < restAllocs && h.spare >= restSpare
}

// easeHeap gives back what the heap does not need whenever the server rests.
func easeHeap() {
	before := readHeap()
	var look func()
	look = func() {
		now := readHeap()
		if now.rests(before) {
			debug.FreeOSMemory()
		}
		before = now
		time.AfterFunc(restEvery, look)
	}
	time.AfterFunc(restEvery, look)
}
