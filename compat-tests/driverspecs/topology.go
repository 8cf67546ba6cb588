package driverspecs

import (
	"regexp"
	"strings"

	"github.com/cantledb/cantle/compat-tests/harness"
)

// A topology is what the server is shown as. Each has a scoreboard of its own.
type topology struct {
	name  string
	board string
	args  []string
	uri   func(s *harness.Server) string
	// leftOut are tests that are not run, each with the reason.
	leftOut map[string]string
}

// topologies lists them. Two addresses look like two mongos.
var topologies = []topology{
	{
		name: "mongos", board: "scoreboard.txt",
		args: []string{"--listen", "127.0.0.1:0,127.0.0.1:0"},
		uri: func(s *harness.Server) string {
			return "mongodb://" + hostOf(s.URI) + "," + hostOf(s.More[0]) + "/"
		},
		leftOut: map[string]string{waitsForTimeouts: theClientsClock},
	},
	{
		name: "replica set", board: "scoreboard_replica_set.txt",
		args: []string{"--replica-set", "rs0"},
		uri:  func(s *harness.Server) string { return s.URI },
		leftOut: map[string]string{
			waitsForTimeouts: theClientsClock,
			"TestUnifiedSpecs/transactions/legacy/read-pref.json/secondary_readPreference":                                          noSecondary,
			"TestUnifiedSpecs/transactions/legacy/transaction-options.json/readPreference_inherited_from_client":                    noSecondary,
			"TestUnifiedSpecs/transactions/legacy/transaction-options.json/readPreference_inherited_from_defaultTransactionOptions": noSecondary,
			"TestUnifiedSpecs/transactions/legacy/transaction-options.json/startTransaction_overrides_readPreference":               noSecondary,
			"TestUnifiedSpecs/server-discovery-and-monitoring/integration/rediscover-quickly-after-step-down.json":                  noSecondary,
			"TestUnifiedSpec/server-discovery-and-monitoring/unified/logging-replicaset.json":                                       threeMembers,
			"TestConnectionsSurvivePrimaryStepDown/getMore_iteration":                                                               stepsDown,
		},
	},
}

// Reasons to leave a test out.
const (
	noSecondary     = "it needs a secondary: the set has one member"
	stepsDown       = "the primary refuses to step down, since nobody could take over"
	threeMembers    = "it counts the events of a set with three members"
	theClientsClock = "it measures the client's clock: fifty operations with 50 ms each, with their connections"

	waitsForTimeouts = "TestClient/operations_don't_retry_after_a_context_timeout"
)

// skip is the pattern of the tests that are left out.
func (t *topology) skip() string {
	var all []string
	for name := range t.leftOut {
		parts := strings.Split(name, "/")
		for i, p := range parts {
			parts[i] = "^" + regexp.QuoteMeta(p) + "$"
		}
		all = append(all, strings.Join(parts, "/"))
	}
	return strings.Join(all, "|")
}

// hostOf is the host:port of a connection string.
func hostOf(uri string) string {
	return strings.TrimSuffix(strings.TrimPrefix(uri, "mongodb://"), "/")
}
