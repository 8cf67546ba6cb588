package main

import (
	"runtime"
	"runtime/debug"
	"sync"
	"testing"
)

// A small heap may grow to five times its live bytes, a larger one to heapGoal, and above that by half.
func TestPercentFor(t *testing.T) {
	for _, c := range []struct {
		live uint64
		want int
	}{{0, 400}, {10 << 20, 400}, {51 << 20, 400}, {64 << 20, 300}, {128 << 20, 100}, {200 << 20, 50}, {1 << 30, 50}} {
		if got := percentFor(c.live); got != c.want {
			t.Errorf("%d MB live: %d %%, want %d %%", c.live>>20, got, c.want)
		}
	}
}

// isIdle is true for a heap with 64 MB of garbage when nothing is allocated any more, also if a collection ran while
// these bytes were live; it is false while much is allocated, if there is little to return, and after the memory has
// been returned.
func TestIdleHeapIsReleased(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	debug.FreeOSMemory()
	small := readHeap()
	if small.isIdle(small, small.held) {
		t.Errorf("%d bytes are worth returning", small.held)
	}
	blocks := make([][]byte, 64)
	for i := range blocks {
		blocks[i] = make([]byte, 1<<20)
	}
	runtime.GC()
	runtime.KeepAlive(blocks)
	large := readHeap()
	if large.isIdle(small, small.held) {
		t.Errorf("a process is idle that allocated %d bytes", large.allocated-small.allocated)
	}
	if !large.isIdle(large, small.held) {
		t.Fatalf("64 MB of garbage in a heap of %d bytes are not worth returning", large.held)
	}
	debug.FreeOSMemory()
	if after := readHeap(); after.isIdle(after, small.held) {
		t.Errorf("the heap holds %d bytes, and held %d before", after.held, small.held)
	}
}

// freeHeap empties pools: their contents count as used memory in the collection that follows their last use. It is tried
// three times: on a busy machine, a collection that runs already when the pool is filled keeps the buffer in one of 300.
func TestPoolsAreReleased(t *testing.T) {
	for range 3 {
		small := freeHeap()
		var pool sync.Pool
		pool.Put(new([64 << 20]byte))
		if now := readHeap(); now.held < small.held+60<<20 { // other memory is freed meanwhile
			t.Fatalf("the heap holds %d bytes, %d before", now.held, small.held)
		}
		now := freeHeap()
		if now.held <= small.held+restSpare {
			return
		}
		t.Logf("the heap holds %d bytes, %d before", now.held, small.held)
	}
	t.Error("the buffer of the pool was kept each time")
}
