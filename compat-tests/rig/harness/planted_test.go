package harness

import "testing"

// TestBugsCanBePlanted checks that the text of each planted bug still occurs once in its file, so that a change of that
// file changes the bug too and not only the nightly run of the canaries finds out.
func TestBugsCanBePlanted(t *testing.T) {
	root, err := Root()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := plant(root, t.TempDir()); err != nil {
		t.Error(err)
	}
}
