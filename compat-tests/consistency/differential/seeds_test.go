package differential

import (
	"iter"
	"sync"
	"testing"
	"time"

	"github.com/cantledb/cantle/compat-tests/faults/programme"
	"github.com/cantledb/cantle/internal/testenv"
)

// fresh returns the first seed of a long run.
var fresh = sync.OnceValue(func() uint64 { return uint64(time.Now().Unix()) })

// first returns the first seed of a test. In an ordinary run it is fixed, so that the run is the same everywhere.
func first(t *testing.T) uint64 {
	t.Helper()
	if seed, ok := testenv.Seed(t); ok {
		return seed
	}
	if programme.Column() == programme.Run {
		return 1
	}
	return fresh()
}

// longer is the factor by which tests outside of the fault programme have more seeds in a long run than in each run.
const longer = 100

// seeds returns the seeds of a test: runs of them, longer times as many in a long run, and only CANTLE_SEED if it is
// set.
func seeds(t *testing.T, runs int) iter.Seq[uint64] {
	t.Helper()
	if programme.Column() != programme.Run {
		runs *= longer
	}
	return counted(t, runs)
}

// dueSeeds returns the seeds for one of share equal parts of the random operations that the fault programme
// requires; a seed has each operations.
func dueSeeds(t *testing.T, each, share int) iter.Seq[uint64] {
	t.Helper()
	return counted(t, (programme.Amount(t, "random")/share+each-1)/each)
}

// counted returns as many consecutive seeds as runs, from the first one on, or only CANTLE_SEED if it is set.
func counted(t *testing.T, runs int) iter.Seq[uint64] {
	t.Helper()
	if _, ok := testenv.Seed(t); ok {
		runs = 1
	}
	begin := first(t)
	return func(yield func(uint64) bool) {
		for seed := begin; seed < begin+uint64(runs); seed++ {
			if !yield(seed) {
				return
			}
		}
	}
}
