package driverspecs

import (
	"os"
	"strings"
	"testing"

	"github.com/cantledb/cantle/compat-tests/harness"
	"github.com/cantledb/cantle/compat-tests/scoreboard"
)

// scoreboardHead begins scoreboard.txt.
const scoreboardHead = `# The Go driver's tests for servers: what passed, what failed, and what the driver's
# runner skipped (other topologies and versions, operations the driver lacks). See doc.go.
`

// TestDriverSpecs runs the driver's tests and compares the results with the
// scoreboard.
func TestDriverSpecs(t *testing.T) {
	if os.Getenv("CANTLE_URI") != "" {
		t.Skip("CANTLE_URI is set, and this test needs a server of its own with fail points")
	}
	score := scoreboard.Begin(t, "scoreboard.txt")
	dir := fetch(t)
	programs := map[string]string{unified: compile(t, dir, unified), integration: compile(t, dir, integration)}
	var names []string
	t.Run("suites", func(t *testing.T) {
		for _, s := range suites {
			names = append(names, s.name)
			t.Run(s.name, func(t *testing.T) {
				t.Parallel() // they mostly wait
				server := harness.Start(t, harness.Options{Args: []string{"--listen", "127.0.0.1:0,127.0.0.1:0", "--enable-test-commands"}})
				uri := "mongodb://" + hostOf(server.URI) + "," + hostOf(server.More[0]) + "/"
				results, err := s.run(t.Context(), dir, programs[s.pkg], uri, "")
				if err != nil {
					t.Error(err)
				}
				score.Again(t, results, func(name string) (map[string]scoreboard.Result, error) {
					return s.run(t.Context(), dir, programs[s.pkg], uri, name)
				})
				score.Take(t, s.name, s.test, results)
			})
		}
	})
	score.End(t, scoreboardHead, names, suiteOf)
}

// hostOf is the host:port of a connection string.
func hostOf(uri string) string {
	return strings.TrimSuffix(strings.TrimPrefix(uri, "mongodb://"), "/")
}
