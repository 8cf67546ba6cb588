package gateway

import (
	"testing"

	"github.com/cantledb/cantle/compat-tests/harness"
)

// TestCanary: a server that acknowledges one commit in a hundred without making it.
func TestCanary(t *testing.T) {
	harness.Caught(t, "commits are forgotten", "TestKill", "acknowledged")
}
