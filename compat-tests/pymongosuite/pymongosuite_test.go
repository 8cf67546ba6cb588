package pymongosuite

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/cantledb/cantle/compat-tests/harness"
	"github.com/cantledb/cantle/compat-tests/scoreboard"
)

// scoreboardHead begins scoreboard.txt.
const scoreboardHead = `# PyMongo's tests for servers: what passed, what failed, and what they skipped (other
# topologies and versions, what Python lacks). row@setting where the server was no mongos. See doc.go.
`

// TestPyMongoSuite runs the driver's tests and compares the results with the
// scoreboard.
func TestPyMongoSuite(t *testing.T) {
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
			for file := range strings.FieldsSeq(r.files) {
				rows = append(rows, r.row(file))
			}
			t.Run(r.name, func(t *testing.T) {
				if !r.short && os.Getenv("CANTLE_LONG") == "" {
					t.Skip("it takes minutes: ./scripts/test --long or CANTLE_LONG=1 runs it")
				}
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
	port := r.start(t, dir)
	results, err := r.ask(t.Context(), dir, port, "")
	if err != nil {
		t.Fatal(err)
	}
	score.Again(t, results, func(name string) (map[string]scoreboard.Result, error) {
		return r.ask(t.Context(), dir, port, name)
	})
	for file := range strings.FieldsSeq(r.files) {
		row, its := r.row(file), map[string]scoreboard.Result{}
		for name, result := range results {
			if strings.HasPrefix(name, row+"::") {
				its[name] = result
			}
		}
		t.Run(file, func(t *testing.T) { score.Take(t, row, row+"::", its) })
	}
}

// start starts a server and returns its port.
func (r run) start(t *testing.T, dir string) int {
	t.Helper()
	certificates := filepath.Join(dir, "test", "certificates")
	port := pair(t)
	args := []string{"--enable-test-commands", "--listen", fmt.Sprintf("127.0.0.1:%d,127.0.0.1:%d", port, port+1)}
	switch r.on {
	case replicaSet:
		args = []string{"--enable-test-commands", "--replica-set", "rs0"}
	case auth:
		args = append(args, "--auth")
	case encrypted:
		args = append(args, "--auth", "--tls-mode", "requireTLS", "--tls-certificate-key-file", filepath.Join(certificates, "server.pem"),
			"--tls-ca-file", filepath.Join(certificates, "ca.pem"), "--tls-allow-connections-without-certificates")
	}
	uri, err := url.Parse(harness.Start(t, harness.Options{Args: args}).URI)
	if err != nil {
		t.Fatal(err)
	}
	if port, err = strconv.Atoi(uri.Port()); err != nil {
		t.Fatal(err)
	}
	return port
}

// pair returns a port that is free together with the next one. The tests look for a
// second mongos there.
func pair(t *testing.T) int {
	t.Helper()
	for range 100 {
		first, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		port := first.Addr().(*net.TCPAddr).Port
		second, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port+1))
		first.Close()
		if err == nil {
			second.Close()
			return port
		}
	}
	t.Fatal("no two neighbouring ports are free")
	return 0
}
