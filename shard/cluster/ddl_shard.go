package cluster

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/shard"
	"github.com/cantledb/cantle/shard/jobs"
	"github.com/cantledb/cantle/wire/mongoerr"
)

// ShardOptions is what shardCollection asks for.
type ShardOptions struct {
	Key    bson.Raw // {region: "hashed"}
	Unique bool
	// Shards is numInitialChunks: how many shards to begin with, 0 = by
	// throughput or the default.
	Shards int
}

// ShardCollection gives a collection a shard key; a missing one is created. A
// collection with documents is rewritten meanwhile: its writers wait, its
// readers do not. The key it has already is no error.
// Manual: reference/command/shardCollection. Errors: AlreadyInitialized (23) for
// another key, NotImplemented (238) for ranged keys, InvalidOptions (72),
// CommandNotSupportedOnView (166), ShardKeyNotFound (61) when a document holds
// an array in the key.
func (c *Cluster) ShardCollection(o *Op, ns collection.Namespace, opts ShardOptions) error {
	return translate(c.shardCollection(o, ns, opts))
}

func (c *Cluster) shardCollection(o *Op, ns collection.Namespace, opts ShardOptions) error {
	if err := noTxn(o, "shardCollection"); err != nil {
		return err
	}
	key, err := checkShardKey(opts)
	if err != nil {
		return err
	}
	coll := c.Catalog.Peek().Collection(ns)
	if coll == nil {
		if err := c.create(o, ns, CreateOptions{Implicit: true, ShardKey: opts.Key, Shards: opts.Shards}); err != nil {
			return err
		}
		if coll = c.Catalog.Peek().Collection(ns); coll == nil {
			return mongoerr.NoNamespace(ns.String())
		}
	}
	if done, err := alreadySharded(coll, key); done || err != nil {
		return err
	}
	unlock, err := c.Jobs.Lock(o.Env.Context(), coll.ID)
	if err != nil {
		return err
	}
	defer unlock()
	var was *catalog.Collection
	made, err := c.Jobs.Reshard(o.Env.Context(), &jobs.Reshard{
		Collection: coll.ID,
		Command:    shardCommand(coll.Namespace, opts),
		Next: func(coll *catalog.Collection) (*catalog.Collection, error) {
			was = coll
			if done, err := alreadySharded(coll, key); err != nil || done {
				return nil, err
			}
			if err := canShard(coll, key); err != nil {
				return nil, err
			}
			return c.sharded(coll, opts.Key, opts.Shards, coll.Map.Version().Epoch+1)
		},
		Log: func(m *catalog.Mutation, coll *catalog.Collection) error {
			return logCommandOn(m, coll.Namespace.DB, coll, ended(was), func(b *bson.Builder) {
				b.Splice(shardCommand(coll.Namespace, opts).Elements())
			})
		},
	})
	if err != nil || made == nil {
		return err
	}
	o.Committed = max(o.Committed, c.Store.Latest())
	return nil
}

// shardCommand is the command as the change log and currentOp show it.
func shardCommand(ns collection.Namespace, opts ShardOptions) bson.Raw {
	b := bson.NewBuilder(nil)
	b.String("shardCollection", ns.String())
	b.Raw("shardKey", opts.Key)
	b.Bool("unique", opts.Unique)
	return b.Doc()
}

// checkShardKey parses the key and refuses what cannot be.
func checkShardKey(opts ShardOptions) (shard.KeyPattern, error) {
	key, err := shard.ParseKeyPattern(opts.Key)
	if err != nil {
		return key, err
	}
	switch {
	case key.Kind() == shard.Ranged:
		return key, rangedKey(key)
	case opts.Unique:
		return key, mongoerr.New(mongoerr.InvalidOptions, "Hashed shard keys cannot be declared unique. It's possible to ensure uniqueness on the hashed field "+
			"by declaring an additional (non-hashed) unique index on the field.")
	case opts.Shards < 0 || opts.Shards > shard.ShardsMax:
		return key, mongoerr.New(mongoerr.InvalidOptions, "numInitialChunks must be between 1 and %d", shard.ShardsMax)
	}
	return key, nil
}

// rangedKey is the refusal of ranged shard keys.
func rangedKey(key shard.KeyPattern) error {
	return mongoerr.New(mongoerr.NotImplemented,
		"ranged shard keys are not implemented; use a hashed one, for instance {%q: \"hashed\"}", key.Fields()[0].Path.String())
}

// alreadySharded reports a collection that has the key.
func alreadySharded(coll *catalog.Collection, key shard.KeyPattern) (bool, error) {
	if coll.IsView() {
		return false, mongoerr.ViewNotAllowed(coll.Namespace.String())
	}
	if !coll.Sharded() {
		return false, nil
	}
	if !bson.Equal(coll.Key.Spec().Value(), key.Spec().Value(), nil) {
		return false, mongoerr.New(mongoerr.AlreadyInitialized, "sharding already enabled for collection %s with the shard key %s", coll.Namespace, coll.Key)
	}
	return true, nil
}

// canShard refuses collections that cannot have the key.
// Manual: reference/command/shardCollection. Errors: InvalidOptions (72).
func canShard(coll *catalog.Collection, key shard.KeyPattern) error {
	if coll.Options.Capped {
		return mongoerr.New(mongoerr.InvalidOptions, "can't shard a capped collection")
	}
	if coll.Options.TimeSeries != nil {
		return mongoerr.NotImplementedYet("sharding a time-series collection")
	}
	for _, ix := range coll.Indexes[1:] {
		if ix.State == catalog.IndexBuilding {
			return mongoerr.New(mongoerr.ConflictingOperationInProgress, "index %s of %s is still being built", ix.Name, coll.Namespace)
		}
		if ix.Unique && (!key.IsPrefixOf(ix.Key) || ix.Collation != nil) {
			return mongoerr.New(mongoerr.InvalidOptions, "can't shard collection '%s' with unique index on %s and proposed shard key %s. "+
				"Uniqueness can't be maintained unless shard key is a prefix", coll.Namespace, shown(ix.Key), key)
		}
	}
	return nil
}
