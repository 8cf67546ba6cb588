package nodesuite

import (
	"net/url"
	"strings"
	"testing"

	"github.com/cantledb/cantle/compat-tests/clients/scoreboard"
	"github.com/cantledb/cantle/compat-tests/rig/harness"
	"github.com/cantledb/cantle/internal/testenv"
)

// scoreboardHead begins scoreboard.txt.
const scoreboardHead = `# The Node driver's tests for servers: what passed, what failed, and what they skipped (other
# topologies and versions). row@setting where the server was no mongos. See doc.go.
`

// TestNodeSuite runs the Node driver's own tests, and compares the results with the scoreboard.
func TestNodeSuite(t *testing.T) {
	if !testenv.IsLong() {
		t.Skip("it takes minutes: ./scripts/test --long or CANTLE_LONG=1 runs it")
	}
	scoreboard.Suite{Head: scoreboardHead, Runs: runs, Source: source, Start: start}.Judge(t)
}

// start starts a server for a run of the Node driver's tests, and returns the runner of the tests in dir against that
// server.
func start(t *testing.T, r scoreboard.Run, dir string) scoreboard.Runner {
	args := []string{"--enable-test-commands", "--listen", "127.0.0.1:0,127.0.0.1:0"}
	if r.On == scoreboard.ReplicaSet {
		args = []string{"--enable-test-commands", "--replica-set", "rs0"}
	}
	server := harness.Start(t, harness.Options{Args: scoreboard.ServerArgs(args...)})
	uri, err := url.Parse(server.URI)
	if err != nil {
		t.Fatal(err)
	}
	for _, more := range server.More {
		uri.Host += "," + strings.Trim(strings.TrimPrefix(more, "mongodb://"), "/")
	}
	uri.Path = "/integration_tests"
	return (&mocha{Run: r, uri: uri.String(), titles: map[string]string{}}).runner(dir)
}
