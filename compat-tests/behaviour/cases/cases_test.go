package cases

import (
	"flag"
	"strings"
	"testing"

	"github.com/cantledb/cantle/compat-tests/rig/harness"
	"github.com/cantledb/cantle/internal/casefile"
	"github.com/cantledb/cantle/internal/testenv"
)

// reference is the configuration whose output -rewrite stores.
const reference = "memory"

func TestCases(t *testing.T) {
	configs, err := harness.ReadConfigs("../configs")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range configs {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			if casefile.Rewriting() && c.Name != reference {
				t.Skip("only the configuration " + reference + " rewrites")
			}
			if (c.Faults || c.Cluster || c.Servers > 0) && testenv.Storage() != "" {
				t.Skip("CANTLE_STORAGE is set, and this configuration has an engine of its own")
			}
			if c.Faults {
				f := &faulty{}
				c.Launch = f.launch
				defer f.struck(t)
			}
			if c.Cluster {
				c.Launch = launchOnCluster
			}
			if c.Servers > 0 {
				c.Launch = func(o harness.Options) (*harness.Server, error) { return launchSeveral(o, c.Servers) }
			}
			harness.RunCases(t, ".", c)
			if c.InTxn && all() && c.Held < 200 {
				t.Errorf("%d commands were in transactions, want 200 at least", c.Held)
			}
		})
	}
}

// all reports whether this run has all case files, on servers of its own: only then can the numbers of injected
// faults be judged.
func all() bool {
	some := strings.Count(flag.Lookup("test.run").Value.String(), "/") > 1 // -run TestCases/faults/crud
	return !some && testenv.URI() == ""
}
