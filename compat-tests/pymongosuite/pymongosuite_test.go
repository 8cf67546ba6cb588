package pymongosuite

import (
	"errors"
	"fmt"
	"math/rand/v2"
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

// startTriesMax is how often two ports are chosen that may be taken meanwhile.
const startTriesMax = 5

// start starts a server and returns its port.
func (r run) start(t *testing.T, dir string) int {
	t.Helper()
	server := harness.StartRetry(t, func() harness.Options { return harness.Options{Args: r.args(t, dir)} }, startTriesMax)
	uri, err := url.Parse(server.URI)
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.Atoi(uri.Port())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// args are the server's.
func (r run) args(t *testing.T, dir string) []string {
	if r.on == replicaSet {
		return []string{"--enable-test-commands", "--replica-set", "rs0"}
	}
	port := pair(t)
	args := []string{"--enable-test-commands", "--listen", fmt.Sprintf("127.0.0.1:%d,127.0.0.1:%d", port, port+1)}
	certificates := filepath.Join(dir, "test", "certificates")
	switch r.on {
	case auth:
		args = append(args, "--auth")
	case encrypted:
		args = append(args, "--auth", "--tls-mode", "requireTLS", "--tls-certificate-key-file", filepath.Join(certificates, "server.pem"),
			"--tls-ca-file", filepath.Join(certificates, "ca.pem"), "--tls-allow-connections-without-certificates")
	}
	return args
}

// pair returns a port that is free together with the next one, where the tests look
// for a second mongos. It is none of those that systems give to whoever asks for any.
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
