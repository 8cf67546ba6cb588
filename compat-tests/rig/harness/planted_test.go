package harness

import "testing"

// TestBugsCanBePlanted checks that the text that each planted bug replaces still occurs once in its file. Without
// this test, a change of that file would fail only the nightly run of the canaries.
func TestBugsCanBePlanted(t *testing.T) {
	root, err := Root()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := plant(root, t.TempDir()); err != nil {
		t.Error(err)
	}
}
