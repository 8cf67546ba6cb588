package shards

import (
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/wire/command"
)

// runNotSharding refuses the commands that add or remove shard servers, because such servers do not exist here.
func runNotSharding(c *command.Call) error {
	return mongoerr.New(mongoerr.CommandNotSupported, "%s is not supported: all partitions lie on this server", c.Name())
}
