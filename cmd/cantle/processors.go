package main

import (
	"runtime"
	"sync/atomic"
	"time"
)

// procsRaiser raises GOMAXPROCS above the number of processors while long work occupies many of them. Goroutines that
// have just been woken then find a free processor of Go's scheduler, and the operating system, which prefers threads
// that have run little, decides which thread runs. Measured with 16 clients whose scripts and patterns never end, on
// two processors: another client's reads have a p99 of 7 ms instead of 60. GOMAXPROCS is not raised all the time,
// because short commands alone would lose a tenth of their throughput: more threads than processors wake each other.
type procsRaiser struct {
	usual, more     int
	raised          atomic.Bool
	stillOverloaded func() bool
}

// procsCheckInterval is the interval at which a raised GOMAXPROCS is checked: whether long work still occupies many
// processors.
const procsCheckInterval = time.Second

func newProcsRaiser() *procsRaiser {
	usual := runtime.GOMAXPROCS(0)
	return &procsRaiser{usual: usual, more: usual + max(2, usual/2)}
}

// raise raises GOMAXPROCS, and starts the checks that lower it again. The processor slots call raise when long work
// occupies many processors; still reports whether that is still so.
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
