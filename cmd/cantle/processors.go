package main

import (
	"os"
	"runtime"
)

// spareProcessors gives Go more processors than the machine has, unless the
// environment says how many, and returns how many lanes there are for long work:
// what was there before. Goroutines that have just been woken then find one free
// while long work holds the others, and which thread runs is up to the system, which
// prefers those that have run little. Measured with 16 clients whose scripts and
// patterns never end, on two processors: another client's reads take 7 ms instead of
// 60 at the 99th percentile; throughput without them is the same.
func spareProcessors() (lanes int) {
	lanes = runtime.GOMAXPROCS(0)
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(lanes + max(2, lanes/2))
	}
	return lanes
}
