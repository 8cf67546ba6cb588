package nodesuite

import (
	"context"
	"encoding/json"
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

// runs are all runs; rows of the table are in this order.
var runs = []scoreboard.Run{
	{Name: "crud", On: scoreboard.Mongos, Parts: "crud"},
	{Name: "commands", On: scoreboard.Mongos, Parts: "auth collation collection-management command-logging-and-monitoring gridfs index-management read-write-concern " +
		"run-command unified-test-format versioned-api"},
	{Name: "streams", On: scoreboard.Mongos, Parts: "change-streams"},
	{Name: "transactions", On: scoreboard.Mongos, Parts: "causal-consistency sessions transactions transactions-convenient-api"},
	{Name: "reads", On: scoreboard.Mongos, Parts: "retryable-reads"},
	{Name: "writes", On: scoreboard.Mongos, Parts: "retryable-writes"},
	{Name: "timeouts", On: scoreboard.Mongos, Parts: "client-side-operations-timeout"},
	{Name: "monitoring", On: scoreboard.Mongos, Parts: "client-backpressure connection-monitoring-and-pooling max-staleness mongodb-handshake server-discovery-and-monitoring " +
		"server-selection"},
	{Name: "node", On: scoreboard.Mongos, Parts: "node-specific"},
	{Name: "set crud", On: scoreboard.ReplicaSet, Parts: "crud"},
	{Name: "set streams", On: scoreboard.ReplicaSet, Parts: "change-streams"},
	{Name: "set transactions", On: scoreboard.ReplicaSet, Parts: "causal-consistency sessions transactions transactions-convenient-api"},
	{Name: "set retries", On: scoreboard.ReplicaSet, Parts: "retryable-reads retryable-writes"},
}

// without has the tests that are left out, by the beginnings of their titles, with the reasons.
var without = map[string]string{
	"CRUD Prose Spec Tests 13.":                     encryption,
	"CSOT spec prose tests 2. maxTimeMS is not set": encryption,
	"CSOT spec unit tests Client side encryption":   encryption,
	"ClientEncryption integration tests":            encryption,
	"Driver Resources on MongoClient.close()":       "looks at what the client's process has left open",
	"Handshake Prose Tests Test 9:":                 "looks at the machine the client runs on",
	"MongoClient.close() Integration ClientSession (Implicit) when MongoClient.close is called when sessions are not": encryption,
	"class ServerDescription when connecting to mongocryptd":                                                          encryption,
	"crypt shared library": encryption,
}

// encryption is a reason that several tests share.
const encryption = "needs mongocryptd or the native module for encryption"

// minutesMax bounds the duration of one run.
const minutesMax = 15

// runner runs the tests of a run against one server.
type runner struct {
	scoreboard.Run
	dir, uri string
	titles   map[string]string // mocha's titles, by the names of tests
}

// Runs the tests, or only the one with the given name. It returns results by the name of the test:
// row::file::title.
func (a *runner) run(ctx context.Context, only string) (map[string]scoreboard.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, minutesMax*time.Minute)
	defer cancel()
	temp, err := os.MkdirTemp("", "nodesuite-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(temp)
	report := filepath.Join(temp, "report.json")
	args := []string{"--config", "test/mocha_mongodb.js", "--exit", "--reporter", "json", "--reporter-option", "output=" + report}
	if only != "" {
		args = append(args, "--fgrep", a.titles[only])
	}
	for folder := range strings.FieldsSeq(a.Parts) {
		args = append(args, "test/integration/"+folder)
	}
	cmd := exec.CommandContext(ctx, "node_modules/.bin/mocha", args...)
	cmd.Dir = a.dir
	// Only the environment variables that programs need: the driver sends the server information about clouds
	// and containers that it finds there, and the tests have settings of their own.
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "TMPDIR=" + temp, "AUTH=noauth", "MONGODB_URI=" + a.uri}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	out, ended := cmd.CombinedOutput() // the exit status is the number of failed tests
	text, err := os.ReadFile(report)
	if err != nil {
		return nil, fmt.Errorf("mocha: %w\n%s", ended, tail(string(out)))
	}
	return a.parse(text)
}

// tail returns the end of the output of a program.
func tail(s string) string { return s[max(0, len(s)-4000):] }

// entry is a test in mocha's report.
type entry struct {
	FullTitle, File string
	Err             struct{ Message, Stack string }
}

// parse reads mocha's report. If several tests have the same name, a failure of one counts.
func (a *runner) parse(text []byte) (map[string]scoreboard.Result, error) {
	var report struct{ Passes, Pending, Failures []entry }
	if err := json.Unmarshal(text, &report); err != nil {
		return nil, fmt.Errorf("mocha's report: %w", err)
	}
	results := map[string]scoreboard.Result{}
	for _, list := range []struct {
		outcome string
		entries []entry
	}{{scoreboard.Skipped, report.Pending}, {scoreboard.Passed, report.Passes}, {scoreboard.Failed, report.Failures}} {
		for _, e := range list.entries {
			if leftOut(e.FullTitle) {
				continue
			}
			name := a.name(e)
			a.titles[name] = e.FullTitle
			one := scoreboard.Result{Outcome: list.outcome}
			if list.outcome == scoreboard.Failed {
				one.Said = append(results[name].Said, e.Err.Message+"\n"+e.Err.Stack)
			}
			results[name] = one
		}
	}
	if len(results) == 0 {
		return nil, errors.New("mocha ran no tests")
	}
	return results, nil
}

// leftOut reports whether a test is left out.
func leftOut(title string) bool {
	for begin := range without {
		if strings.HasPrefix(title, begin) {
			return true
		}
	}
	return false
}

// name returns a test's name, without blanks.
func (a *runner) name(e entry) string {
	_, path, _ := strings.Cut(e.File, "/test/integration/")
	folder, file, _ := strings.Cut(path, "/")
	return a.Row(folder) + "::" + file + "::" + strings.Join(strings.Fields(e.FullTitle), "_")
}
