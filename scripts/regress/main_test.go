package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestParse(t *testing.T) {
	f := parse("goos: linux\nBenchmarkInsert/durable-2 \t 2000\t 3120 ns/op\t 1.5 MB/s\t 412 B/op\t 7 allocs/op\nPASS\n")
	if len(f) != 2 || f["BenchmarkInsert/durable-2 B/op"] != 412 || f["BenchmarkInsert/durable-2 allocs/op"] != 7 {
		t.Errorf("%v", f)
	}
}

func TestInstructions(t *testing.T) {
	for text, want := range map[string]float64{"": 0, "<not supported>,,instructions:u,0,100.00,,\n": 0, "# started\n\n81234,,instructions:u,0,100.00,,\n": 81234} {
		path := filepath.Join(t.TempDir(), "counts")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if n, ok := instructions(path); n != want || ok != (want > 0) {
			t.Errorf("%q: %v %v", text, n, ok)
		}
	}
}

func TestWorse(t *testing.T) {
	old := figures{"a allocs/op": 10, "b allocs/op": 10, "c B/op": 100, "d B/op": 10000, "gone B/op": 1, "instructions": 1000, cpuSeconds: 1}
	now := figures{"a allocs/op": 12, "b allocs/op": 10, "c B/op": 160, "d B/op": 10600, "new B/op": 9, "instructions": 1051, cpuSeconds: 2}
	want := []string{"CPU seconds: 2, was 1 (not judged)", "a allocs/op: 12, was 10", "d B/op: 10600, was 10000", "instructions: 1051, was 1000"}
	if got := now.worse(old, 5, true); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	delete(now, "instructions")
	if got := now.worse(old, 5, true); got[0] != "CPU seconds: 2, was 1" {
		t.Errorf("where nothing is counted, CPU is not judged: %q", got)
	}
	least := figures{"x": 3}
	least.takeLeast(figures{"x": 2, "y": 5})
	least.takeLeast(figures{"x": 4})
	if least["x"] != 2 || least["y"] != 5 {
		t.Errorf("%v", least)
	}
}
