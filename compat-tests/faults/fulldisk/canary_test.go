package fulldisk

import (
	"testing"

	"github.com/cantledb/cantle/compat-tests/rig/harness"
)

// TestCanary checks that the tests of this package find a server with a planted bug: it ignores a full disk.
func TestCanary(t *testing.T) {
	newVolume(t, 16, false) // skips the test on systems without small volumes
	harness.Caught(t, "a full disk is overlooked", "TestFull", "on a full disk", "after there was something to let go", "that fills the disk", "deadline")
}
