package scoreboard

import (
	"flag"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
)

var (
	rescore = flag.Bool("rescore", false, "write scoreboard.txt anew")
	compat  = flag.String("compat", "", "the release of MongoDB as which the servers answer; other tests may then be skipped, and only unexpected failures fail")
)

// ServerArgs returns the flags with which a suite starts its servers.
func ServerArgs(args ...string) []string {
	if *compat != "" {
		args = append(args, "--compat", *compat)
	}
	return args
}

// The outcomes of a test.
const (
	Passed  = "PASS"
	Failed  = "FAIL"
	Skipped = "SKIP"
)

// Result is the outcome of one test.
type Result struct {
	Outcome string // Passed, Failed or Skipped
	Said    []string
}

// Scoring compares the results of a driver's tests with a scoreboard, and collects them for a new one. Safe for
// concurrent use.
type Scoring struct {
	// Floor means that the numbers depend on the machine: a row of the scoreboard has the least number of tests that
	// must pass.
	Floor bool

	path  string
	board *Board

	mu    sync.Mutex
	fresh *Board
	seen  map[string]bool
}

// Begin reads the scoreboard at path, and returns a Scoring for it. If the scoreboard cannot be read, it fails the
// test.
func Begin(t *testing.T, path string) *Scoring {
	t.Helper()
	board, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	return &Scoring{path: path, board: board, fresh: New(), seen: map[string]bool{}}
}

// RetryFailures repeats each test that failed unexpectedly, alone: many of a driver's tests have timeouts of a few
// seconds, which can expire on a busy machine. If the repetition passes, the test counts as passed.
func (r *Scoring) RetryFailures(t *testing.T, results map[string]Result, ask RunTests) {
	for name, result := range results {
		if _, known := r.board.Known[name]; result.Outcome != Failed || known {
			continue
		}
		again, err := ask(t.Context(), name)
		if err == nil && again[name].Outcome == Passed {
			t.Logf("%s failed at first and passed by itself:\n%s", name, strings.Join(result.Said, "\n"))
			results[name] = again[name]
		}
	}
}

// Take makes each result of a suite a subtest: one that passes, one that is skipped as a known failure with its
// reason, or one that fails. Tests that the driver's runner skipped are only counted in the table. prefix is removed
// from the names of the tests.
func (r *Scoring) Take(t *testing.T, suite, prefix string, results map[string]Result) {
	c := Count(results)
	r.mu.Lock()
	r.fresh.Rows[suite] = c
	for name, x := range results {
		r.seen[name] = true
		if x.Outcome == Failed {
			r.fresh.Known[name] = r.board.Known[name]
		}
	}
	r.mu.Unlock()
	if *rescore {
		return
	}
	want, ok := r.board.Rows[suite]
	if *compat == "" && c != want && !(ok && r.Floor && c.Passed >= want.Passed) {
		t.Errorf("%s; the scoreboard says %s", c, want)
	}
	for _, name := range slices.Sorted(maps.Keys(results)) {
		x := results[name]
		reason, known := r.board.Known[name]
		if x.Outcome == Skipped {
			if known && *compat == "" {
				t.Errorf("%s is skipped now: take it off the scoreboard", name)
			}
			continue
		}
		t.Run(strings.TrimPrefix(strings.TrimPrefix(name, prefix), "/"), func(t *testing.T) {
			switch {
			case x.Outcome == Failed && known && reason != "":
				t.Skip(reason)
			case x.Outcome == Failed && known:
				t.Errorf("%s is on the scoreboard without a reason", name)
			case x.Outcome == Failed:
				t.Error(strings.Join(x.Said, "\n"))
			case known && *compat == "":
				t.Errorf("%s passes: take it off the scoreboard", name)
			}
		})
	}
}

// End ends the comparison: it fails the test for each known failure of a suite that ran, if the suite has no such
// test. Under -rescore it writes the new scoreboard instead, as Board.Write does, with the old rows and known
// failures of suites that did not run. Only results of the default release make a scoreboard. suiteOf returns the suite to which a test belongs.
func (r *Scoring) End(t *testing.T, head string, suites []string, suiteOf func(test string) string) {
	if !*rescore || *compat != "" {
		for name := range r.board.Known {
			if *compat == "" && r.ran(suiteOf(name)) && !r.seen[name] {
				t.Errorf("the scoreboard lists a test that does not exist: %s", name)
			}
		}
		return
	}
	for name, reason := range r.board.Known {
		if suite := suiteOf(name); !r.ran(suite) && slices.Contains(suites, suite) {
			r.fresh.Known[name] = reason
		}
	}
	for suite, c := range r.board.Rows {
		if !r.ran(suite) {
			r.fresh.Rows[suite] = c
		}
	}
	if err := r.fresh.Write(r.path, head, suites); err != nil {
		t.Fatal(err)
	}
}

// ran reports whether the results of a suite were taken.
func (r *Scoring) ran(suite string) bool {
	_, ok := r.fresh.Rows[suite]
	return ok
}
