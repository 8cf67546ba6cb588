package status

import (
	"github.com/cantledb/cantle/wire/command"
)

// runPing replies without an error, unless the store is remote and does not answer: then other commands would fail
// too. So clients can check the server. Manual: reference/command/ping.
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
