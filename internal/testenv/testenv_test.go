package testenv

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestAgain checks that Arguments returns the arguments in the process that Again starts, and only there.
func TestAgain(t *testing.T) {
	if args, ok := Arguments(t); ok {
		fmt.Printf("given %q\n", args)
		return
	}
	out, err := Again(t, "a b", "").CombinedOutput()
	if err != nil || !strings.Contains(string(out), `given ["a b" ""]`) {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestVariables checks that the table of environment variables is sorted, and that no field of a row is empty.
func TestVariables(t *testing.T) {
	if !slices.IsSortedFunc(Variables, func(a, b Variable) int { return strings.Compare(a.Name, b.Name) }) {
		t.Error("the table is not in order")
	}
	for _, v := range Variables {
		if !strings.HasPrefix(v.Name, "CANTLE_") || v.Values == "" || v.Default == "" || v.Purpose == "" {
			t.Errorf("%+v lacks something", v)
		}
	}
}

func TestSeed(t *testing.T) {
	t.Setenv(seed, "")
	if _, ok := Seed(t); ok {
		t.Error("no seed was named")
	}
	t.Setenv(seed, "7")
	if n, ok := Seed(t); n != 7 || !ok {
		t.Errorf("%d, %v", n, ok)
	}
}

func TestLengths(t *testing.T) {
	for text, want := range map[string][2]bool{Run: {false, false}, Long: {true, false}, Nightly: {true, true}, Release: {true, true}} {
		t.Setenv(length, text)
		if got := [2]bool{IsLong(), IsNightly()}; got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}
