package upgrade

import (
	"testing"

	"github.com/cantledb/cantle/compat-tests/rig/harness"
)

// TestCanary plants three bugs, which the tests of this package must find: a server that loses a part of the
// catalog, one that opens folders of any format, and one that reads index entries of older versions as its own.
func TestCanary(t *testing.T) {
	harness.Caught(t, "validators are forgotten", "TestReleased", "the validator takes what it should not")
	harness.Caught(t, "every index is of this version", "TestHistory", "the word")
	harness.Caught(t, "every format is known", "TestNewer", "it was opened")
}
