package shards

import (
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/wire/command"
)

// runNotSharding refuses addShard, movePrimary and the commands on config servers: there are no shard servers here.
func runNotSharding(c *command.Call) error {
	return mongoerr.New(mongoerr.CommandNotSupported, "%s is not supported: all partitions lie on this server", c.Name())
}
