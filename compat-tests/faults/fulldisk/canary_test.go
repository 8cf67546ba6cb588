package fulldisk

import (
	"testing"

	"github.com/cantledb/cantle/compat-tests/rig/harness"
)

// TestCanary lets a server overlook that its disk is full, and wants the test to find that out.
func TestCanary(t *testing.T) {
	newVolume(t, 16, false) // skips where there is none
	harness.Caught(t, "a full disk is overlooked", "TestFull", "on a full disk", "after there was something to let go", "that fills the disk", "deadline")
}
