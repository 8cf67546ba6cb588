package shards

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/shard"
	"github.com/cantledb/cantle/wire/command"
)

// runRefineShardKey answers refineCollectionShardKey.
// Manual: reference/command/refineCollectionShardKey.
func runRefineShardKey(c *command.Call) error {
	ns, err := shardedNamespace(c)
	if err != nil {
		return err
	}
	var key, suffix bson.Raw
	err = c.Each(func(name string, v bson.Value) (_ bool, err error) {
		switch name {
		case "key":
			key, err = c.DocArg(name, v)
		case "suffix":
			suffix, err = c.DocArg(name, v)
		case "enforceUniquenessCheck":
			_, err = c.BoolArg(name, v)
		default:
			return false, nil
		}
		return true, err
	})
	if err != nil {
		return err
	}
	if key == nil {
		return mongoerr.MissingField(c.Field("key"))
	}
	if key, err = shard.WithSuffix(key, suffix); err != nil {
		return err
	}
	return c.Server.DDL.RefineShardKey(&c.Op, ns, key)
}
