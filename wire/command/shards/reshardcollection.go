package shards

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/shard"
	"github.com/cantledb/cantle/shard/ddl"
	"github.com/cantledb/cantle/wire/arguments"
	"github.com/cantledb/cantle/wire/command"
)

// runReshardCollection changes the shard key of a collection, and replies when the collection has its new key.
// numSamplesPerChunk is checked and has no effect.
// Manual: reference/command/reshardCollection.
func (s *State) runReshardCollection(c *command.Call) error {
	ns, err := shardedNamespace(c)
	if err != nil {
		return err
	}
	opts := ddl.ShardOptions{}
	var suffix bson.Raw
	var perChunk int64
	err = c.ReadArgs(
		arguments.Doc("key", &opts.Key),
		arguments.Doc("suffix", &suffix),
		arguments.Bool("unique", &opts.Unique).Check(func() error {
			if opts.Unique {
				return mongoerr.New(mongoerr.BadValue, "reshardCollection cannot make a shard key unique: leave 'unique' out or give false")
			}
			return nil
		}),
		arguments.By("numInitialChunks", func(v bson.Value) (err error) {
			opts.Shards, err = chunksArg(c, "numInitialChunks", v)
			return err
		}),
		arguments.Bool("forceRedistribution", &opts.Force),
		arguments.Long("numSamplesPerChunk", &perChunk).Check(func() error {
			if perChunk < 1 {
				return mongoerr.New(mongoerr.BadValue, "numSamplesPerChunk must be at least 1, got %d", perChunk)
			}
			return nil
		}),
		arguments.By("collation", func(v bson.Value) error { return simpleCollation(c, "collation", v) }),
		arguments.By("zones", func(v bson.Value) (err error) { opts.Zones, err = s.zonesArg(c, "zones", v); return err }),
		c.ExpectUUID(ns),
	)
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

// runAbortReshard runs abortReshardCollection, abortUnshardCollection and abortMoveCollection: it aborts a running
// reshard. A move is too fast to be aborted.
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

// runCommitReshard makes a running reshard block writers now instead of later, so that it ends soon. It replies when
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

// runCleanupReshard runs cleanupReshardCollection, which removes the remains of a failed reshard at once. Otherwise a
// background job removes them soon.
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
