package shards

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/shard"
	"github.com/cantledb/cantle/wire/arguments"
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
	err = c.ReadArgs(
		arguments.Doc("key", &key).Required(),
		arguments.Doc("suffix", &suffix),
		arguments.Bool("enforceUniquenessCheck", nil),
	)
	if err != nil {
		return err
	}
	if key, err = shard.WithSuffix(key, suffix); err != nil {
		return err
	}
	return c.Server.DDL.RefineShardKey(&c.Op, ns, key)
}
