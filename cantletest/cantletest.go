// Package cantletest gives each test a MongoDB-compatible server of its own, inside the test's process: in memory, on
// a free port, as the primary of its replica set, with a clock that the test can stop. The server starts in
// milliseconds and ends with the test, and tests may run in parallel. The promise of compatibility in package cantle
// applies here, too.
package cantletest

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/cantledb/cantle"
)

// Start starts a server for a test or a benchmark, and stops the server when the test ends. flags are settings of
// `cantle serve`, such as "--default-throughput=400". If the test fails, the end of the server's log is shown.
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

// kept is the number of the last lines of a server's log that are kept, to be shown if the test fails.
const kept = 50

// tail keeps the last lines of a server's log in memory; each Write is one line.
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
