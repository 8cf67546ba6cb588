package main

import (
	"fmt"
	"slices"

	"github.com/cantledb/cantle/internal/testenv"
)

// clusterRun describes a run of test suites over a simulated TiKV cluster: see compat-tests/rig/harness/cluster.go.
type clusterRun struct {
	storage string   // CANTLE_STORAGE
	suites  []string // under compat-tests
	flags   []string // of go test
	env     []string // further variables
}

// clusterSuites are the test suites whose results must not depend on the storage engine.
var clusterSuites = []string{"cases", "driver", "isolation", "differential"}

// clusterShare lists the runs of the step cluster without --long: on a cluster with random failures, those tests of
// each suite that take some seconds there. The steps end and unit cover the rest in each run: end has the case files
// on a cluster in the server's process and several servers over one cluster, unit has the tests of the engine.
var clusterShare = []clusterRun{
	{"tikv-faults", []string{"driver"}, []string{"-run", "Watch|Transactions|Retry|Bulk|Cursor", "-skip", "SplitEvent|Lifetime|TestBulkWrite"}, nil},
	{"tikv-faults", []string{"isolation"}, []string{"-run", "Anomalies|Counts|Kills"}, nil},
	{"tikv-faults", []string{"differential"}, []string{"-run", "Metamorphic|Fields"}, []string{"CANTLE_SEED=1"}},
	{"tikv-faults", []string{"crash"}, []string{"-run", "KillDuringWrites|Retry"}, []string{testenv.SetPart("1/25")}},
	{"tikv-faults", []string{"cases"}, []string{"-run", "TestCases/memory/(crud|session)"}, nil},
}

// severalShare lists runs of the step cluster, with and without --long, at three servers over one cluster in their
// process; the client has all three in one connection string. It omits tests that connect to one server of their own,
// and tests with many writers of few documents: at several servers each of these waits a tenth of a second for another
// one.
var severalShare = []clusterRun{
	{"mock-3", []string{"isolation"}, []string{"-run", "Anomalies|Bank|Append|Registers|Counts"}, nil},
	{"mock-3", []string{"differential"}, []string{"-run", "Metamorphic|Fields"}, []string{"CANTLE_SEED=1"}},
	{"mock-3", []string{"driver"}, []string{"-run", "Watch|Transactions|Retry|Bulk|Cursor", "-skip", "Split|Lifetime|TestBulkWrite"}, nil},
}

// halfOfIt is the environment variable by which a suite runs half of the amount that its row of the fault programme
// has.
var halfOfIt = []string{testenv.SetPart("1/2")}

// clusterAll is the share of a long run.
var clusterAll = []clusterRun{
	{"mock", clusterSuites, nil, nil},
	{"mock", []string{"crash"}, nil, halfOfIt},
	{"tikv", clusterSuites, nil, nil},
	{"tikv", []string{"crash"}, nil, halfOfIt},
	{"tikv-faults", clusterSuites, nil, nil},
	{"tikv-faults", []string{"crash"}, nil, halfOfIt},
	{"mock-3", []string{"mongosh"}, []string{"-run", "Scripts/shell[24]$"}, nil}, // sharding, shard keys changed under writers
}

// cluster is the step that runs test suites over simulated TiKV clusters, and servers as processes over one such
// cluster.
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
