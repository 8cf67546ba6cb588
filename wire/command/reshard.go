package command

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/shard/ddl"
)

// runReshardCollection answers reshardCollection; it ends when the collection has
// its new key. What says on which server chunks should lie has nothing to say here.
// Manual: reference/command/reshardCollection.
func runReshardCollection(c *Call) error {
	ns, err := c.shardedNamespace()
	if err != nil {
		return err
	}
	opts := ddl.ShardOptions{}
	var suffix bson.Raw
	err = c.Each(func(name string, v bson.Value) (_ bool, err error) {
		switch name {
		case "key":
			opts.Key, err = c.docArg(name, v)
		case "suffix":
			suffix, err = c.docArg(name, v)
		case "unique":
			if opts.Unique, err = c.boolArg(name, v); err == nil && opts.Unique {
				err = mongoerr.New(mongoerr.BadValue, "reshardCollection cannot make a shard key unique: leave 'unique' out or give false")
			}
		case "numInitialChunks":
			opts.Shards, err = c.chunksArg(name, v)
		case "forceRedistribution":
			opts.Force, err = c.boolArg(name, v)
		case "numSamplesPerChunk":
			var n int64
			if n, err = c.longArg(name, v); err == nil && !v.IsMissing() && n < 1 {
				err = mongoerr.New(mongoerr.BadValue, "%s must be at least 1, got %d", name, n)
			}
		case "collation":
			err = c.simpleCollation(name, v)
		case "zones":
			opts.Zones, err = c.zonesArg(name, v)
		default:
			return false, nil
		}
		return true, err
	})
	if err != nil {
		return err
	}
	if opts.Key == nil {
		return mongoerr.MissingField(c.field("key"))
	}
	if opts.Key, err = withSuffix(opts.Key, suffix); err != nil {
		return err
	}
	return c.DDL.ReshardCollection(&c.Op, ns, opts)
}

// runRefineShardKey answers refineCollectionShardKey.
// Manual: reference/command/refineCollectionShardKey.
func runRefineShardKey(c *Call) error {
	ns, err := c.shardedNamespace()
	if err != nil {
		return err
	}
	var key, suffix bson.Raw
	err = c.Each(func(name string, v bson.Value) (_ bool, err error) {
		switch name {
		case "key":
			key, err = c.docArg(name, v)
		case "suffix":
			suffix, err = c.docArg(name, v)
		case "enforceUniquenessCheck":
			_, err = c.boolArg(name, v)
		default:
			return false, nil
		}
		return true, err
	})
	if err != nil {
		return err
	}
	if key == nil {
		return mongoerr.MissingField(c.field("key"))
	}
	if key, err = withSuffix(key, suffix); err != nil {
		return err
	}
	return c.DDL.RefineShardKey(&c.Op, ns, key)
}

// runAbortReshard answers abortReshardCollection, abortUnshardCollection and
// abortMoveCollection; a move is over before it can be aborted.
// Manual: reference/command/abortReshardCollection.
func runAbortReshard(c *Call) error {
	ns, err := c.shardedNamespace()
	if err != nil {
		return err
	}
	if err := c.noArguments(); err != nil {
		return err
	}
	return c.DDL.AbortReshard(c.Ctx, ns)
}

// runCommitReshard answers commitReshardCollection: writers are blocked now, and
// the collection has its new key when that is done.
// Manual: reference/command/commitReshardCollection.
func runCommitReshard(c *Call) error {
	ns, err := c.shardedNamespace()
	if err != nil {
		return err
	}
	if err := c.noArguments(); err != nil {
		return err
	}
	return c.DDL.CommitReshard(c.Ctx, ns)
}
