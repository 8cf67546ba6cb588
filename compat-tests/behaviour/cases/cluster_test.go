package cases

import (
	"context"
	"io"
	"strings"

	"github.com/cantledb/cantle/compat-tests/rig/harness"
	"github.com/cantledb/cantle/compat-tests/rig/within"
)

// launchOnCluster is the function Launch of a configuration: it starts a server in this process whose store is in a
// simulated TiKV cluster of its own.
func launchOnCluster(o harness.Options) (*harness.Server, error) { return hosted(o, within.Instead) }

// launchSeveral starts n servers in this process that share one simulated TiKV cluster.
func launchSeveral(o harness.Options, n int) (*harness.Server, error) {
	var several *within.Several
	s, err := harness.Hosted(func(out io.Writer) (uri string, stop func() error, err error) {
		args := append([]string{"--listen", "127.0.0.1:0", "--memory"}, o.Args...)
		if several, err = within.Start(context.Background(), n, args, nil, out); err != nil {
			return "", nil, err
		}
		return several.Servers()[0].URI(), several.Stop, nil
	})
	if err != nil {
		return nil, err
	}
	for _, d := range several.Servers()[1:] {
		s.Peers = append(s.Peers, strings.TrimSuffix(strings.TrimPrefix(d.URI(), "mongodb://"), "/"))
	}
	return s, nil
}
