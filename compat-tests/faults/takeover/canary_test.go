package takeover

import (
	"testing"

	"github.com/cantledb/cantle/compat-tests/rig/harness"
)

// TestCanary checks that the drill finds a server that shows moments as covered which are not.
func TestCanary(t *testing.T) {
	harness.Caught(t, "covered too early", "TestBurnedDown", "although moments up to")
}
