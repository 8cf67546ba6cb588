package main

import (
	"slices"
	"testing"
)

// The night has all rows, and some can be run alone.
func TestSoaked(t *testing.T) {
	all, _, err := soaked("")
	for _, want := range []string{"compat-tests/consistency/simulation", "compat-tests/faults/backup", "compat-tests/faults/memory", "compat-tests/faults/damage"} {
		if err != nil || !slices.Contains(all, want) {
			t.Errorf("no %s in %v, %v", want, all, err)
		}
	}
	packages, tests, err := soaked("kill,bit-flip")
	if err != nil || !slices.Equal(packages, []string{"compat-tests/faults/crash", "compat-tests/faults/damage", "compat-tests/faults/spill"}) || !slices.Contains(tests, "TestRandomDamage") || slices.Contains(tests, "TestSeeds") {
		t.Errorf("%v, %v, %v", packages, tests, err)
	}
	if _, _, err := soaked("no such row"); err == nil {
		t.Error("an unknown row is taken")
	}
}
