package simulation

import (
	"os"
	"runtime"
	"runtime/debug"
	"testing"
)

// TestMain makes garbage collection rarer: a server and its clients need little memory, and would spend a
// tenth of their time on collecting it.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	os.Exit(m.Run())
}

// across runs seeds from the first one until one fails or enough returns true, which is called before each
// seed. The function that run returns is called after it.
//
// Three of four seeds run on one core: waking other cores costs a third of the time, and taking turns finds
// nearly all bugs. The fourth has two. More is due at night: that is divided among processes.
func across(t *testing.T, first uint64, enough func() bool, run func(t *testing.T, seed uint64) (done func())) {
	t.Helper()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for seed := first; !t.Failed() && !enough(); seed++ {
		runtime.GOMAXPROCS(1 + int(seed%4/3))
		run(t, seed)()
	}
}

// scratch returns a folder for a server. remove deletes it after the seed has been run: there are many.
func scratch(t *testing.T) (dir string, remove func()) {
	t.Helper()
	dir, err := os.MkdirTemp("", "simulation")
	if err != nil {
		t.Fatal(err)
	}
	return dir, func() { _ = os.RemoveAll(dir) }
}
