package ddl

import (
	"slices"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/index"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/shard"
	"github.com/cantledb/cantle/shard/cluster"
	"github.com/cantledb/cantle/shard/jobs"
)

// ShardOptions is what shardCollection asks for.
type ShardOptions struct {
	Key    bson.Raw // {region: "hashed"}
	Unique bool
	// Shards is numInitialChunks: how many shards to begin with, 0 = by
	// throughput or the default.
	Shards int
	// Zones are the zones it begins with; nil none. KeepZones begins with those
	// that it has, and is for the same key.
	Zones     []ZoneRange
	KeepZones bool
	// Force rewrites a collection that has the key already.
	Force bool

	sampled []shard.Position // where to divide a ranged key into Shards
	seed    uint64           // that sampled was found with, 0 = none yet
}

// ShardCollection gives a collection a shard key; a missing one is created. A
// collection with documents is rewritten meanwhile, while it is read and written;
// writers wait a moment at the end. The key it has already is no error.
// Manual: reference/command/shardCollection. Errors: AlreadyInitialized (23) for
// another key, InvalidOptions (72),
// CommandNotSupportedOnView (166), ShardKeyNotFound (61) when a document holds
// an array in the key.
func (d *Definer) ShardCollection(o *cluster.Op, ns collection.Namespace, opts ShardOptions) error {
	if err := noTxn(o, "shardCollection"); err != nil {
		return err
	}
	key, err := checkShardKey(opts)
	if err != nil {
		return err
	}
	coll := d.catalog.Peek().Collection(ns)
	if coll == nil {
		if err := d.Create(o, ns, CreateOptions{Implicit: true, ShardKey: opts.Key, UniqueKey: opts.Unique, Shards: opts.Shards, Zones: opts.Zones}); err != nil {
			return err
		}
		if coll = d.catalog.Peek().Collection(ns); coll == nil {
			return mongoerr.NoNamespace(ns.String())
		}
	}
	if done, err := alreadySharded(coll, key); done || err != nil {
		return err
	}
	coll, unlock, err := d.Jobs.LockNamed(o.Env.Context(), ns)
	if err != nil {
		return err
	}
	defer unlock()
	var was *catalog.Collection
	made, err := d.Jobs.Reshard(o.Env.Context(), &jobs.Reshard{
		Collection: coll.ID,
		Kind:       "Shard Collection",
		Command:    shardCommand(coll.Namespace, opts),
		Next: func(coll *catalog.Collection) (*catalog.Collection, error) {
			was = coll
			if done, err := alreadySharded(coll, key); err != nil || done {
				return nil, err
			}
			if err := canShard(coll, key); err != nil {
				return nil, err
			}
			return d.sharded(o, coll, opts, coll.Map.Version().Epoch+1)
		},
		Log: func(m *catalog.Mutation, coll *catalog.Collection) error {
			var fresh []*catalog.Index // of the key
			for _, ix := range coll.Indexes {
				if was.Index(ix.Name) == nil {
					fresh = append(fresh, ix)
				}
			}
			if err := logIndexes(o, m.Txn(), was, fresh, false); err != nil {
				return err
			}
			return logCommandOn(o, m, coll.Namespace.DB, coll, ended(was), func(b *bson.Builder) {
				b.Splice(shardCommand(coll.Namespace, opts).Elements())
			})
		},
	})
	if err != nil || made == nil {
		return err
	}
	d.committed(o)
	return nil
}

// shardCommand is the command as the change log and currentOp show it.
func shardCommand(ns collection.Namespace, opts ShardOptions) bson.Raw {
	b := bson.NewBuilder(nil)
	b.String("shardCollection", ns.String())
	b.Raw("shardKey", opts.Key)
	b.Bool("unique", opts.Unique)
	b.Int64("numInitialChunks", int64(opts.Shards))
	b.Bool("presplitHashedZones", false)
	return b.Doc()
}

// checkShardKey parses the key and refuses what cannot be.
func checkShardKey(opts ShardOptions) (shard.KeyPattern, error) {
	key, err := shard.ParseKeyPattern(opts.Key)
	if err != nil {
		return key, err
	}
	switch {
	case opts.Unique && hasHashed(key):
		return key, mongoerr.New(mongoerr.InvalidOptions, "Hashed shard keys cannot be declared unique. It's possible to ensure uniqueness on the hashed field "+
			"by declaring an additional (non-hashed) unique index on the field.")
	case opts.Shards < 0 || opts.Shards > shard.ShardsMax:
		return key, mongoerr.New(mongoerr.InvalidOptions, "numInitialChunks must be between 1 and %d", shard.ShardsMax)
	}
	return key, nil
}

func hasHashed(key shard.KeyPattern) bool {
	return slices.ContainsFunc(key.Fields(), func(f shard.Field) bool { return f.Hashed })
}

// withKeyIndex returns an entry that has an index beginning with a ranged shard
// key, unique if asked for: what finds and sorts by the key go through.
// Manual: core/sharding-shard-key#shard-key-indexes. Errors: InvalidOptions (72);
// those of an index.
func withKeyIndex(o *cluster.Op, coll *catalog.Collection, key shard.KeyPattern, unique bool) (*catalog.Collection, error) {
	for _, ix := range coll.Indexes {
		if !unique && serves(ix, key) || unique && ix.Unique && bson.Equal(ix.Key.Value(), key.Spec().Value(), nil) || ix.ID == 1 && key.IsID() {
			return coll, nil
		}
	}
	b := bson.NewBuilder(nil)
	b.Int32("v", 2)
	b.Raw("key", key.Spec())
	name := ""
	for field, v := range key.Spec().Fields() {
		if name != "" {
			name += "_"
		}
		if s, ok := v.Str(); ok {
			name += string(field) + "_" + s
		} else {
			name += string(field) + "_1"
		}
	}
	b.String("name", name)
	if unique {
		b.Bool("unique", true)
	}
	if len(coll.Options.CollationRaw) > 0 {
		b.BeginDoc("collation")
		b.String("locale", "simple")
		b.End()
	}
	spec, err := index.ParseSpec(o.Env, b.Doc())
	if err != nil {
		return nil, err
	}
	for _, ix := range coll.Indexes {
		if same, err := spec.Conflict(ix.Spec); err != nil {
			return nil, mongoerr.New(mongoerr.InvalidOptions, "Please create an index that starts with the proposed shard key %s before sharding the collection: %v", key, err)
		} else if same {
			return coll, nil
		}
	}
	return withNewIndex(coll, spec, catalog.IndexReady), nil
}

// serves reports an index that holds every document in the order of a shard key.
func serves(ix *catalog.Index, key shard.KeyPattern) bool {
	it := ix.Key.Iter()
	for _, want := range key.Spec().Fields() {
		if !it.Next() || !bson.Equal(it.Value, want, nil) {
			return false
		}
	}
	for i, f := range key.Fields() {
		if i >= len(ix.Fields()) || ix.Fields()[i] != f.Path.String() {
			return false
		}
	}
	return ix.State == catalog.IndexReady && ix.Partial == nil && !ix.Sparse && ix.Collation == nil && !ix.Multikey.Any()
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
