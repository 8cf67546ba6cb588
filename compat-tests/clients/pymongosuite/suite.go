package pymongosuite

import (
	"encoding/xml"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/cantledb/cantle/compat-tests/clients/scoreboard"
)

// Settings beside those of all drivers.
const (
	auth      scoreboard.Setting = "auth"
	encrypted scoreboard.Setting = "tls" // and logins
)

// runs are the runs of the driver's tests, each against a server of its own. The rows of the scoreboard are in this
// order.
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

// without lists the tests that are left out, by the beginnings of their ids, each with the reason.
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

// pytest makes the runner for one run of PyMongo's tests, against the server at a port.
type pytest struct {
	scoreboard.Run
	port int
}

// runner returns the runner of the tests in a folder. The names of its results have the form row::class::function.
func (a pytest) runner(dir string) scoreboard.Runner {
	return scoreboard.Runner{
		Name: "pytest", Limit: runMinutesMax * time.Minute, Dir: dir, Program: filepath.Join(dir, "venv", "bin", "python"), Args: a.args, Parse: a.parse,
		Env: []string{"LANG=C.UTF-8", fmt.Sprintf("DB_PORT=%d", a.port)}, Statuses: []int{testsFailed},
	}
}

// args returns the arguments of Python.
func (a pytest) args(report, only string) []string {
	args := []string{"-m", "pytest", "-q", "-p", "no:cacheprovider", "-o", "addopts=", "--tb=short", fmt.Sprintf("--timeout=%d", testSecondsMax), "--junitxml=" + report}
	if only != "" {
		row, rest, _ := strings.Cut(only, "::")
		file, _, _ := strings.Cut(row, "@")
		args = append(args, "test/test_"+file+".py::"+rest)
	} else {
		for file := range strings.FieldsSeq(a.Parts) {
			args = append(args, "test/test_"+file+".py")
		}
	}
	marker := "default"
	if a.Parts == "auth" {
		marker = "auth"
	}
	args = append(args, "-m", marker)
	for id := range without {
		args = append(args, "--deselect", "test/"+id)
	}
	return args
}

// testsFailed is pytest's exit status when it completed and tests failed.
const testsFailed = 1

// testcase is an entry of pytest's report. A test has several entries if it fails twice, or if some of its parts
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
func (a pytest) parse(text []byte) (scoreboard.Results, error) {
	var report struct {
		Cases []testcase `xml:"testsuite>testcase"`
	}
	if err := xml.Unmarshal(text, &report); err != nil {
		return nil, err
	}
	results := scoreboard.Results{}
	for _, c := range report.Cases {
		file, class, _ := strings.Cut(strings.TrimPrefix(c.Class, "test.test_"), ".")
		name := a.Row(file)
		for _, part := range []string{class, c.Name} {
			if part != "" {
				name += "::" + part
			}
		}
		var said []string
		for _, f := range append(c.Failures, c.Errors...) {
			said = append(said, scoreboard.Tail(f.Text))
		}
		switch {
		case len(said) > 0:
			results.Add(name, scoreboard.Failed, said...)
		case c.Skipped != nil:
			results.Add(name, scoreboard.Skipped)
		default:
			results.Add(name, scoreboard.Passed)
		}
	}
	return results, nil
}
