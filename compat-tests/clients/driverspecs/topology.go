package driverspecs

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/cantledb/cantle/compat-tests/rig/harness"
)

// topology is a kind of deployment as which the server appears to the driver's tests: two mongos, a replica set, and
// so on. Each has a scoreboard of its own.
type topology struct {
	name  string
	board string
	args  []string
	uri   func(t *testing.T, s *harness.Server) string
	only  []string // suites; nil: all
	env   []string // environment of the driver's programs

	// servers is the number of servers over one store, for a topology with a load balancer. all returns the
	// connection string for tests that need all of them.
	servers int
	all     func(t *testing.T, s *harness.Server) string
	// leftOut are tests that are not run, each with the reason.
	leftOut map[string]string
}

// topologies lists all topologies. A server that listens on two addresses looks like two mongos.
var topologies = []topology{
	{
		name: "mongos", board: "scoreboard.txt",
		args: []string{"--listen", "127.0.0.1:0,127.0.0.1:0"},
		uri: func(_ *testing.T, s *harness.Server) string {
			return "mongodb://" + hostOf(s.URI) + "," + hostOf(s.More[0]) + "/"
		},
		leftOut: map[string]string{waitsForTimeouts: theClientsClock},
	},
	{
		name: "replica set", board: "scoreboard_replica_set.txt",
		args: []string{"--replica-set", "rs0"},
		uri:  func(_ *testing.T, s *harness.Server) string { return s.URI },
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
	{
		// This topology is for the tests for drivers that support load balancers, and for connections that they pin.
		// Most tests have one server behind the balancer: the driver sets fail points through any connection, and a
		// fail point belongs to a single server.
		name: "load balancer", board: "scoreboard_load_balancer.txt", servers: 2,
		uri:  func(t *testing.T, s *harness.Server) string { return harness.Balance(t, s.Addr).URI() },
		all:  func(t *testing.T, s *harness.Server) string { return harness.Balance(t, s.Addr, s.Peers[0]).URI() },
		only: []string{"change-streams", "load-balancers", "sessions"},
	},
	{
		// Runs the tests that require a login.
		name: "users", board: "scoreboard_users.txt",
		args: []string{"--replica-set", "rs0", "--auth"},
		uri:  withRoot,
		env:  []string{"AUTH=auth"},
		only: []string{
			"command-monitoring", "connection-monitoring-and-pooling/logging", "sessions",
			"server-discovery-and-monitoring/integration", "TestDatabase", "TestErrors", "TestSDAMErrorHandling",
		},
		leftOut: map[string]string{
			"TestUnifiedSpecs/server-discovery-and-monitoring/integration/rediscover-quickly-after-step-down.json": noSecondary,
		},
	},
}

// withRoot creates the first user of a server, and returns the connection string with that user's credentials.
func withRoot(t *testing.T, s *harness.Server) string {
	t.Helper()
	command, err := bson.Marshal(bson.D{{Key: "createUser", Value: "root"}, {Key: "pwd", Value: "secret"}, {Key: "roles", Value: bson.A{"root"}}})
	if err != nil {
		t.Fatal(err)
	}
	if r, err := s.Dial(t).Command("admin", command); err != nil || r.Lookup("ok").AsInt64() != 1 {
		t.Fatalf("createUser: %v %v", r, err)
	}
	return strings.Replace(s.URI, "mongodb://", "mongodb://root:secret@", 1) + "&authSource=admin"
}

// has reports whether a suite runs in the topology.
func (t *topology) has(s suite) bool { return t.only == nil || slices.Contains(t.only, s.name) }

// Reasons to leave a test out.
const (
	noSecondary     = "it needs a secondary: the set has one member"
	stepsDown       = "the primary refuses to step down, since nobody could take over"
	threeMembers    = "it counts the events of a set with three members"
	theClientsClock = "it measures the client's clock: fifty operations with 50 ms each, with their connections"

	waitsForTimeouts = "TestClient/operations_don't_retry_after_a_context_timeout"
)

// skip returns the pattern of the tests that are left out.
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

// hostOf returns the host:port of a connection string.
func hostOf(uri string) string {
	return strings.TrimSuffix(strings.TrimPrefix(uri, "mongodb://"), "/")
}
