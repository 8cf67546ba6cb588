package upgrade

import (
	"testing"

	"github.com/cantledb/cantle/compat-tests/rig/harness"
)

// TestCanary: a server that forgets a part of what the catalog has, one that opens
// whatever there is, and one that reads entries of indexes as if it had made them.
func TestCanary(t *testing.T) {
	harness.Caught(t, "validators are forgotten", "TestReleased", "the validator takes what it should not")
	harness.Caught(t, "every index is of this version", "TestHistory", "the word")
	harness.Caught(t, "every format is known", "TestNewer", "it was opened")
}
