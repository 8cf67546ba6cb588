package crash

import (
	"testing"

	"github.com/cantledb/cantle/compat-tests/rig/harness"
	"github.com/cantledb/cantle/internal/testenv"
)

// TestCanary: a server that keeps its log in its memory loses what it acknowledged, which the
// models know, or it says itself that its log is shorter than it was.
func TestCanary(t *testing.T) {
	if testenv.Storage() != "" {
		t.Skip("the bug is in the log of Pebble, which data in a cluster do not use")
	}
	harness.Caught(t, "log in memory", "TestKillDuringWrites", "acknowledged was", "are damaged")
}
