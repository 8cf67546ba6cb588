package simulation

import (
	"os"
	"runtime"
	"runtime/debug"
	"testing"
)

// TestMain makes garbage collections rarer: a server and its clients need little memory here, and would spend a
// tenth of their time on collections.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	os.Exit(m.Run())
}

// across calls run with consecutive seeds, from first on, until a test fails or enough, which is called before each
// seed, returns true. The function that run returns is called after the seed.
//
// Three of four seeds run on one core, because waking other cores costs a third of the time, and goroutines that
// take turns find nearly all bugs. The fourth runs on two. The longer runs at night are divided among processes.
func across(t *testing.T, first uint64, enough func() bool, run func(t *testing.T, seed uint64) (done func())) {
	t.Helper()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for seed := first; !t.Failed() && !enough(); seed++ {
		runtime.GOMAXPROCS(1 + int(seed%4/3))
		run(t, seed)()
	}
}

// scratch returns a folder for a server, and a function that deletes it. Each seed deletes its folder at its end,
// because there are many seeds.
func scratch(t *testing.T) (dir string, remove func()) {
	t.Helper()
	dir, err := os.MkdirTemp("", "simulation")
	if err != nil {
		t.Fatal(err)
	}
	return dir, func() { _ = os.RemoveAll(dir) }
}
