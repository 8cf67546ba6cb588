package status

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/wire/command"
)

// runLockInfo lists the locks that are held, of which there are none.
// Manual: reference/command/lockInfo.
func runLockInfo(c *command.Call) error {
	err := c.Each(func(name string, v bson.Value) (bool, error) { return name == "includeStorageEngineDump", nil })
	if err == nil {
		emptyArray(c.Reply, "lockInfo")
	}
	return err
}
