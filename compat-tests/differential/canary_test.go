package differential

import (
	"testing"

	"github.com/cantledb/cantle/compat-tests/harness"
)

// planted are bugs that TestWays has to find within its time: faults that a server once had, and
// their like.
var planted = []string{
	"a plan is trusted too early",
	"places stay when writes move them",
	"cursors see later writes",
	"joins take arrays apart",
	"arrays in arrays have keys of their own",
	"positions have the bounds of elements",
	"fields without a name have no keys",
	"sort keys stay behind",
	"the end is within",
	"merged fields are sorted",
}

// TestCanaries: a server with one of them is found out.
func TestCanaries(t *testing.T) {
	for _, bug := range planted {
		t.Run(bug, func(t *testing.T) { harness.Caught(t, bug, "TestWays", "CANTLE_SEED=") })
	}
}

// TestCanary: a server that looks at the first bytes of sort keys only where it merges what
// partitions have found.
func TestCanary(t *testing.T) {
	harness.Caught(t, "ties in disorder", "TestMetamorphic", "(- model, + ")
}
