package shards

import (
	"maps"
	"slices"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/shard"
	"github.com/cantledb/cantle/wire/command"
)

// The config database shows every partition number as a shard: partition 3 of any collection is on the shard "p3".
// Each collection numbers its own partitions. So the shards show how many partitions collections have, not where data
// is stored.

// shardIDs lists the partition numbers in use, always with 0.
func (s *State) shardIDs() []shard.ID {
	used := map[shard.ID]bool{0: true}
	s.Cluster.Catalog().EachMap(func(coll *catalog.Collection) {
		for _, d := range coll.Map.Shards() {
			used[d.ID] = true
		}
	})
	return slices.Sorted(maps.Keys(used))
}

// shardHost returns the field host of a shard in config.shards, in the form of a replica set, because writes to a
// shard are acknowledged by a majority.
// Manual: reference/config-database#config.shards.
func (s *State) shardHost(id shard.ID) string { return command.ShardName(id) + "/" + s.Address() }

// shardDocs returns the documents of config.shards.
func (s *State) shardDocs() (docs []bson.Raw) {
	for _, id := range s.shardIDs() {
		b := bson.NewBuilder(nil)
		b.String("_id", command.ShardName(id))
		b.String("host", s.shardHost(id))
		b.Int32("state", 1)
		b.Timestamp("topologyTime", uint32(s.Started.Unix()), 1)
		b.Bool("draining", false)
		if tags := s.tags(command.ShardName(id)); len(tags) > 0 {
			b.BeginArray("tags")
			for _, t := range tags {
				b.String("", t)
			}
			b.End()
		}
		docs = append(docs, b.Doc())
	}
	return docs
}

// databaseDocs returns the documents of config.databases.
func (s *State) databaseDocs() (docs []bson.Raw) {
	for _, d := range s.Cluster.Catalog().Databases() {
		if d.Name == "admin" || d.Name == "config" || d.Name == "local" {
			continue
		}
		b := bson.NewBuilder(nil)
		b.String("_id", d.Name)
		b.String("primary", command.ShardName(0))
		b.Bool("partitioned", true)
		b.BeginDoc("version")
		uuid := catalog.VirtualUUID(d.Name)
		b.Binary("uuid", 4, uuid[:])
		b.Timestamp("timestamp", uint32(s.Started.Unix()), 1)
		b.Int32("lastMod", 1)
		b.End()
		docs = append(docs, b.Doc())
	}
	return docs
}

// collectionDocs returns the documents of config.collections.
func (s *State) collectionDocs() (docs []bson.Raw) {
	s.Cluster.Catalog().EachSharded(func(coll *catalog.Collection) {
		b := bson.NewBuilder(nil)
		b.String("_id", coll.Namespace.String())
		b.ObjectID("lastmodEpoch", epochOf(coll))
		b.DateTime("lastmod", s.Started.UnixMilli())
		b.Timestamp("timestamp", uint32(coll.Map.Version().Epoch), 1)
		b.Binary("uuid", 4, coll.UUID[:])
		b.Raw("key", coll.Key.Spec())
		b.Bool("unique", uniqueKey(coll))
		b.Bool("noBalance", coll.Unbalanced)
		if coll.Unmerged {
			b.Bool("enableAutoMerge", false)
		}
		docs = append(docs, b.Doc())
	})
	return docs
}

// uniqueKey reports whether a unique index has the shard key.
func uniqueKey(coll *catalog.Collection) bool {
	return slices.ContainsFunc(coll.Indexes, func(ix *catalog.Index) bool {
		return ix.Unique && bson.Equal(ix.Key.Value(), coll.Key.Spec().Value(), nil)
	})
}

// epochOf returns an ObjectId that identifies a collection and its present shard key, for the documents of
// config.collections and config.chunks.
func epochOf(coll *catalog.Collection) (id [12]byte) {
	copy(id[:], coll.UUID[:])
	id[11] ^= byte(coll.Map.Version().Epoch)
	return id
}

// chunkDocs returns the documents of config.chunks: one chunk per partition.
func (s *State) chunkDocs() (docs []bson.Raw) {
	s.Cluster.Catalog().EachSharded(func(coll *catalog.Collection) {
		for _, d := range coll.Map.Shards() {
			b := bson.NewBuilder(nil)
			id := epochOf(coll)
			id[8], id[9], id[10] = byte(d.ID>>16), byte(d.ID>>8), byte(d.ID)
			b.ObjectID("_id", id)
			b.Binary("uuid", 4, coll.UUID[:])
			b.Raw("min", coll.Key.Bound(d.Lo, bson.MinKey))
			b.Raw("max", coll.Key.Bound(d.Hi, bson.MaxKey))
			b.String("shard", command.ShardName(d.ID))
			b.Timestamp("lastmod", uint32(d.Since), 0)
			b.Timestamp("onCurrentShardSince", uint32(d.Since), 0)
			b.BeginArray("history")
			b.BeginDoc("")
			b.Timestamp("validAfter", uint32(d.Since), 0)
			b.String("shard", command.ShardName(d.ID))
			b.End()
			b.End()
			docs = append(docs, b.Doc())
		}
	})
	return docs
}

// settingDocs returns the documents of config.settings.
func (s *State) settingDocs() []bson.Raw {
	b := bson.NewBuilder(nil)
	b.String("_id", "balancer")
	b.String("mode", s.balancerMode())
	b.Bool("stopped", s.balancerOff.Load())
	return append([]bson.Raw{b.Doc()}, s.settings.list()...)
}

// clusterDocs returns the documents of config.version.
func (s *State) clusterDocs() []bson.Raw {
	b := bson.NewBuilder(nil)
	b.Int32("_id", 1)
	id := catalog.VirtualUUID("cluster")
	var oid [12]byte
	copy(oid[:], id[:])
	b.ObjectID("clusterId", oid)
	return []bson.Raw{b.Doc()}
}
