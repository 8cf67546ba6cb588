package main

import "testing"

// The copy is that of the version that go.mod names.
func TestUpToDate(t *testing.T) {
	if err := run("../..", true); err != nil {
		t.Error(err)
	}
}
