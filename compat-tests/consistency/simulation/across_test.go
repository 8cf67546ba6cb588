package simulation

import (
	"os"
	"runtime"
	"runtime/debug"
	"testing"
)

// TestMain lets the heap grow: a server and its clients live on little memory, and would
// spend a tenth of their time on collecting it.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	os.Exit(m.Run())
}

// across runs seeds from the first one until one fails or enough have run. enough is asked,
// and done told, in between.
//
// Three of four seeds have one core: waking others costs a third of the time, and what goroutines
// do in turns finds nearly all. The fourth has two. More is due at night: that is divided among
// processes.
func across(t *testing.T, first uint64, enough func() bool, run func(t *testing.T, seed uint64) (done func())) {
	t.Helper()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for seed := first; !t.Failed() && !enough(); seed++ {
		runtime.GOMAXPROCS(1 + int(seed%4/3))
		run(t, seed)()
	}
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
