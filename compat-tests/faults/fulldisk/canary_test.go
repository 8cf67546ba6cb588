package fulldisk

import (
	"testing"

	"github.com/cantledb/cantle/compat-tests/rig/harness"
)

// TestCanary checks that the tests find a server that ignores a full disk.
func TestCanary(t *testing.T) {
	newVolume(t, 16, false) // skips where volumes are not supported
	harness.Caught(t, "a full disk is overlooked", "TestFull", "on a full disk", "after there was something to let go", "that fills the disk", "deadline")
}
