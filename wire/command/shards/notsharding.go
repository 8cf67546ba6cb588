package shards

import (
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/wire/command"
)

// runNotSharding answers commands about several servers, which there are none of.
func runNotSharding(c *command.Call) error {
	return mongoerr.New(mongoerr.CommandNotSupported, "%s is not supported: all partitions lie on this server", c.Name())
}
