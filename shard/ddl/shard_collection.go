package ddl

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/shard"
	"github.com/cantledb/cantle/shard/cluster"
)

// ShardOptions holds the arguments of shardCollection.
type ShardOptions struct {
	Key    bson.Raw // {region: "hashed"}
	Unique bool     // no two documents have the same key
	// Shards is numInitialChunks: the initial number of shards, 0 = by throughput or the default.
	Shards int
	// Zones are the initial zones; nil means none.
	Zones []ZoneRange
	// Force rewrites a collection that has the key already.
	Force bool

	keepZones bool             // keep the present zones; for the same key
	sampled   []shard.Position // positions at which to divide a ranged key into Shards
	seed      uint64           // seed of the key's hashes with which sampled was computed, 0 = none yet
}

// ShardCollection gives a collection a shard key; a missing collection is created. A collection with documents is
// rewritten while it is read and written; writers wait a moment at the end. Giving the present key again is not an
// error.
// Manual: reference/command/shardCollection. Errors: AlreadyInitialized (23) for another key, InvalidOptions (72),
// CommandNotSupportedOnView (166), ConflictingOperationInProgress (117) while an index is being built, ShardKeyNotFound
// (61) when a document holds an array in the key, the errors of Create, Runner.LockNamed and Runner.Reshard.
func (d *Definer) ShardCollection(o *cluster.Op, ns collection.Namespace, opts ShardOptions) error {
	if err := noTxn(o, ns.DB, "shardCollection"); err != nil {
		return err
	}
	key, err := checkShardKey(opts)
	if err != nil {
		return err
	}
	if err := d.data.CheckExpected(o); err != nil {
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
	doc := shardCommand(coll.Namespace, opts)
	if joined, err := d.Jobs.Join(o.Env.Context(), coll.ID, doc); joined {
		return err
	}
	coll, unlock, err := d.Jobs.LockNamed(o.Env.Context(), ns)
	if err != nil {
		return err
	}
	defer unlock()
	if err := d.data.CheckExpected(o); err != nil { // it may have been dropped and made again meanwhile
		return err
	}
	return d.rewrite(o, coll, rewriting{
		kind:           "Shard Collection",
		command:        doc,
		restartCommand: opts.restartCommand("shardCollection"),
		next: func(was *catalog.Collection) (*catalog.Collection, error) {
			if done, err := alreadySharded(was, key); err != nil || done {
				return nil, err
			}
			if err := canShard(was, key); err != nil {
				return nil, err
			}
			return d.sharded(o, was, opts, was.Map.Version().Epoch+1)
		},
		log: func(m *catalog.Mutation, was, is *catalog.Collection) error {
			var fresh []*catalog.Index // the index of the key
			for _, ix := range is.Indexes {
				if was.Index(ix.Name) == nil {
					fresh = append(fresh, ix)
				}
			}
			if err := logIndexes(o, m.Txn(), was, fresh, false); err != nil {
				return err
			}
			return logCommand(o, m.Txn(), is.Namespace.DB, is, oldStateWriter(was), func(b *bson.Builder) {
				b.Splice(shardCommand(is.Namespace, opts).Elements())
			})
		},
	})
}

// shardCommand returns the command for the change log and currentOp.
func shardCommand(ns collection.Namespace, opts ShardOptions) bson.Raw {
	b := bson.NewBuilder(nil)
	b.String("shardCollection", ns.String())
	b.Raw("shardKey", opts.Key)
	b.Bool("unique", opts.Unique)
	b.Int64("numInitialChunks", int64(opts.Shards))
	b.Bool("presplitHashedZones", false)
	return b.Doc()
}
