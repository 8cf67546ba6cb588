package shards

import (
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/wire/command"
)

// runFlushRouterConfig only checks the argument of flushRouterConfig, if it is the name of a database or collection.
// There is nothing to flush, because commands are routed by the catalog itself and no routing table is cached.
// Manual: reference/command/flushRouterConfig.
func runFlushRouterConfig(c *command.Call) error {
	if name, ok := c.Value.Str(); ok {
		if err := collection.CheckDatabaseName(collection.ParseNamespace(name).DB); err != nil {
			return err
		}
	}
	if err := c.NoArguments(); err != nil {
		return err
	}
	c.Reply.Bool("flushed", true)
	return nil
}
