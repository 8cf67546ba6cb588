package scoreboard

import (
	"context"
	"strings"
	"testing"

	"github.com/cantledb/cantle/internal/testenv"
)

// Setting is a way to run the server.
type Setting string

// Settings of the tests of every driver.
const (
	Mongos     Setting = "mongos" // two of them
	ReplicaSet Setting = "replicaset"
)

// Run is a part of a driver's tests that runs against one server: some files or folders of tests, each with a row in
// the scoreboard.
type Run struct {
	Name  string
	On    Setting
	Parts string // files or folders of tests, with blanks between them
	Short bool   // part of every run, not only of long ones
}

// Row returns the name of a part's row in the table.
func (r Run) Row(part string) string {
	if r.On == Mongos {
		return part
	}
	return part + "@" + string(r.On)
}

// rows returns the names of all rows of the run.
func (r Run) rows() (out []string) {
	for part := range strings.FieldsSeq(r.Parts) {
		out = append(out, r.Row(part))
	}
	return out
}

// RunTests runs a driver's tests against a server and returns their results by name: all tests or, if only is not "",
// the one with that name.
type RunTests func(ctx context.Context, only string) (map[string]Result, error)

// Results runs all tests of a driver and returns the results. It repeats unexpected failures up to tries times: see
// RetryFailures.
func (r *Scoring) Results(t *testing.T, ask RunTests, tries int) map[string]Result {
	t.Helper()
	results, err := ask(t.Context(), "")
	if err != nil {
		t.Error(err)
	}
	for range tries {
		r.RetryFailures(t, results, ask)
	}
	return results
}

// Suite describes a driver's own tests for servers, and the runs into which they are divided. The name of each result
// begins with its row in the scoreboard and "::".
type Suite struct {
	Head   string // of scoreboard.txt
	Runs   []Run
	Source Source
	// Start starts a server for a run, and returns the runner of the tests in the folder dir against that server.
	Start func(t *testing.T, r Run, dir string) Runner
}

// Judge runs a driver's tests, each run against a server of its own and in parallel with the others, and compares the
// results with scoreboard.txt. It skips the test if a prerequisite is missing, the download fails or CANTLE_URI is
// set, and runs that are not Short unless CANTLE_LONG is set.
func (s Suite) Judge(t *testing.T) {
	testenv.SkipWithURI(t)
	dir := s.Source.Ready(t)
	score := Begin(t, "scoreboard.txt")
	score.Floor = true
	var rows []string
	t.Run("runs", func(t *testing.T) {
		for _, r := range s.Runs {
			rows = append(rows, r.rows()...)
			t.Run(r.Name, func(t *testing.T) {
				if !r.Short && !testenv.IsLong() {
					t.Skip("it takes minutes: ./scripts/test --long or CANTLE_LONG=1 runs it")
				}
				t.Parallel() // most of their time they wait
				score.takeRun(t, r, score.Results(t, s.Start(t, r, dir).Run, 1))
			})
		}
	})
	score.End(t, s.Head, rows, RowOf)
}

// RowOf returns the row of the scoreboard with which the name of a test begins.
func RowOf(test string) string {
	row, _, _ := strings.Cut(test, "::")
	return row
}

// takeRun takes the results of a run, part by part.
func (r *Scoring) takeRun(t *testing.T, run Run, results map[string]Result) {
	for part := range strings.FieldsSeq(run.Parts) {
		row, its := run.Row(part), map[string]Result{}
		for name, result := range results {
			if strings.HasPrefix(name, row+"::") {
				its[name] = result
			}
		}
		t.Run(part, func(t *testing.T) { r.Take(t, row, row+"::", its) })
	}
}
