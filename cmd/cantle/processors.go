package main

import (
	"runtime"
	"sync/atomic"
	"time"
)

// spare gives Go more processors than the machine has while long work holds many of
// them. Goroutines that have just been woken then find one free, and which thread runs
// is up to the system, which prefers those that have run little. Measured with 16
// clients whose scripts and patterns never end, on two processors: another client's
// reads take 7 ms instead of 60 at the 99th percentile. It is not done all the time,
// as short commands alone then lose a tenth of their throughput: more threads than
// processors wake each other.
type spare struct {
	usual, more int
	raised      atomic.Bool
	still       func() bool
}

// spareEvery is how often it is looked whether long work still holds many.
const spareEvery = time.Second

func spareProcessors() *spare {
	usual := runtime.GOMAXPROCS(0)
	return &spare{usual: usual, more: usual + max(2, usual/2)}
}

// crowded is told that long work holds many processors.
func (s *spare) crowded(still func() bool) {
	if !s.raised.Load() && s.raised.CompareAndSwap(false, true) {
		s.still = still
		runtime.GOMAXPROCS(s.more)
		time.AfterFunc(spareEvery, s.look)
	}
}

// look ends it when the work is over.
func (s *spare) look() {
	if s.still() {
		time.AfterFunc(spareEvery, s.look)
		return
	}
	runtime.GOMAXPROCS(s.usual)
	s.raised.Store(false)
}
