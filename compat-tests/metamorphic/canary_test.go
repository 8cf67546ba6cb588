package metamorphic

import (
	"testing"

	"github.com/cantledb/cantle/compat-tests/harness"
)

// TestCanary: a server that looks at the first bytes of sort keys only where it merges what
// partitions have found.
func TestCanary(t *testing.T) {
	harness.Caught(t, "ties in disorder", "TestMetamorphic", "(- model, + ")
}
