package main

import (
	"fmt"
	"slices"

	"github.com/cantledb/cantle/internal/testenv"
)

// clusterRun is suites over a simulated TiKV cluster: see compat-tests/rig/harness/cluster.go.
type clusterRun struct {
	storage string   // CANTLE_STORAGE
	suites  []string // under compat-tests
	flags   []string // of go test
	env     []string // what it sets besides
}

// clusterSuites are those that ask servers what clients may expect of any engine.
var clusterSuites = []string{"cases", "driver", "isolation", "differential"}

// clusterShare is what a run does that has the step without --long: where everything goes wrong, the tests of each
// suite that take some seconds there. Each run has the case files on a cluster in the server's process,
// and several servers over one, in the step end, and the tests of the engine in the step unit.
var clusterShare = []clusterRun{
	{"tikv-faults", []string{"driver"}, []string{"-run", "Watch|Transactions|Retry|Bulk|Cursor", "-skip", "SplitEvent|Lifetime|TestBulkWrite"}, nil},
	{"tikv-faults", []string{"isolation"}, []string{"-run", "Anomalies|Counts|Kills"}, nil},
	{"tikv-faults", []string{"differential"}, []string{"-run", "Metamorphic|Fields"}, []string{"CANTLE_SEED=1"}},
	{"tikv-faults", []string{"crash"}, []string{"-run", "KillDuringWrites|Retry"}, []string{testenv.SetPart("1/25")}},
	{"tikv-faults", []string{"cases"}, []string{"-run", "TestCases/memory/(crud|session)"}, nil},
}

// severalShare is what both do at three servers over one cluster in their process, which the client
// has in one connection string. Left out is what speaks to one server of its own, and what many writers do
// to few documents: at several servers they wait for each other by turns of a tenth of a second.
var severalShare = []clusterRun{
	{"mock-3", []string{"isolation"}, []string{"-run", "Anomalies|Bank|Append|Registers|Counts"}, nil},
	{"mock-3", []string{"differential"}, []string{"-run", "Metamorphic|Fields"}, []string{"CANTLE_SEED=1"}},
	{"mock-3", []string{"driver"}, []string{"-run", "Watch|Transactions|Retry|Bulk|Cursor", "-skip", "Split|Lifetime|TestBulkWrite"}, nil},
}

// halfOfIt is the half of the amount of a row of the fault programme.
var halfOfIt = []string{testenv.SetPart("1/2")}

// clusterAll is what a long run does.
var clusterAll = []clusterRun{
	{"mock", clusterSuites, nil, nil},
	{"mock", []string{"crash"}, nil, halfOfIt},
	{"tikv", clusterSuites, nil, nil},
	{"tikv", []string{"crash"}, nil, halfOfIt},
	{"tikv-faults", clusterSuites, nil, nil},
	{"tikv-faults", []string{"crash"}, nil, halfOfIt},
	{"mock-3", []string{"mongosh"}, []string{"-run", "Scripts/shell[24]$"}, nil}, // sharding, shard keys changed under writers
}

// cluster runs suites over simulated clusters, and servers as processes over one.
func (r *run) cluster() error {
	runs := clusterShare
	if r.speed == night {
		runs = clusterAll
	}
	env := slices.Clone(r.env)
	r.useLength()
	if err := r.testPackages(among(clusterProcesses...), nil); err != nil {
		return err
	}
	r.env = env
	defer func() { r.env = env }()
	for _, c := range append(runs[:len(runs):len(runs)], severalShare...) {
		fmt.Fprintf(r.out, "--- CANTLE_STORAGE=%s\n", c.storage)
		r.env = append(append(env[:len(env):len(env)], "CANTLE_STORAGE="+c.storage), c.env...)
		if err := r.testPackages(among(c.suites...), append([]string{"-count=1"}, c.flags...)); err != nil {
			return fmt.Errorf("over %s: %w", c.storage, err)
		}
	}
	return nil
}
