package metamorphic

import (
	"iter"
	"os"
	"strconv"
	"testing"
	"time"
)

// seeds are those of a run: so many fixed ones, so that an ordinary run is the same
// everywhere; with CANTLE_SOAK fresh ones for ten minutes; that of CANTLE_SEED alone
// where it is set.
func seeds(t *testing.T, runs int) iter.Seq[uint64] {
	t.Helper()
	first, end := uint64(1), time.Time{}
	if os.Getenv("CANTLE_SOAK") != "" {
		runs, end = 1<<30, time.Now().Add(10*time.Minute)
	}
	if text := os.Getenv("CANTLE_SEED"); text != "" {
		seed, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		first, runs = seed, 1
	} else if !end.IsZero() {
		first = uint64(time.Now().Unix())
	}
	return func(yield func(uint64) bool) {
		for seed := first; seed < first+uint64(runs) && (end.IsZero() || time.Now().Before(end)); seed++ {
			if !yield(seed) {
				return
			}
		}
	}
}
