package driverspecs

import (
	"context"
	"errors"
	"flag"
	"os"
	"slices"
	"testing"

	"github.com/cantledb/cantle/compat-tests/clients/scoreboard"
	"github.com/cantledb/cantle/compat-tests/rig/harness"
	"github.com/cantledb/cantle/internal/testenv"
)

// scoreboardHead begins a scoreboard.
const scoreboardHead = `# The Go driver's tests for servers: what passed, what failed, and what the driver's
# runner skipped (other topologies and versions, operations the driver lacks). See doc.go.
`

// suitesAtOnce is the number of suites of the driver's tests that run at the same time. They wait most of the time.
const suitesAtOnce = "6"

// triesMax is the number of repetitions of a failed test of the driver. Some tests allow an operation 50 ms by the
// client's clock, connecting included, which a busy machine may exceed.
const triesMax = 3

func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", suitesAtOnce); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// TestDriverSpecs runs the Go driver's own tests in each topology, and compares the results with the topology's
// scoreboard.
func TestDriverSpecs(t *testing.T) {
	testenv.SkipWithURI(t)
	dir := fetch(t)
	programs := map[string]string{unified: compile(t, dir, unified), integration: compile(t, dir, integration)}
	for i := range topologies {
		top := &topologies[i]
		t.Run(top.name, func(t *testing.T) {
			t.Parallel()
			score := scoreboard.Begin(t, top.board)
			var names []string
			t.Run("suites", func(t *testing.T) {
				for _, s := range suites {
					if !top.has(s) {
						continue
					}
					names = append(names, s.name)
					t.Run(s.name, func(t *testing.T) {
						t.Parallel()
						s.judge(t, top, dir, programs[s.pkg], score)
					})
				}
			})
			score.End(t, scoreboardHead, names, suiteOf)
		})
	}
}

// judge runs a suite against a server of its own.
func (s suite) judge(t *testing.T, top *topology, dir, program string, score *scoreboard.Scoring) {
	server := harness.Start(t, harness.Options{Args: scoreboard.ServerArgs(slices.Concat(top.args, []string{"--enable-test-commands"})...), Servers: top.servers})
	uri := top.uri(t, server)
	env := []string{"MONGODB_URI=" + uri}
	if top.all != nil {
		env = append(env, "SINGLE_MONGOS_LB_URI="+uri, "MULTI_MONGOS_LB_URI="+top.all(t, server))
	}
	ask := func(ctx context.Context, only string) (results map[string]scoreboard.Result, err error) {
		for range 1 + triesMax {
			if results, err = s.run(ctx, top, dir, program, env, only); !errors.Is(err, errNotBegun) {
				break
			}
			t.Log(err)
		}
		return results, err
	}
	score.Take(t, s.name, s.test, score.Results(t, ask, triesMax))
}
