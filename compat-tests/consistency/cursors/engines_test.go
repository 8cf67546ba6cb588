package cursors

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/cantledb/cantle/compat-tests/rig/harness"
	"github.com/cantledb/cantle/internal/testenv"
)

// engine is a storage engine together with the number of servers over it, with which the tests of this package run.
type engine struct {
	name  string
	share int // seconds of each run
	start func(t *testing.T) *servers
}

var engines = []engine{
	{"memory", 5, func(t *testing.T) *servers { return launch(t, harness.Options{}, 1) }},
	{"files", 3, func(t *testing.T) *servers { return launch(t, harness.Options{Data: t.TempDir()}, 1) }},
	{"cluster", 8, func(t *testing.T) *servers {
		place, _ := harness.SimulatedCluster(t)
		return launch(t, harness.Options{Storage: place}, 3)
	}},
}

// servers are the servers of one database.
type servers struct {
	t       *testing.T
	program string
	list    []*harness.Server
	options []harness.Options // to restart each of them at its address
	kills   int
}

// launch starts servers that end with the test.
func launch(t *testing.T, o harness.Options, n int) *servers {
	t.Helper()
	program, err := harness.Binary()
	if err != nil {
		t.Fatal(err)
	}
	s := &servers{t: t, program: program}
	for range n {
		one, err := harness.LaunchBinary(program, o)
		if err != nil {
			t.Fatal(err)
		}
		again := o
		again.Args = append(again.Args[:len(again.Args):len(again.Args)], "--listen", one.Addr)
		s.list, s.options = append(s.list, one), append(s.options, again)
	}
	t.Cleanup(s.stop)
	return s
}

// stop stops the servers, once.
func (s *servers) stop() {
	for _, one := range s.list {
		if err := one.Stop(); err != nil {
			s.t.Errorf("stopping a server: %v\n%s", err, one.Log())
		}
	}
	s.list = nil
}

// kill ends a server with SIGKILL, and restarts it.
func (s *servers) kill(r *rand.Rand) {
	s.kills++
	i := r.IntN(len(s.list))
	if err := s.list[i].Trouble(); err != nil {
		s.t.Errorf("%v\n%s", err, s.list[i].Log())
	}
	s.list[i].Kill()
	again, err := harness.LaunchBinary(s.program, s.options[i])
	if err != nil {
		s.t.Errorf("a server that was killed does not start again: %v", err)
		return
	}
	s.list[i] = again
}

// client returns a driver client whose connection string has the addresses of all servers.
func (s *servers) client(t *testing.T) *mongo.Client {
	t.Helper()
	var hosts []string
	for _, one := range s.list {
		hosts = append(hosts, one.Addr)
	}
	client, err := mongo.Connect(options.Client().ApplyURI("mongodb://" + strings.Join(hosts, ",") + "/").SetMaxPoolSize(400).
		SetServerSelectionTimeout(20 * time.Second).SetHeartbeatInterval(500 * time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { harness.Disconnect(client) })
	return client
}

// due returns for how long a test draws: the given seconds in each run, five minutes in a long run (CANTLE_LONG).
func due(seconds int) time.Duration {
	if testenv.IsLong() {
		return 5 * time.Minute
	}
	return time.Duration(seconds) * time.Second
}

// firstSeed returns CANTLE_SEED, or a random seed.
func firstSeed(t *testing.T) uint64 {
	if seed, ok := testenv.Seed(t); ok {
		return seed
	}
	return rand.Uint64N(1 << 31)
}
