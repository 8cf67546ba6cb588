package differential

import (
	"iter"
	"sync"
	"testing"
	"time"

	"github.com/cantledb/cantle/compat-tests/faults/programme"
	"github.com/cantledb/cantle/internal/testenv"
)

// fresh is where the seeds of a long run begin.
var fresh = sync.OnceValue(func() uint64 { return uint64(time.Now().Unix()) })

// first is the first seed: of an ordinary run a fixed one, so that it is the same
// everywhere.
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

// longer is how many times as long other tests than those of the fault programme run when
// not only what is due each run is.
const longer = 100

// seeds are those of a run: so many, or more where more is due; that of CANTLE_SEED alone
// where it is set.
func seeds(t *testing.T, runs int) iter.Seq[uint64] {
	t.Helper()
	if programme.Column() != programme.Run {
		runs *= longer
	}
	return counted(t, runs)
}

// due are as many seeds as one part in share of the operations that are due takes, of which
// a seed has each.
func due(t *testing.T, each, share int) iter.Seq[uint64] {
	t.Helper()
	return counted(t, (programme.Due(t, "random")/share+each-1)/each)
}

// counted are so many seeds from the first one, or the one that the environment names.
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
