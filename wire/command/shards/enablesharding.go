package shards

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/wire/arguments"
	"github.com/cantledb/cantle/wire/auth"
	"github.com/cantledb/cantle/wire/command"
)

// parseEnableSharding reads enableSharding. The command only checks the name of the database, because every database
// can have sharded collections.
// Manual: reference/command/enableSharding.
func parseEnableSharding(c *command.Call) (command.Request, error) {
	if c.Value.Type != bson.TypeString {
		return nil, mongoerr.WrongType("enableSharding.enableSharding", c.Value.Type.String(), "string")
	}
	db, _ := c.Value.Str()
	err := c.ReadArgs(arguments.String("primaryShard", nil))
	if err != nil {
		return nil, err
	}
	needs := func(q *command.PrivilegeCheck) { q.Need(auth.EnableSharding, collection.Namespace{DB: db}) }
	return command.NewRequest(needs, func(*command.Call) error {
		if err := collection.CheckDatabaseName(db); err != nil {
			return err
		}
		if collection.IsInternal(db) {
			return mongoerr.New(mongoerr.InvalidOptions, "can't shard %s database", db)
		}
		return nil
	}), nil
}
