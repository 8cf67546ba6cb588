package driverspecs

import (
	"flag"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/cantledb/cantle/compat-tests/harness"
)

var rescore = flag.Bool("rescore", false, "write scoreboard.txt anew")

const scoreboardFile = "scoreboard.txt"

// TestDriverSpecs runs the driver's tests and compares the results with the
// scoreboard.
func TestDriverSpecs(t *testing.T) {
	if os.Getenv("CANTLE_URI") != "" {
		t.Skip("CANTLE_URI is set, and this test needs a server of its own with fail points")
	}
	board, err := readScoreboard(scoreboardFile)
	if err != nil {
		t.Fatal(err)
	}
	dir := fetch(t)
	programs := map[string]string{unified: compile(t, dir, unified), integration: compile(t, dir, integration)}
	r := &scoring{board: board, fresh: &scoreboard{rows: map[string]counts{}, known: map[string]string{}}, seen: map[string]bool{}}
	t.Run("suites", func(t *testing.T) {
		for _, s := range suites {
			t.Run(s.name, func(t *testing.T) {
				t.Parallel() // they mostly wait
				server := harness.Start(t, harness.Options{Args: []string{"--listen", "127.0.0.1:0,127.0.0.1:0", "--enable-test-commands"}})
				uri := "mongodb://" + hostOf(server.URI) + "," + hostOf(server.More[0]) + "/"
				results, err := s.run(t.Context(), dir, programs[s.pkg], uri, "")
				if err != nil {
					t.Error(err)
				}
				for name, result := range results {
					if result.outcome == "FAIL" && board.known[name] == "" {
						// Many of the driver's tests wait for at most some seconds; on a
						// machine under load one may be late for once.
						again, err := s.run(t.Context(), dir, programs[s.pkg], uri, name)
						if err == nil && again[name].outcome == "PASS" {
							t.Logf("%s failed at first and passed by itself:\n%s", name, strings.Join(result.said, "\n"))
							results[name] = again[name]
						}
					}
				}
				r.take(t, s, results)
			})
		}
	})
	if *rescore {
		if err := r.fresh.write(scoreboardFile); err != nil {
			t.Fatal(err)
		}
		return
	}
	for name := range board.known {
		if !r.seen[name] {
			t.Errorf("the scoreboard lists a test that does not exist: %s", name)
		}
	}
}

// scoring compares results with the scoreboard and notes them for a new one.
type scoring struct {
	board *scoreboard

	mu    sync.Mutex
	fresh *scoreboard
	seen  map[string]bool
}

// take makes each result of a suite a test: one that passes, one that is known
// to fail and skipped with the reason, or a failure. What the driver's runner
// skips stands in the table only.
func (r *scoring) take(t *testing.T, s suite, results map[string]result) {
	c := count(results)
	r.mu.Lock()
	r.fresh.rows[s.name] = c
	for name, x := range results {
		r.seen[name] = true
		if x.outcome == "FAIL" {
			r.fresh.known[name] = r.board.known[name]
		}
	}
	r.mu.Unlock()
	if *rescore {
		return
	}
	if want := r.board.rows[s.name]; c != want {
		t.Errorf("%s; the scoreboard says %s", c, want)
	}
	for _, name := range slices.Sorted(maps.Keys(results)) {
		x := results[name]
		reason, known := r.board.known[name]
		if x.outcome == "SKIP" {
			if known {
				t.Errorf("%s is skipped now: take it off the scoreboard", name)
			}
			continue
		}
		t.Run(strings.TrimPrefix(strings.TrimPrefix(name, s.test), "/"), func(t *testing.T) {
			switch {
			case x.outcome == "FAIL" && known && reason != "":
				t.Skip(reason)
			case x.outcome == "FAIL" && known:
				t.Errorf("%s is on the scoreboard without a reason", name)
			case x.outcome == "FAIL":
				t.Error(strings.Join(x.said, "\n"))
			case known:
				t.Errorf("%s passes: take it off the scoreboard", name)
			}
		})
	}
}

// hostOf is the host:port of a connection string.
func hostOf(uri string) string {
	return strings.TrimSuffix(strings.TrimPrefix(uri, "mongodb://"), "/")
}
