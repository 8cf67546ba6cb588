package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/cantledb/cantle/compat-tests/rig/harness"
)

// TestMain lets the test binary run as the stub or as a noise process, as the program itself can.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "serve" {
		if err := serveStub(); err != nil {
			panic(err)
		}
		return
	}
	if len(os.Args) == 4 && os.Args[1] == pressCommand {
		if err := serveNoise(os.Args[2], os.Args[3]); err != nil {
			panic(err)
		}
		return
	}
	os.Exit(m.Run())
}

// TestWorkloadsAgainstStub runs the workloads that the stub has in a run without --ratio against the stub, and
// checks that the numbers are plausible.
func TestWorkloadsAgainstStub(t *testing.T) {
	s := settings{documents: 2000, seconds: 0.05}
	var rows []result
	err := measureTarget(context.Background(), s, "stub", os.Args[0], harness.Options{}, func(r result) { rows = append(rows, r) })
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != 11 {
		t.Errorf("%d rows, want the load and five workloads with two numbers of clients", len(rows))
	}
	for _, r := range rows {
		if r.Operations == 0 || r.PerSecond <= 0 || r.P50Micros <= 0 || r.P99Micros < r.P50Micros {
			t.Errorf("implausible: %+v", r)
		}
	}
}

// The load and seven workloads run against the floor, the stub with a store, which then has the documents.
func TestWorkloadsOnFloor(t *testing.T) {
	s := settings{documents: 2000, seconds: 0.05, ratio: true}
	o := harness.Options{Data: t.TempDir(), Args: []string{floorFlag}}
	var rows []result
	if err := measureTarget(t.Context(), s, floorName, os.Args[0], o, func(r result) { rows = append(rows, r) }); err != nil {
		t.Fatal(err)
	}
	if len(rows) != 9 {
		t.Errorf("%d rows, want the load and seven workloads, one of them with two numbers of clients", len(rows))
	}
	f, err := openFloor(o.Data)
	if err != nil {
		t.Fatal(err)
	}
	defer f.store.Close()
	r, err := f.store.Snapshot(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if doc, err := r.Get(t.Context(), rowKey("usertable", 1999), nil); err != nil || len(doc) < 1000 {
		t.Errorf("a document of %d bytes: %v", len(doc), err)
	}
}

// TestLatency runs the mixed load beside each kind of long work, and checks that every kind of operation is
// in the table.
func TestLatency(t *testing.T) {
	binary, err := harness.Build("")
	if err != nil {
		t.Fatal(err)
	}
	server, err := harness.LaunchBinary(binary, harness.Options{Args: []string{"--memory"}})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Kill()
	r, err := newRunner(t.Context(), settings{documents: 2000, seconds: 0.5, shards: 2}, cantleName, server.URI, server.PID())
	if err != nil {
		t.Fatal(err)
	}
	defer r.close()
	var out strings.Builder
	if err := r.measureLatency(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	for _, c := range companies {
		if !strings.Contains(out.String(), c.name) {
			t.Errorf("nothing is said of %s:\n%s", c.name, &out)
		}
	}
	for _, kind := range mixedKinds {
		if n := strings.Count(out.String(), " "+kind.name+" "); n != len(companies) {
			t.Errorf("%s is there %d times, want once beside each of %d:\n%s", kind.name, n, len(companies), &out)
		}
	}
	if !strings.Contains(out.String(), "█") {
		t.Errorf("no histogram:\n%s", &out)
	}
}

// The shares of operations that are drawn are those of mixedKinds.
func TestMixedKinds(t *testing.T) {
	counts := make([]int, len(mixedKinds))
	for dice := range 100 {
		counts[kindOf(dice)]++
	}
	for i, kind := range mixedKinds {
		if counts[i] != kind.part {
			t.Errorf("%s is drawn %d times of a hundred, want %d", kind.name, counts[i], kind.part)
		}
	}
}

// TestProvisioned checks that two measurements of provisioned throughput run to their end: that of the quiet neighbour
// and that of metering.
func TestProvisioned(t *testing.T) {
	binary, err := harness.Build("")
	if err != nil {
		t.Fatal(err)
	}
	err = withLaunched(binary, []string{"--memory", "--enable-test-commands"}, func(s *harness.Server, m *mongo.Client) error {
		return errors.Join(measureNeighbour(t.Context(), s, m, 1), measureMetering(t.Context(), s, m, 1))
	})
	if err != nil {
		t.Error(err)
	}
}

func TestCompare(t *testing.T) {
	path := filepath.Join(t.TempDir(), "old.json")
	row := result{Target: "cantle", Workload: "C", Clients: 1, PerSecond: 100, P50Micros: 10, P99Micros: 20}
	if err := save(path, []result{row}); err != nil {
		t.Fatal(err)
	}
	row.PerSecond, row.P50Micros = 150, 9
	var out strings.Builder
	if err := compare(&out, path, []result{row, {Target: "cantle", Workload: "new"}}); err != nil {
		t.Fatal(err)
	}
	if text := out.String(); !strings.Contains(text, "+50.0%") || !strings.Contains(text, "-10.0%") || strings.Contains(text, "new") {
		t.Errorf("comparison:\n%s", text)
	}
}
