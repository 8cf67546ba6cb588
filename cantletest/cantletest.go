// Package cantletest gives each test a MongoDB-compatible server of its own, inside the
// test's process: in memory, on a free port, primary of its replica set, with a clock that
// the test can stop. It starts in milliseconds and ends with the test, which may run in
// parallel with others. Package cantle's promise of compatibility applies here, too.
package cantletest

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/cantledb/cantle"
)

// Start starts a server for a test or a benchmark, and stops it at its end. flags are
// settings as in `cantle serve --help`, such as "--default-throughput=400". The log is shown
// if the test fails.
//
//	srv := cantletest.Start(t)
//	client, err := mongo.Connect(options.Client().ApplyURI(srv.URI()))
func Start(tb testing.TB, flags ...string) *cantle.Server {
	tb.Helper()
	log := &tail{}
	srv, err := cantle.Open(cantle.Options{Listen: "127.0.0.1:0", ReplicaSet: "rs0", VirtualClock: true, Log: log,
		Flags: append([]string{"--drain=2s"}, flags...)})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := srv.Close(); err != nil {
			tb.Errorf("stopping the server: %v", err)
		}
		if tb.Failed() {
			tb.Logf("the server's log:\n%s", log)
		}
	})
	return srv
}

// kept is the number of lines of the log that are kept.
const kept = 50

// tail keeps the last lines of a log; every Write is a line.
type tail struct {
	mu    sync.Mutex
	lines []string
}

// Write implements io.Writer.
func (t *tail) Write(line []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lines = append(slices.Delete(t.lines, 0, max(0, len(t.lines)-kept+1)), string(line))
	return len(line), nil
}

// String returns the kept lines.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.Join(t.lines, "")
}
