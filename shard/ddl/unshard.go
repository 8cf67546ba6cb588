package ddl

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/shard"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/shard/cluster"
	"github.com/cantledb/cantle/shard/jobs"
)

// UnshardCollection removes the shard key of a collection, which has one partition afterwards, with the given id. The
// collection is rewritten as by ReshardCollection.
// Manual: reference/command/unshardCollection. Errors: NamespaceNotSharded (118), BadValue (2) for a collection with
// zones, ReshardCollectionInProgress (338), ConflictingOperationInProgress (117) while an index is being built,
// DuplicateKey (11000) if documents of different shard keys have the same _id, the errors of Runner.Reshard.
func (d *Definer) UnshardCollection(o *cluster.Op, ns collection.Namespace, to shard.ID) error {
	if err := noTxn(o, ns.DB, "unshardCollection"); err != nil {
		return err
	}
	coll := d.catalog.Peek().Collection(ns)
	if err := canUnshard(coll, ns); err != nil {
		return err
	}
	body := func(b *bson.Builder) { b.String("unshardCollection", ns.String()) }
	doc := commandDoc(body)
	if joined, err := d.Jobs.Join(o.Env.Context(), coll.ID, doc); joined {
		return err
	}
	coll, unlock, err := d.lockForRewriting(o, coll)
	if err != nil {
		return err
	}
	defer unlock()
	return d.rewrite(o, coll, rewriting{
		kind:    "Unshard Collection",
		command: doc,
		restartCommand: commandDoc(func(b *bson.Builder) {
			b.String("unshardCollection", "")
			b.Int64("to", int64(to))
		}),
		next: func(was *catalog.Collection) (*catalog.Collection, error) {
			if err := canUnshard(was, ns); err != nil {
				return nil, err
			}
			table, err := shard.NewMap(shard.Unsharded, was.Map.Version().Epoch+1, 1)
			if err != nil {
				return nil, err
			}
			if to != 0 {
				if table, err = table.Move(0, to); err != nil {
					return nil, err
				}
			}
			return was.With(func(d *catalog.Collection) {
				d.Key, d.Map, d.Shares, d.Zones = shard.KeyPattern{}, table, nil, nil
				d.Unbalanced, d.Unmerged = false, false
			}), nil
		},
		log: func(m *catalog.Mutation, was, is *catalog.Collection) error {
			return logCommand(o, m.Txn(), is.Namespace.DB, is, oldStateWriter(was), body)
		},
	})
}

// canUnshard rejects collections that have no shard key to remove, have zones or an index build, or too much
// throughput for one partition.
func canUnshard(coll *catalog.Collection, ns collection.Namespace) error {
	switch {
	case coll == nil || !coll.Sharded():
		return notSharded(ns)
	case len(coll.Zones) > 0:
		return mongoerr.New(mongoerr.BadValue, "collection %s has zones: take its ranges out of them first, with updateZoneKeyRange and zone null", ns)
	}
	if t := coll.Throughput; t.Mode != catalog.ThroughputNone {
		if err := ratelimit.CheckCollection(jobs.Provisioned(t), false, ratelimit.Load{}); err != nil {
			return err
		}
	}
	for _, ix := range coll.Indexes {
		if ix.State == catalog.IndexBuilding {
			return mongoerr.New(mongoerr.ConflictingOperationInProgress, "index %s of %s is still being built", ix.Name, ns)
		}
	}
	return nil
}

// MoveCollection gives the partition of an unsharded collection another id, so that clients see it on another shard. No
// document moves. If the partition has that id already, nothing changes.
// Manual: reference/command/moveCollection. Errors: NamespaceNotFound (26), CommandNotSupportedOnView (166),
// IllegalOperation (20) for a sharded one, the errors of Runner.Move.
func (d *Definer) MoveCollection(o *cluster.Op, ns collection.Namespace, to shard.ID) error {
	if err := noTxn(o, ns.DB, "moveCollection"); err != nil {
		return err
	}
	coll := d.catalog.Peek().Collection(ns)
	switch {
	case coll == nil:
		return mongoerr.NoNamespace(ns.String())
	case coll.IsView():
		return mongoerr.ViewNotAllowed(ns.String())
	case coll.Sharded():
		return mongoerr.New(mongoerr.IllegalOperation, "moveCollection is for collections without a shard key, which %s has: see reshardCollection and unshardCollection", ns)
	}
	from := coll.Map.Shards()[0].ID
	if from == to {
		return nil
	}
	return d.Jobs.Move(o.Env.Context(), ns, from, to)
}
