package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestScores checks that the scoreboard has the least of the rounds, its multiple of the stub, and columns of
// other servers.
func TestScores(t *testing.T) {
	row := func(target, workload string, clients int, micros float64) result {
		return result{Target: target, Workload: workload, Clients: clients, ServerMicros: micros}
	}
	rows := leastOf([][]result{
		{row("stub", "C", 16, 10), row("cantle", "C", 16, 26), row("cantle", "transaction", 16, 60), row("cantle", "count", 1, 52)},
		{row("stub", "C", 16, 8), row("cantle", "C", 16, 16), row("cantle", "durable-insert", 16, 40), row("cantle", "count", 1, 0), row("floor", "C", 16, 10)},
	})
	path := filepath.Join(t.TempDir(), "mongo-8.json")
	if err := save(path, []result{row("cantle", "C", 16, 99)}); err != nil {
		t.Fatal(err)
	}
	beside, err := othersIn(path)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	writeScores(&out, settings{documents: 7}, rows, beside)
	for _, want := range []string{
		"| operation | clients | Cantle | stub | multiple | goal | floor | of the floor | mongo-8 |",
		"| C: point reads | 16 | 16.0 µs | 8.0 µs | 2.00 | 1.3 | 10.0 µs | 1.60 | 99.0 µs |",
		"| transaction of two inserts, in inserts | 16 | 60.0 µs |  | 1.50 | 1.6 |  |  | - |",
		"| count of all | 1 | 0.05 ms |  |  | 3 ms |  |  | - |",
		"| durable update | 64 | - |  |  |  |  |  | - |",
	} {
		if !strings.Contains(out.String(), want+"\n") {
			t.Errorf("%q is missing in\n%s", want, &out)
		}
	}
	if _, err := othersIn(filepath.Join(t.TempDir(), "none.json")); !os.IsNotExist(err) {
		t.Error(err)
	}
}

// TestScoresAreMeasured checks that each row of the scoreboard is a workload that runs with that number of
// clients.
func TestScoresAreMeasured(t *testing.T) {
	for _, s := range scores {
		found := s.workload == "load"
		for _, w := range workloads {
			for _, n := range w.clients {
				found = found || w.name == s.workload && n == s.clients
			}
		}
		if !found {
			t.Errorf("nobody measures %+v", s)
		}
	}
}
