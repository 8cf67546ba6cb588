package pymongosuite

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/cantledb/cantle/compat-tests/clients/scoreboard"
)

// Settings beside those of all drivers.
const (
	auth      scoreboard.Setting = "auth"
	encrypted scoreboard.Setting = "tls" // and logins
)

// runs are all runs; rows of the table are in this order.
var runs = []scoreboard.Run{
	{Name: "language", On: scoreboard.Mongos, Parts: "bulk collation collection collection_management command_monitoring comment cursor custom_types database", Short: true},
	{Name: "files", On: scoreboard.Mongos, Parts: "examples grid_file gridfs gridfs_bucket gridfs_spec raw_bson decimal128", Short: true},
	{Name: "sessions", On: scoreboard.Mongos, Parts: "causal_consistency read_concern read_preferences read_write_concern_spec session sessions_unified transactions " +
		"versioned_api_integration", Short: true},
	{Name: "logins", On: auth, Parts: "auth", Short: true},
	{Name: "encrypted", On: encrypted, Parts: "ssl", Short: true},
	{Name: "streams", On: scoreboard.Mongos, Parts: "change_stream run_command"},
	{Name: "client", On: scoreboard.Mongos, Parts: "client client_backpressure command_logging common create_entities fork handshake_unified logger"},
	{Name: "pool", On: scoreboard.Mongos, Parts: "connection_monitoring pooling threads operation_id_retry"},
	{Name: "crud", On: scoreboard.Mongos, Parts: "crud_unified unified_format"},
	{Name: "monitoring", On: scoreboard.Mongos, Parts: "discovery_and_monitoring heartbeat_monitoring monitor monitoring mongos_load_balancing sdam_monitoring_spec " +
		"server_selection_in_window server_selection_logging streaming_protocol"},
	{Name: "reads", On: scoreboard.Mongos, Parts: "retryable_reads retryable_reads_unified"},
	{Name: "writes", On: scoreboard.Mongos, Parts: "retryable_writes retryable_writes_unified"},
	{Name: "transactions", On: scoreboard.Mongos, Parts: "transactions_unified"},
	{Name: "set streams", On: scoreboard.ReplicaSet, Parts: "change_stream command_monitoring comment cursor"},
	{Name: "set crud", On: scoreboard.ReplicaSet, Parts: "client crud_unified read_preferences session sessions_unified transactions transactions_unified"},
	{Name: "set retries", On: scoreboard.ReplicaSet, Parts: "retryable_reads retryable_reads_unified retryable_writes retryable_writes_unified"},
	{Name: "with logins", On: auth, Parts: "bulk change_stream collection cursor database gridfs_spec session"},
}

// without has the tests that are left out, by the beginnings of their ids, with the reasons.
var without = map[string]string{
	"test_client.py::ClientUnitTest::test_connection_timeout_ms_propagates_to_DNS_resolver": noDNS,
	"test_client.py::ClientUnitTest::test_container_metadata":                               itsMachine,
	"test_client.py::ClientUnitTest::test_metadata":                                         itsMachine,
	"test_client.py::TestClient::test_handshake_":                                           itsMachine,
	"test_client.py::TestClient::test_repr_srv_host":                                        noDNS,
	"test_client.py::TestClient::test_service_name_from_kwargs":                             noDNS,
	"test_client.py::TestClient::test_srv_max_hosts_kwarg":                                  noDNS,
	"test_retryable_writes.py::TestErrorPropagationAfterEncounteringMultipleErrors::":       "asks a server on port 27017 whatever it is told",
}

// Reasons of several tests.
const (
	noDNS      = "asks the DNS for names of MongoDB's test domain"
	itsMachine = "looks at the machine the client runs on, such as a container"
)

// Limits on one test and on one run.
const (
	testSecondsMax = 120
	runMinutesMax  = 12
)

// runner runs the tests of a run against one server, by its port.
type runner struct {
	scoreboard.Run
	dir  string
	port int
}

// Runs the tests, or only the one with the given name. It returns results by the name of the test:
// row::class::function.
func (a runner) run(ctx context.Context, only string) (map[string]scoreboard.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, runMinutesMax*time.Minute)
	defer cancel()
	report, err := os.CreateTemp("", "pymongo-*.xml")
	if err != nil {
		return nil, err
	}
	report.Close()
	defer os.Remove(report.Name())
	marker := "default"
	args := []string{"-m", "pytest", "-q", "-p", "no:cacheprovider", "-o", "addopts=", "--tb=short", fmt.Sprintf("--timeout=%d", testSecondsMax),
		"--junitxml=" + report.Name()}
	if only != "" {
		row, rest, _ := strings.Cut(only, "::")
		file, _, _ := strings.Cut(row, "@")
		args = append(args, "test/test_"+file+".py::"+rest)
	} else {
		for file := range strings.FieldsSeq(a.Parts) {
			args = append(args, "test/test_"+file+".py")
		}
	}
	if a.Parts == "auth" {
		marker = "auth"
	}
	args = append(args, "-m", marker)
	for id := range without {
		args = append(args, "--deselect", "test/"+id)
	}
	cmd := exec.CommandContext(ctx, filepath.Join(a.dir, "venv", "bin", "python"), args...)
	cmd.Dir = a.dir
	// Only the environment variables that programs need: the driver sends the server information about clouds
	// and containers that it finds there, and the tests have settings of their own.
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "TMPDIR=" + os.TempDir(), "LANG=C.UTF-8", fmt.Sprintf("DB_PORT=%d", a.port)}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || exit.ExitCode() != testsFailed) {
		return nil, fmt.Errorf("pytest: %w\n%s", err, tail(string(out)))
	}
	text, err := os.ReadFile(report.Name())
	if err != nil {
		return nil, err
	}
	return a.parse(text)
}

// testsFailed is pytest's exit status when it completed and tests failed.
const testsFailed = 1

// tail returns the end of the output of a program.
func tail(s string) string { return s[max(0, len(s)-4000):] }

// testcase is an entry of pytest's report. A test has several entries if it fails twice, or if parts of it
// fail.
type testcase struct {
	Class    string    `xml:"classname,attr"` // test.test_bulk.TestBulk
	Name     string    `xml:"name,attr"`
	Failures []failure `xml:"failure"`
	Errors   []failure `xml:"error"`
	Skipped  *failure  `xml:"skipped"`
}

type failure struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// parse reads pytest's report.
func (a runner) parse(text []byte) (map[string]scoreboard.Result, error) {
	var report struct {
		Cases []testcase `xml:"testsuite>testcase"`
	}
	if err := xml.Unmarshal(text, &report); err != nil {
		return nil, fmt.Errorf("pytest's report: %w", err)
	}
	if len(report.Cases) == 0 {
		return nil, errors.New("pytest ran no tests")
	}
	results := map[string]scoreboard.Result{}
	for _, c := range report.Cases {
		file, class, _ := strings.Cut(strings.TrimPrefix(c.Class, "test.test_"), ".")
		name := a.Row(file)
		for _, part := range []string{class, c.Name} {
			if part != "" {
				name += "::" + part
			}
		}
		one := scoreboard.Result{Outcome: scoreboard.Passed}
		switch bad := append(c.Failures, c.Errors...); {
		case len(bad) > 0:
			one.Outcome = scoreboard.Failed
			for _, f := range bad {
				one.Said = append(one.Said, tail(f.Text))
			}
		case c.Skipped != nil:
			one.Outcome = scoreboard.Skipped
		}
		if before, ok := results[name]; ok && before.Outcome == scoreboard.Failed {
			one.Outcome, one.Said = scoreboard.Failed, append(before.Said, one.Said...)
		}
		results[name] = one
	}
	return results, nil
}
