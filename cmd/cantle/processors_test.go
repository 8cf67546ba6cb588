package main

import (
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestSpareProcessors checks that raise raises GOMAXPROCS, that GOMAXPROCS stays raised while the function passed to
// raise returns true, and that it is lowered afterwards.
func TestSpareProcessors(t *testing.T) {
	usual := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(usual)
	s := newProcsRaiser()
	look := func(want int, when string) {
		t.Helper()
		if got := runtime.GOMAXPROCS(0); got != want {
			t.Errorf("%s: %d processors, want %d", when, got, want)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		var crowd atomic.Bool
		pass := func() {
			time.Sleep(procsCheckInterval + procsCheckInterval/2)
			synctest.Wait()
		}
		look(usual, "before")
		for range 2 {
			crowd.Store(true)
			s.raise(crowd.Load)
			s.raise(crowd.Load)
			look(usual+max(2, usual/2), "in a crowd")
			pass()
			look(usual+max(2, usual/2), "in a crowd that stays")
			crowd.Store(false)
			pass()
			look(usual, "after it")
		}
	})
}
