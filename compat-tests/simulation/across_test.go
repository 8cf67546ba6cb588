package simulation

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"sync"
	"testing"

	"github.com/cantledb/cantle/compat-tests/faults"
)

// TestMain lets the heap grow: a server and its clients live on little memory, and would
// spend a tenth of their time on collecting it.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	os.Exit(m.Run())
}

// across runs seeds from the first one until one fails or enough have run, on every core
// where more is due than in each run, in which other packages have the other cores. enough
// is asked, and done told, by one at a time.
func across(t *testing.T, first uint64, enough func() bool, run func(t *testing.T, seed uint64) (done func())) {
	t.Helper()
	workers := 1
	if faults.Column() != faults.Run {
		workers = runtime.NumCPU()
	}
	var mu sync.Mutex
	seed, failed := first, false
	t.Run("seeds", func(t *testing.T) {
		for w := range workers {
			t.Run(fmt.Sprint(w), func(t *testing.T) {
				t.Parallel()
				for {
					mu.Lock()
					if failed || enough() {
						mu.Unlock()
						return
					}
					mine := seed
					seed++
					mu.Unlock()
					done := run(t, mine)
					mu.Lock()
					done()
					failed = failed || t.Failed()
					mu.Unlock()
				}
			})
		}
	})
}

// scratch is a folder for a server, which is gone when a seed has been run: there are many.
func scratch(t *testing.T) (dir string, remove func()) {
	t.Helper()
	dir, err := os.MkdirTemp("", "simulation")
	if err != nil {
		t.Fatal(err)
	}
	return dir, func() { _ = os.RemoveAll(dir) }
}
