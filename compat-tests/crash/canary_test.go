package crash

import (
	"testing"

	"github.com/cantledb/cantle/compat-tests/harness"
)

// TestCanary: a server that keeps its log in its memory loses what it acknowledged, which the
// models know, or it says itself that its log is shorter than it was.
func TestCanary(t *testing.T) {
	harness.Caught(t, "log in memory", "TestKillDuringWrites", "acknowledged was", "are damaged")
}
