package shards

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/shard"
	"github.com/cantledb/cantle/shard/ddl"
	"github.com/cantledb/cantle/wire/command"
)

// runReshardCollection answers reshardCollection; it returns when the collection has its new key. Arguments
// that assign chunks to servers have no effect here.
// Manual: reference/command/reshardCollection.
func (s *State) runReshardCollection(c *command.Call) error {
	ns, err := shardedNamespace(c)
	if err != nil {
		return err
	}
	opts := ddl.ShardOptions{}
	var suffix bson.Raw
	err = c.Each(func(name string, v bson.Value) (_ bool, err error) {
		switch name {
		case "key":
			opts.Key, err = c.DocArg(name, v)
		case "suffix":
			suffix, err = c.DocArg(name, v)
		case "unique":
			if opts.Unique, err = c.BoolArg(name, v); err == nil && opts.Unique {
				err = mongoerr.New(mongoerr.BadValue, "reshardCollection cannot make a shard key unique: leave 'unique' out or give false")
			}
		case "numInitialChunks":
			opts.Shards, err = chunksArg(c, name, v)
		case "forceRedistribution":
			opts.Force, err = c.BoolArg(name, v)
		case "numSamplesPerChunk":
			var n int64
			if n, err = c.LongArg(name, v); err == nil && !v.IsMissing() && n < 1 {
				err = mongoerr.New(mongoerr.BadValue, "%s must be at least 1, got %d", name, n)
			}
		case "collation":
			err = simpleCollation(c, name, v)
		case "zones":
			opts.Zones, err = s.zonesArg(c, name, v)
		default:
			return false, nil
		}
		return true, err
	})
	if err != nil {
		return err
	}
	if opts.Key == nil {
		return mongoerr.MissingField(c.Field("key"))
	}
	if opts.Key, err = shard.WithSuffix(opts.Key, suffix); err != nil {
		return err
	}
	return c.Server.DDL.ReshardCollection(&c.Op, ns, opts)
}

// runAbortReshard answers abortReshardCollection, abortUnshardCollection and abortMoveCollection; a move is
// too fast to be aborted.
// Manual: reference/command/abortReshardCollection.
func runAbortReshard(c *command.Call) error {
	ns, err := shardedNamespace(c)
	if err != nil {
		return err
	}
	if err := c.NoArguments(); err != nil {
		return err
	}
	return c.Server.DDL.AbortReshard(c.Ctx, ns)
}

// runCommitReshard answers commitReshardCollection: it blocks writers now instead of later, and returns when
// the collection has its new key.
// Manual: reference/command/commitReshardCollection.
func runCommitReshard(c *command.Call) error {
	ns, err := shardedNamespace(c)
	if err != nil {
		return err
	}
	if err := c.NoArguments(); err != nil {
		return err
	}
	return c.Server.DDL.CommitReshard(c.Ctx, ns)
}

// runCleanupReshard answers cleanupReshardCollection, which removes leftovers of a failed resharding; here
// they are removed automatically, at once or a moment later.
func runCleanupReshard(c *command.Call) error {
	ns, err := shardedNamespace(c)
	if err != nil {
		return err
	}
	if err := c.NoArguments(); err != nil {
		return err
	}
	return c.Server.DDL.CleanupReshard(c.Ctx, ns)
}
