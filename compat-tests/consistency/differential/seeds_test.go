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

// first returns the first seed. An ordinary run has a fixed one, so that it is the same everywhere.
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

// longer is the factor by which tests outside of the fault programme run longer if more is due than in each
// run.
const longer = 100

// seeds returns the seeds of a run: runs of them, or more where more is due; only CANTLE_SEED if it is set.
func seeds(t *testing.T, runs int) iter.Seq[uint64] {
	t.Helper()
	if programme.Column() != programme.Run {
		runs *= longer
	}
	return counted(t, runs)
}

// dueSeeds returns the seeds for one part in share of the operations that are due, with each operations per seed.
func dueSeeds(t *testing.T, each, share int) iter.Seq[uint64] {
	t.Helper()
	return counted(t, (programme.Amount(t, "random")/share+each-1)/each)
}

// counted returns runs seeds from the first one, or only the one of the environment.
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
