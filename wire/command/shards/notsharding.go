package shards

import (
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/wire/command"
)

// runNotSharding answers commands that add or remove shard servers, which do not exist here.
func runNotSharding(c *command.Call) error {
	return mongoerr.New(mongoerr.CommandNotSupported, "%s is not supported: all partitions lie on this server", c.Name())
}
