package shards

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/wire/command"
)

// runSetAllowMigrations answers setAllowMigrations: the balancer ignores a collection that must not migrate,
// as with noBalance in config.collections.
// Source: mongosh, sh.disableMigrations.
func runSetAllowMigrations(c *command.Call) error {
	coll, err := shardedCollection(c)
	if err != nil {
		return err
	}
	allow, given := false, false
	err = c.Each(func(name string, v bson.Value) (_ bool, err error) {
		if name != "allowMigrations" {
			return false, nil
		}
		given = !v.IsMissing()
		allow, err = c.BoolArg(name, v)
		return true, err
	})
	if err != nil {
		return err
	}
	if !given {
		return mongoerr.MissingField(c.Field("allowMigrations"))
	}
	return c.Server.DDL.SetBalancing(&c.Op, coll.Namespace, !allow, coll.Unmerged)
}
