package upgrade

import (
	"testing"

	"github.com/cantledb/cantle/compat-tests/harness"
)

// TestCanary: a server that forgets a part of what the catalog has, and one that opens
// whatever there is.
func TestCanary(t *testing.T) {
	harness.Caught(t, "validators are forgotten", "TestReleased", "the validator takes what it should not")
	harness.Caught(t, "every format is known", "TestNewer", "it was opened")
}
