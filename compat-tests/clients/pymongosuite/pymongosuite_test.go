package pymongosuite

import (
	"fmt"
	"math/rand/v2"
	"net"
	"net/url"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/cantledb/cantle/compat-tests/clients/scoreboard"
	"github.com/cantledb/cantle/compat-tests/rig/harness"
)

// scoreboardHead begins scoreboard.txt.
const scoreboardHead = `# PyMongo's tests for servers: what passed, what failed, and what they skipped (other
# topologies and versions, what Python lacks). row@setting where the server was no mongos. See doc.go.
`

// TestPyMongoSuite runs PyMongo's own tests, and compares the results with the scoreboard.
func TestPyMongoSuite(t *testing.T) {
	scoreboard.Suite{Head: scoreboardHead, Runs: runs, Source: source, Start: start}.Judge(t)
}

// startTriesMax is the maximum number of starts of a server. Each start chooses two ports, which another program may
// take before the server does.
const startTriesMax = 5

// start starts a server for a run of PyMongo's tests, and returns the runner of the tests in dir against that server.
func start(t *testing.T, r scoreboard.Run, dir string) scoreboard.Runner {
	t.Helper()
	server := harness.StartRetry(t, func() harness.Options { return harness.Options{Args: scoreboard.ServerArgs(args(t, r, dir)...)} }, startTriesMax)
	uri, err := url.Parse(server.URI)
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.Atoi(uri.Port())
	if err != nil {
		t.Fatal(err)
	}
	return pytest{r, port}.runner(dir)
}

// args returns the flags of the server.
func args(t *testing.T, r scoreboard.Run, dir string) []string {
	if r.On == scoreboard.ReplicaSet {
		return []string{"--enable-test-commands", "--replica-set", "rs0"}
	}
	port := pair(t)
	args := []string{"--enable-test-commands", "--listen", fmt.Sprintf("127.0.0.1:%d,127.0.0.1:%d", port, port+1)}
	certificates := filepath.Join(dir, "test", "certificates")
	switch r.On {
	case auth:
		args = append(args, "--auth")
	case encrypted:
		args = append(args, "--auth", "--tls-mode", "requireTLS", "--tls-certificate-key-file", filepath.Join(certificates, "server.pem"),
			"--tls-ca-file", filepath.Join(certificates, "ca.pem"), "--tls-allow-connections-without-certificates")
	}
	return args
}

// pair returns a port that is free together with the next one, at which the tests expect a second mongos. It is
// outside of the range from which systems assign free ports.
func pair(t *testing.T) int {
	t.Helper()
	for range 100 {
		port := 20_000 + 2*rand.IntN(6_000)
		if free(port) && free(port+1) {
			return port
		}
	}
	t.Fatal("no two neighbouring ports are free")
	return 0
}

func free(port int) bool {
	l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return false
	}
	return l.Close() == nil
}
