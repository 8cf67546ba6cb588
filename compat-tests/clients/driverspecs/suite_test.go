package driverspecs

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestSkip checks the pattern by which the left-out tests are given to go test -skip, and that each has a reason.
func TestSkip(t *testing.T) {
	top := topology{leftOut: map[string]string{"TestA/x.json/a_b": "why"}}
	if got, want := top.skip(), `^TestA$/^x\.json$/^a_b$`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	for i := range topologies {
		for name, why := range topologies[i].leftOut {
			if why == "" || !strings.HasPrefix(name, "Test") {
				t.Errorf("%s: %q", name, why)
			}
		}
	}
}

// TestNotBegun checks that a test program that fails in its preparations is distinguished from one that fails in a
// test.
func TestNotBegun(t *testing.T) {
	const stack = "panic: no\n\ngoroutine 1 [running]:\ndriver/unified.TestMain(0x12ac4c534140)\n"
	for name, tc := range map[string]struct {
		out  string
		want bool
	}{
		"in the preparations": {stack, true},
		"in a test":           {"=== RUN   TestA\npanic: no\n\ngoroutine 1 [running]:\ndriver/unified.TestA(0x1)\n", false},
		"after the tests":     {"=== RUN   TestA\n--- PASS: TestA (0.1s)\n" + stack, false},
	} {
		t.Run(name, func(t *testing.T) {
			dir, s := t.TempDir(), suite{name: "a", pkg: "."}
			program := filepath.Join(dir, "program")
			if err := os.WriteFile(program, []byte("#!/bin/sh\ncat <<'end'\n"+tc.out+"end\n"), 0o700); err != nil {
				t.Fatal(err)
			}
			_, err := s.run(t.Context(), &topology{}, dir, program, nil, "")
			if err == nil || errors.Is(err, errNotBegun) != tc.want {
				t.Errorf("got %v", err)
			}
		})
	}
}

// TestParse checks the results that parse reads from the output of a test program.
func TestParse(t *testing.T) {
	for name, tc := range map[string]struct{ out, want, trouble string }{
		"leaves": {"=== RUN   TestA\n=== RUN   TestA/dir/sub\n=== RUN   TestA/dir/sub/x\n    a_test.go:1: why\n" +
			"--- FAIL: TestA (0.1s)\n    --- FAIL: TestA/dir/sub (0.1s)\n        --- FAIL: TestA/dir/sub/x (0.0s)\n        --- SKIP: TestA/dir/sub/y (0.0s)\nFAIL\n",
			"TestA/dir/sub/x FAIL, TestA/dir/sub/y SKIP", ""},
		"a parent that fails alone": {"--- FAIL: TestA (0.1s)\n    --- PASS: TestA/x (0.0s)\n", "TestA FAIL, TestA/x PASS", ""},
		"a leaf by itself":          {"=== RUN   TestA\n--- PASS: TestA (0.1s)\nPASS\n", "TestA PASS", ""},
		"a crash":                   {"=== RUN   TestA\n=== RUN   TestA/x\npanic: boom\n\ngoroutine 1\n", "", "panic: boom\nin TestA/x"},
	} {
		t.Run(name, func(t *testing.T) {
			got, trouble := parse(strings.NewReader(tc.out))
			var all []string
			for _, name := range slices.Sorted(maps.Keys(got)) {
				all = append(all, name+" "+got[name].Outcome)
			}
			if s := strings.Join(all, ", "); s != tc.want || !strings.HasPrefix(trouble, tc.trouble) || (trouble == "") != (tc.trouble == "") {
				t.Errorf("got %s, trouble %q; want %s, trouble %q", s, trouble, tc.want, tc.trouble)
			}
		})
	}
}
