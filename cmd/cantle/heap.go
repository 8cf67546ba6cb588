package main

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// The goal of Go's garbage collector. A small live heap may grow by gcPercent percent before the collector runs: at
// Go's default of 100 the collector would run all the time, because the block cache is outside of the heap. Measured:
// point reads take a tenth less CPU than at 100. Large sorts and groups hold 100 MB each: there the heap may grow to
// heapGoal bytes, and above that by half.
const (
	gcPercent    = 400
	gcPercentMin = 50
	heapGoal     = 256 << 20
)

// percentFor returns by how many percent the heap may grow before the next garbage collection, given the bytes that
// were live after the last one.
func percentFor(live uint64) int {
	if live == 0 {
		return gcPercent
	}
	return int(max(gcPercentMin, min(gcPercent, (float64(heapGoal)/float64(live)-1)*100)))
}

// tuneHeap computes the goal of Go's garbage collector anew after each of the collector's runs.
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

// A heap that has grown under load keeps its memory until the collector runs again, which without load can take two
// minutes. So returnHeap checks regularly: if almost nothing was allocated since the last check and the heap holds much
// more than was live after the last return, its garbage is collected and its free memory returned to the system. This
// takes some 20 ms, and the next work gets fresh pages. The live bytes of the collector's last run are no measure: they
// include messages of commands that ended since.
const (
	restEvery  = 5 * time.Second
	restAllocs = 4 << 20  // bytes that an idle server allocates at most between two checks
	restSpare  = 16 << 20 // bytes that are worth returning
)

// heapState holds the bytes allocated since the start of the process, and the bytes that the heap holds, free ones
// included.
type heapState struct{ allocated, held uint64 }

// heapMetrics names the runtime metrics from which a heapState is computed.
var heapMetrics = [...]string{"/gc/heap/allocs:bytes", "/memory/classes/heap/objects:bytes",
	"/memory/classes/heap/free:bytes"}

// readHeap reads the state of the heap.
func readHeap() heapState {
	var s [len(heapMetrics)]metrics.Sample
	for i, name := range heapMetrics {
		s[i].Name = name
	}
	metrics.Read(s[:])
	return heapState{s[0].Value.Uint64(), s[1].Value.Uint64() + s[2].Value.Uint64()}
}

// isIdle reports whether the process is idle (almost nothing was allocated since the state before) and its heap holds
// enough more than the kept bytes for a return to be worth its cost.
func (h heapState) isIdle(before heapState, kept uint64) bool {
	return h.allocated-before.allocated < restAllocs && h.held >= kept+restSpare
}

// freeHeap returns the heap's garbage and the contents of all pools to the operating system, and returns the state of
// the heap after that. A sync.Pool keeps its buffers, among them those of messages of many megabytes, through one
// collection, so there are two.
func freeHeap() heapState {
	runtime.GC()
	debug.FreeOSMemory()
	return readHeap()
}

// returnHeap starts a timer that returns spare memory of the heap to the operating system whenever the server is
// idle.
func returnHeap() {
	before, kept := readHeap(), uint64(0) // kept: the fewest bytes that the heap held since the last return
	var look func()
	look = func() {
		now := readHeap()
		if now.isIdle(before, kept) {
			now = freeHeap()
			kept = now.held
		}
		before, kept = now, min(kept, now.held)
		time.AfterFunc(restEvery, look)
	}
	time.AfterFunc(restEvery, look)
}
