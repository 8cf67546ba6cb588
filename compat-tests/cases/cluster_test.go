package cases

import (
	"github.com/cantledb/cantle/compat-tests/harness"
	"github.com/cantledb/cantle/compat-tests/tikvfake/within"
)

// launchOnCluster is a harness.Config.Launch: a server in this process whose store is in a
// simulated TiKV cluster of its own.
func launchOnCluster(o harness.Options) (*harness.Server, error) { return hosted(o, within.Instead) }
