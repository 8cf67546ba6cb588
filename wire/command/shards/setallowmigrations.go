package shards

import (
	"github.com/cantledb/cantle/wire/arguments"
	"github.com/cantledb/cantle/wire/command"
)

// runSetAllowMigrations sets whether the balancer may split and merge the partitions of a collection, like noBalance
// in config.collections.
// Source: mongosh, sh.disableMigrations.
func runSetAllowMigrations(c *command.Call) error {
	coll, err := shardedCollection(c)
	if err != nil {
		return err
	}
	allow := false
	err = c.ReadArgs(arguments.Bool("allowMigrations", &allow).Required())
	if err != nil {
		return err
	}
	return c.Server.DDL.SetBalancing(&c.Op, coll.Namespace, !allow, coll.Unmerged)
}
