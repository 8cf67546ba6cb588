package status

import (
	"github.com/cantledb/cantle/wire/command"
)

// runPing succeeds, unless the store is remote and does not answer, so that a client can check whether
// commands would succeed. Manual: reference/command/ping.
// Errors: storage.ErrUnavailable.
func runPing(c *command.Call) error {
	if err := c.NoArguments(); err != nil {
		return err
	}
	if remote := c.Cluster.Remote(); remote != nil {
		return remote.CheckReachable()
	}
	return nil
}
