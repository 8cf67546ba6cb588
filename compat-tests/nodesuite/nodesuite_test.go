package nodesuite

import (
	"errors"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/cantledb/cantle/compat-tests/harness"
	"github.com/cantledb/cantle/compat-tests/scoreboard"
)

// scoreboardHead begins scoreboard.txt.
const scoreboardHead = `# The Node driver's tests for servers: what passed, what failed, and what they skipped (other
# topologies and versions). row@setting where the server was no mongos. See doc.go.
`

// TestNodeSuite runs the driver's tests and compares the results with the scoreboard.
func TestNodeSuite(t *testing.T) {
	if os.Getenv("CANTLE_LONG") == "" {
		t.Skip("it takes minutes: ./scripts/test --long or CANTLE_LONG=1 runs it")
	}
	if os.Getenv("CANTLE_URI") != "" {
		t.Skip("CANTLE_URI is set, and this test needs servers of its own")
	}
	if what := missing(); what != "" {
		t.Skip(what)
	}
	dir, err := install(t.Context())
	if errors.Is(err, harness.ErrFetch) {
		t.Skip(err)
	} else if err != nil {
		t.Fatal(err)
	}
	score := scoreboard.Begin(t, "scoreboard.txt")
	score.Floor = true
	var rows []string
	t.Run("runs", func(t *testing.T) {
		for _, r := range runs {
			for folder := range strings.FieldsSeq(r.folders) {
				rows = append(rows, r.row(folder))
			}
			t.Run(r.name, func(t *testing.T) {
				t.Parallel() // they mostly wait
				r.test(t, dir, score)
			})
		}
	})
	score.End(t, scoreboardHead, rows, func(test string) string {
		row, _, _ := strings.Cut(test, "::")
		return row
	})
}

// test runs r against a server of its own.
func (r run) test(t *testing.T, dir string, score *scoreboard.Scoring) {
	a := &asker{run: r, dir: dir, uri: r.start(t), titles: map[string]string{}}
	results, err := a.ask(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	score.Again(t, results, func(name string) (map[string]scoreboard.Result, error) { return a.ask(t.Context(), name) })
	for folder := range strings.FieldsSeq(r.folders) {
		row, its := r.row(folder), map[string]scoreboard.Result{}
		for name, result := range results {
			if strings.HasPrefix(name, row+"::") {
				its[name] = result
			}
		}
		t.Run(folder, func(t *testing.T) { score.Take(t, row, row+"::", its) })
	}
}

// start starts a server and returns its connection string.
func (r run) start(t *testing.T) string {
	args := []string{"--enable-test-commands", "--listen", "127.0.0.1:0,127.0.0.1:0"}
	if r.on == replicaSet {
		args = []string{"--enable-test-commands", "--replica-set", "rs0"}
	}
	server := harness.Start(t, harness.Options{Args: args})
	uri, err := url.Parse(server.URI)
	if err != nil {
		t.Fatal(err)
	}
	for _, more := range server.More {
		uri.Host += "," + strings.Trim(strings.TrimPrefix(more, "mongodb://"), "/")
	}
	uri.Path = "/integration_tests"
	return uri.String()
}
