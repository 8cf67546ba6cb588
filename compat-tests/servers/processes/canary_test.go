package processes

import (
	"testing"

	"github.com/cantledb/cantle/compat-tests/rig/harness"
)

// TestCanary plants two bugs: a server acknowledges one in 97 commits with log records without making it; and servers
// do not wait for each other when they change the catalog, as if there were no leases.
func TestCanary(t *testing.T) {
	t.Run("commits", func(t *testing.T) { harness.Caught(t, "commits are forgotten", "TestKill", "acknowledged") })
	t.Run("leases", func(t *testing.T) {
		harness.Caught(t, "nobody is waited for", "TestChaos", "acknowledged documents", "by the index", "by a count", "validate of", "the change stream", "do not agree", "the bank has")
	})
}
