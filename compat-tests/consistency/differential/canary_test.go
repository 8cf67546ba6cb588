package differential

import (
	"testing"

	"github.com/cantledb/cantle/compat-tests/rig/harness"
)

// planted lists the bugs that TestWays must find within its time limit if they are planted in a server: bugs that
// the server had earlier, and similar ones.
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

// TestCanaries checks that TestWays fails on a server with one of the planted bugs.
func TestCanaries(t *testing.T) {
	for _, bug := range planted {
		t.Run(bug, func(t *testing.T) { harness.Caught(t, bug, "TestWays", "CANTLE_SEED=") })
	}
}

// TestCanary checks that TestMetamorphic fails on a server with a planted bug: it merges the results of partitions
// by only the first bytes of the sort keys.
func TestCanary(t *testing.T) {
	harness.Caught(t, "ties in disorder", "TestMetamorphic", "(- model, + ")
}
