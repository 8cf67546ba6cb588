package driverspecs

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/cantledb/cantle/compat-tests/clients/scoreboard"
)

// suite is a part of the driver's tests that has a row of its own in the scoreboard.
type suite struct {
	name string // the row: the folder of specification files, or the test
	pkg  string // of the driver
	test string // the test function
	sub  string // the subtest of the folder, "" for all of the test
}

// The driver's packages of tests.
const (
	unified     = "mongo/integration/unified"
	integration = "mongo/integration"
)

// suites are the parts of the driver's tests that run, in the order of the scoreboard.
var suites = slices.Concat(
	folders(unified, "TestUnifiedSpec",
		"change-streams", "client-side-operations-timeout", "collection-management", "command-monitoring",
		"connection-monitoring-and-pooling/logging", "crud/unified", "gridfs", "index-management", "load-balancers",
		"retryable-writes/unified", "run-command", "server-discovery-and-monitoring/unified", "sessions", "transactions/unified",
		"unified-test-format/valid-fail", "unified-test-format/valid-pass", "versioned-api"),
	folders(integration, "TestUnifiedSpecs",
		"convenient-transactions", "read-write-concern/operation", "retryable-reads",
		"server-discovery-and-monitoring/integration", "transactions/legacy"),
	tests("TestBypassEmptyTsReplacement", "TestCSOTProse", "TestCSOT_errors", "TestCSOT_maxTimeMS",
		"TestCausalConsistency_Supported", "TestChangeStream_ReplicaSet", "TestClient", "TestCollection",
		"TestConnectionsSurvivePrimaryStepDown", "TestCrudSpec", "TestCursor", "TestDatabase", "TestErrors",
		"TestErrorsCodeNamePropagated", "TestGridFS", "TestGridFSProse", "TestHintErrors", "TestIndexView", "TestMongosPinning",
		"TestRetryableReadsProse", "TestRetryableWritesProse", "TestRetryableWritesSpec", "TestSDAMErrorHandling",
		"TestSDAMProse", "TestServerHeartbeatStartedEvent", "TestSessionPool", "TestSessions", "TestSessionsProse",
		"TestWriteConcernError", "TestWriteErrorsDetails", "TestWriteErrorsWithLabels"),
)

func folders(pkg, test string, names ...string) (out []suite) {
	for _, n := range names {
		out = append(out, suite{n, pkg, test, n})
	}
	return out
}

func tests(names ...string) (out []suite) {
	for _, n := range names {
		out = append(out, suite{n, integration, n, ""})
	}
	return out
}

// path returns the name of the suite among the tests of its package: the test function, or one of its subtests.
func (s suite) path() string {
	if s.sub == "" {
		return s.test
	}
	return s.test + "/" + s.sub
}

// suiteOf returns the name of the suite to which a test of the driver belongs, "" if it belongs to none.
func suiteOf(test string) string {
	for _, s := range suites {
		if test == s.path() || strings.HasPrefix(test, s.path()+"/") {
			return s.name
		}
	}
	return ""
}

// pattern returns the pattern for go test's flag -test.run that selects the suite or, if only is not "", the test
// with that full name.
func (s suite) pattern(only string) string {
	name := s.path()
	if only != "" {
		name = only
	}
	parts := strings.Split(name, "/")
	for i, p := range parts {
		parts[i] = "^" + regexp.QuoteMeta(p) + "$"
	}
	return strings.Join(parts, "/")
}

// suiteLimit ends a suite that hangs.
const suiteLimit = 6 * time.Minute

// run runs the suite of the driver's tests against the server that env names, without the tests that the topology
// leaves out; if only is not "", one test. It returns the results of the tests without subtests, by name.
func (s suite) run(ctx context.Context, top *topology, dir, program string, env []string, only string) (map[string]scoreboard.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, suiteLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, "-test.v", "-test.timeout", suiteLimit.String(), "-test.run", s.pattern(only), "-test.skip", top.skip())
	cmd.Dir = filepath.Join(dir, s.pkg)
	cmd.Env = slices.Concat(os.Environ(), top.env, env)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	got, trouble := parse(out)
	_ = cmd.Wait() // failed tests are in the output
	switch {
	case trouble != "" && len(got) == 0 && strings.Contains(trouble, setupFailed):
		return got, fmt.Errorf("%s: %w: %s", s.name, errNotBegun, trouble)
	case ctx.Err() != nil:
		return got, fmt.Errorf("%s: no end within %s\n%s", s.name, suiteLimit, trouble)
	case trouble != "":
		return got, fmt.Errorf("%s: %s", s.name, trouble)
	case len(got) == 0:
		return got, fmt.Errorf("%s: nothing ran", s.name)
	}
	return got, nil
}

// errNotBegun means that a test program of the driver ended before its first test. The program gives the server 2 s
// to answer a ping, and then assumes that another connection, for which it has not waited, has finished its
// handshake. On a busy machine that is not always so; it is no failure of the server.
var errNotBegun = errors.New("the program gave up before its first test")

// setupFailed is in the stack of a program whose preparations failed.
const setupFailed = ".TestMain("

var outcomeLine = regexp.MustCompile(`^\s*--- (PASS|FAIL|SKIP): (.*) \([0-9.]+s\)$`)

// parse reads the output of a test program. leaves are the results of tests without subtests; trouble is the output
// from a panic on, at most 30 lines, or an error of reading, "" if there was neither.
func parse(out io.Reader) (leaves map[string]scoreboard.Result, trouble string) {
	leaves = map[string]scoreboard.Result{}
	said := map[string][]string{}
	parents := map[string]bool{}
	current := ""
	var broken []string
	lines := bufio.NewScanner(out)
	lines.Buffer(make([]byte, 0, 1<<20), 64<<20)
	for lines.Scan() {
		line := lines.Text()
		if name, ok := strings.CutPrefix(line, "=== "); ok {
			if _, name, ok = strings.Cut(name, " "); ok {
				current = strings.TrimSpace(name)
				if i := strings.LastIndexByte(current, '/'); i > 0 {
					parents[current[:i]] = true
				}
			}
			continue
		}
		if m := outcomeLine.FindStringSubmatch(line); m != nil {
			leaves[m[2]] = scoreboard.Result{Outcome: m[1], Said: said[m[2]]}
			continue
		}
		if strings.HasPrefix(line, "panic: ") || broken != nil {
			if broken = append(broken, line); len(broken) == 1 {
				broken = append(broken, "in "+current)
			}
			continue
		}
		said[current] = append(said[current], line)
	}
	// The name of a folder or a file may contain slashes, so a prefix of a name is not always a test: only a prefix
	// that has a result of its own is a parent.
	for name := range leaves {
		for up := name; ; {
			i := strings.LastIndexByte(up, '/')
			if i < 0 {
				break
			}
			up = up[:i]
			parents[up] = true
		}
	}
	for name := range parents {
		// If a parent fails although no test below it fails, it counts like a test without subtests.
		if r, ok := leaves[name]; ok && (r.Outcome != scoreboard.Failed || failsBelow(leaves, name)) {
			delete(leaves, name)
		}
	}
	if err := lines.Err(); err != nil {
		broken = append(broken, err.Error())
	}
	return leaves, strings.Join(broken[:min(len(broken), 30)], "\n")
}

// failsBelow reports whether a test under the named one failed.
func failsBelow(all map[string]scoreboard.Result, name string) bool {
	for other, r := range all {
		if r.Outcome == scoreboard.Failed && strings.HasPrefix(other, name+"/") {
			return true
		}
	}
	return false
}
