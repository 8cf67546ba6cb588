package main

import (
	"runtime"
	"sync/atomic"
	"time"
)

// procsRaiser raises GOMAXPROCS above the number of processors while long work holds many of them. Goroutines that have
// just been woken then find a free processor of Go, and the operating system decides which thread runs; it
// prefers threads that have run little. Measured with 16 clients whose scripts and patterns never end, on two
// processors: another client's reads have a p99 of 7 ms instead of 60. It is not done all the time, because short
// commands alone would lose a tenth of their throughput: more threads than processors wake each other.
type procsRaiser struct {
	usual, more     int
	raised          atomic.Bool
	stillOverloaded func() bool
}

// procsCheckInterval is the interval of the checks whether long work still holds many processors.
const procsCheckInterval = time.Second

func newProcsRaiser() *procsRaiser {
	usual := runtime.GOMAXPROCS(0)
	return &procsRaiser{usual: usual, more: usual + max(2, usual/2)}
}

// raise raises GOMAXPROCS. It is called when long work holds many processors; still reports whether it does.
func (s *procsRaiser) raise(still func() bool) {
	if !s.raised.Load() && s.raised.CompareAndSwap(false, true) {
		s.stillOverloaded = still
		runtime.GOMAXPROCS(s.more)
		time.AfterFunc(procsCheckInterval, s.lower)
	}
}

// lower lowers GOMAXPROCS when the long work is over.
func (s *procsRaiser) lower() {
	if s.stillOverloaded() {
		time.AfterFunc(procsCheckInterval, s.lower)
		return
	}
	runtime.GOMAXPROCS(s.usual)
	s.raised.Store(false)
}
