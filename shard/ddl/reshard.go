package ddl

import (
	"context"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/shard"
	"github.com/cantledb/cantle/shard/cluster"
	"github.com/cantledb/cantle/storage/keyspace"
)

// ReshardCollection gives a sharded collection another shard key. The collection is rewritten while it is read and
// written; writers wait a moment at the end. Giving the present key again is not an error, and rewrites the
// collection only with opts.Force.
// Manual: reference/command/reshardCollection. Errors: NamespaceNotSharded (118), BadValue (2) for another key of a
// collection with zones, unless opts has zones, ReshardCollectionInProgress (338), the errors of ShardCollection and
// Runner.Reshard.
func (d *Definer) ReshardCollection(o *cluster.Op, ns collection.Namespace, opts ShardOptions) error {
	return d.reshard(o, ns, opts, "Reshard Collection", "reshardCollection", func(coll *catalog.Collection, key shard.KeyPattern, opts ShardOptions) (*catalog.Collection, error) {
		if opts.Zones == nil && len(coll.Zones) > 0 {
			if !sameKey(coll, key) {
				return nil, mongoerr.New(mongoerr.BadValue, "Must specify value for zones field: collection %s has zones, which are ranges of its present shard key; "+
					"an empty array gives them up", coll.Namespace)
			}
			opts.keepZones = true
		}
		if opts.Shards == 0 {
			opts.Shards = min(coll.Map.Len(), d.firstShards(coll))
		}
		return d.sharded(o, coll, opts, coll.Map.Version().Epoch+1)
	})
}

// RefineShardKey adds fields to the end of a collection's shard key. Partitions keep their bounds if Map.Refined can
// express them. The key of a record contains its shard key, so records are rewritten as by ReshardCollection.
// Manual: reference/command/refineCollectionShardKey. Errors: InvalidOptions (72) for a key that neither is nor extends
// the present one, or under which the zones cannot be kept; the errors of ReshardCollection.
func (d *Definer) RefineShardKey(o *cluster.Op, ns collection.Namespace, spec bson.Raw) error {
	opts := ShardOptions{Key: spec}
	return d.reshard(o, ns, opts, "Refine Shard Key", "refineCollectionShardKey", func(coll *catalog.Collection, key shard.KeyPattern, _ ShardOptions) (*catalog.Collection, error) {
		if !extends(key, coll.Key) {
			return nil, mongoerr.New(mongoerr.InvalidOptions, "refineCollectionShardKey shard key %s must be extended by the new key %s", coll.Key, key)
		}
		next, err := d.sharded(o, coll, ShardOptions{Key: spec, Shards: coll.Map.Len()}, coll.Map.Version().Epoch+1)
		if err != nil {
			return nil, err
		}
		bounds, ok := coll.Map.Refined(next.Map.Kind())
		if !ok && len(coll.Zones) > 0 {
			return nil, mongoerr.New(mongoerr.InvalidOptions, "the zones of %s cannot be kept under the key %s, which divides the hash of a document in another way: remove the zones first", ns, key)
		}
		if ok {
			table, err := shard.NewMapAt(next.Map.Kind(), next.Map.Version().Epoch, bounds)
			if err != nil {
				return nil, err
			}
			next = next.With(func(d *catalog.Collection) {
				d.Key, d.Map = d.Key.WithSeed(coll.Key.Seed()), table
				for _, z := range coll.Zones {
					d.Zones = append(d.Zones, catalog.Zone{Name: z.Name, Range: coll.Map.RefinedRange(z.Range)})
				}
			})
		}
		return next, nil
	})
}

// nextEntry makes the catalog entry that a collection gets by a rewriting from the present one, for a shard key and
// the other options of the command.
type nextEntry func(was *catalog.Collection, key shard.KeyPattern, opts ShardOptions) (*catalog.Collection, error)

// reshard rewrites a sharded collection into the entry that next makes; kind and command name the operation in
// currentOp and the change log.
func (d *Definer) reshard(o *cluster.Op, ns collection.Namespace, opts ShardOptions, kind, command string, next nextEntry) error {
	if err := noTxn(o, ns.DB, command); err != nil {
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
	if coll == nil || !coll.Sharded() {
		return notSharded(ns)
	}
	doc := commandDoc(func(b *bson.Builder) {
		b.String(command, ns.String())
		b.Raw("key", opts.Key)
	})
	if joined, err := d.Jobs.Join(o.Env.Context(), coll.ID, doc); joined {
		return err
	}
	coll, unlock, err := d.lockForRewriting(o, coll)
	if err != nil {
		return err
	}
	defer unlock()
	if err := d.data.CheckExpected(o); err != nil { // it may have been dropped and made again meanwhile
		return err
	}
	if sameKey(coll, key) && !opts.Force {
		return nil
	}
	again := opts.restartCommand(command)
	opts.seed = coll.Key.Seed()
	if err := d.sample(o, coll, key, &opts); err != nil {
		return err
	}
	return d.rewrite(o, coll, rewriting{
		kind:           kind,
		command:        doc,
		restartCommand: again,
		next: func(was *catalog.Collection) (*catalog.Collection, error) {
			if err := canShard(was, key); err != nil {
				return nil, err
			}
			return next(was, key, opts)
		},
		log: func(m *catalog.Mutation, was, is *catalog.Collection) error {
			return logCommand(o, m.Txn(), is.Namespace.DB, is, oldStateWriter(was), func(b *bson.Builder) {
				describeReshard(b, command, was, is)
			})
		},
	})
}

// CleanupReshard deletes at once what is left of a resharding that failed or that a crash ended;
// otherwise a background job deletes it soon.
// Errors: NamespaceNotFound (26); ReshardCollectionInProgress (338).
func (d *Definer) CleanupReshard(ctx context.Context, ns collection.Namespace) error {
	coll := d.catalog.Peek().Collection(ns)
	if coll == nil {
		return mongoerr.NoNamespace(ns.String())
	}
	if d.Jobs.Resharding(coll.ID) {
		return mongoerr.New(mongoerr.ReshardCollectionInProgress, "collection %s is being resharded; abortReshardCollection ends that", ns)
	}
	return d.Jobs.DeleteRecorded(ctx)
}

// describeReshard appends the command for the change log.
// Manual: reference/change-events/reshardCollection, …/refineCollectionShardKey.
func describeReshard(b *bson.Builder, command string, was, is *catalog.Collection) {
	b.String(command, is.Namespace.String())
	if command == "reshardCollection" {
		id := bson.NewUUID()
		b.Binary("reshardUUID", 4, id[:])
	}
	b.Raw("shardKey", is.Key.Spec())
	b.Raw("oldShardKey", was.Key.Spec())
	if command == "reshardCollection" {
		b.Bool("unique", false)
		b.Int64("numInitialChunks", int64(is.Map.Len()))
	}
}

// AbortReshard ends a collection's resharding and keeps the old key.
// Errors: NamespaceNotFound (26), the errors of Runner.AbortReshard.
func (d *Definer) AbortReshard(ctx context.Context, ns collection.Namespace) error {
	return d.onReshard(ctx, ns, d.Jobs.AbortReshard)
}

// CommitReshard ends a collection's resharding with the new key, as soon as possible.
// Errors: NamespaceNotFound (26), the errors of Runner.CommitReshard.
func (d *Definer) CommitReshard(ctx context.Context, ns collection.Namespace) error {
	return d.onReshard(ctx, ns, d.Jobs.CommitReshard)
}

// onReshard calls act with the collection of a namespace.
// Errors: NamespaceNotFound (26), the errors of act.
func (d *Definer) onReshard(ctx context.Context, ns collection.Namespace, act func(context.Context, keyspace.CollectionID) error) error {
	coll := d.catalog.Peek().Collection(ns)
	if coll == nil {
		return mongoerr.NoNamespace(ns.String())
	}
	return act(ctx, coll.ID)
}
