package crash

import (
	"testing"

	"github.com/cantledb/cantle/compat-tests/rig/harness"
	"github.com/cantledb/cantle/internal/testenv"
)

// TestCanary checks that the tests find a planted bug, a server that keeps its log in memory: either the models
// detect lost writes, or the server itself reports that its log is shorter than it was.
func TestCanary(t *testing.T) {
	if testenv.Storage() != "" {
		t.Skip("the bug is in the log of Pebble, which data in a cluster do not use")
	}
	harness.Caught(t, "log in memory", "TestKillDuringWrites", "acknowledged was", "are damaged")
}
