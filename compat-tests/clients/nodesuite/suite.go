package nodesuite

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/cantledb/cantle/compat-tests/clients/scoreboard"
)

// runs are the runs of the driver's tests, each against a server of its own. The rows of the scoreboard are in this
// order.
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

// without lists the tests that are left out, by the beginnings of their titles, each with the reason.
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

// mocha makes the runner for one run of the Node driver's tests, against the server at uri.
type mocha struct {
	scoreboard.Run
	uri    string
	titles map[string]string // mocha's titles, by the names of tests
}

// runner returns the runner of the tests in a folder. The names of its results have the form row::file::title.
func (a *mocha) runner(dir string) scoreboard.Runner {
	return scoreboard.Runner{
		Name: "mocha", Limit: minutesMax * time.Minute, Dir: dir, Program: "node_modules/.bin/mocha", Args: a.args, Parse: a.parse,
		Env: []string{"AUTH=noauth", "MONGODB_URI=" + a.uri},
	}
}

// args returns the arguments of mocha: report is the file for its report, only the name of a single test, "" for all.
func (a *mocha) args(report, only string) []string {
	args := []string{"--config", "test/mocha_mongodb.js", "--exit", "--reporter", "json", "--reporter-option", "output=" + report}
	if only != "" {
		args = append(args, "--fgrep", a.titles[only])
	}
	for folder := range strings.FieldsSeq(a.Parts) {
		args = append(args, "test/integration/"+folder)
	}
	return args
}

// entry is a test in mocha's report.
type entry struct {
	FullTitle, File string
	Err             struct{ Message, Stack string }
}

// parse reads mocha's report.
func (a *mocha) parse(text []byte) (scoreboard.Results, error) {
	var report struct{ Passes, Pending, Failures []entry }
	if err := json.Unmarshal(text, &report); err != nil {
		return nil, err
	}
	results := scoreboard.Results{}
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
			if list.outcome == scoreboard.Failed {
				results.Add(name, list.outcome, e.Err.Message+"\n"+e.Err.Stack)
			} else {
				results.Add(name, list.outcome)
			}
		}
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
func (a *mocha) name(e entry) string {
	_, path, _ := strings.Cut(e.File, "/test/integration/")
	folder, file, _ := strings.Cut(path, "/")
	return a.Row(folder) + "::" + file + "::" + strings.Join(strings.Fields(e.FullTitle), "_")
}
