package status

import (
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/wire/command"
)

// runPing answers, unless the data are kept elsewhere and that does not answer: who asks wants
// to know whether commands would be of use. Manual: reference/command/ping.
// Errors: storage.ErrUnavailable.
func runPing(c *command.Call) error {
	if err := c.NoArguments(); err != nil {
		return err
	}
	if remote, ok := c.Cluster.Store.(storage.Remote); ok {
		return remote.Away()
	}
	return nil
}
