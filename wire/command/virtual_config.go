package command

import (
	"slices"
	"sort"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/shard"
)

// In the shape of a cluster every partition number is a shard: partition 3 of
// any collection lies on "p3". Partition numbers are a collection's own, so a
// shard says how far partitions go, not where bytes lie.

// shardName is what the shard of a partition is called.
func shardName(id shard.ID) string { return "p" + id.String() }

// shardIDs lists the partition numbers in use, 0 always among them.
func (s *Server) shardIDs() []shard.ID {
	used := map[shard.ID]bool{0: true}
	s.eachMap(func(coll *catalog.Collection) {
		for _, d := range coll.Map.Shards() {
			used[d.ID] = true
		}
	})
	ids := make([]shard.ID, 0, len(used))
	for id := range used {
		ids = append(ids, id)
	}
	sort.Slice(ids, func(i, j int) bool { return ids[i] < ids[j] })
	return ids
}

// address is where clients find the server, as far as it knows.
func (s *Server) address() string {
	if a, ok := s.seenAt.Load().(string); ok {
		return a
	}
	return "localhost:27017"
}

// shardHost is where a shard is, in the form that says that it is a replica set:
// what it takes is acknowledged by a majority and read at one time.
// Manual: reference/config-database#config.shards.
func (s *Server) shardHost(id shard.ID) string { return shardName(id) + "/" + s.address() }

// shardDocs is config.shards.
func (s *Server) shardDocs() (docs []bson.Raw) {
	for _, id := range s.shardIDs() {
		b := bson.NewBuilder(nil)
		b.String("_id", shardName(id))
		b.String("host", s.shardHost(id))
		b.Int32("state", 1)
		b.Timestamp("topologyTime", uint32(s.Started.Unix()), 1)
		b.Bool("draining", false)
		if tags := s.tags(shardName(id)); len(tags) > 0 {
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

// databaseDocs is config.databases.
func (s *Server) databaseDocs() (docs []bson.Raw) {
	for _, d := range s.Cluster.Catalog.Peek().Databases() {
		if d.Name == "admin" || d.Name == "config" || d.Name == "local" {
			continue
		}
		b := bson.NewBuilder(nil)
		b.String("_id", d.Name)
		b.String("primary", shardName(0))
		b.Bool("partitioned", true)
		b.BeginDoc("version")
		uuid := virtualUUID(d.Name)
		b.Binary("uuid", 4, uuid[:])
		b.Timestamp("timestamp", uint32(s.Started.Unix()), 1)
		b.Int32("lastMod", 1)
		b.End()
		docs = append(docs, b.Doc())
	}
	return docs
}

// eachMap visits everything that has partitions: all collections but views.
func (s *Server) eachMap(visit func(coll *catalog.Collection)) {
	for _, coll := range s.Cluster.Catalog.Peek().Collections("") {
		if coll.Map != nil {
			visit(coll)
		}
	}
}

// sharded visits the sharded collections.
func (s *Server) sharded(visit func(coll *catalog.Collection)) {
	for _, coll := range s.Cluster.Catalog.Peek().Collections("") {
		if coll.Sharded() {
			visit(coll)
		}
	}
}

// collectionDocs is config.collections.
func (s *Server) collectionDocs() (docs []bson.Raw) {
	s.sharded(func(coll *catalog.Collection) {
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

// uniqueKey reports a shard key that a unique index holds.
func uniqueKey(coll *catalog.Collection) bool {
	return slices.ContainsFunc(coll.Indexes, func(ix *catalog.Index) bool {
		return ix.Unique && bson.Equal(ix.Key.Value(), coll.Key.Spec().Value(), nil)
	})
}

// epochOf is an ObjectId that stands for a collection's shard key.
func epochOf(coll *catalog.Collection) (id [12]byte) {
	copy(id[:], coll.UUID[:])
	id[11] ^= byte(coll.Map.Version().Epoch)
	return id
}

// chunkDocs is config.chunks: one chunk per partition.
func (s *Server) chunkDocs() (docs []bson.Raw) {
	s.sharded(func(coll *catalog.Collection) {
		for _, d := range coll.Map.Shards() {
			b := bson.NewBuilder(nil)
			id := epochOf(coll)
			id[8], id[9], id[10] = byte(d.ID>>16), byte(d.ID>>8), byte(d.ID)
			b.ObjectID("_id", id)
			b.Binary("uuid", 4, coll.UUID[:])
			b.Raw("min", coll.Key.Bound(d.Lo, bson.MinKey))
			b.Raw("max", coll.Key.Bound(d.Hi, bson.MaxKey))
			b.String("shard", shardName(d.ID))
			b.Timestamp("lastmod", uint32(d.Since), 0)
			b.Timestamp("onCurrentShardSince", uint32(d.Since), 0)
			b.BeginArray("history")
			b.BeginDoc("")
			b.Timestamp("validAfter", uint32(d.Since), 0)
			b.String("shard", shardName(d.ID))
			b.End()
			b.End()
			docs = append(docs, b.Doc())
		}
	})
	return docs
}

// mongosDocs is config.mongos: this server.
func (s *Server) mongosDocs() []bson.Raw {
	b := bson.NewBuilder(nil)
	now := s.Cluster.Now()
	b.String("_id", s.address())
	b.BeginArray("advisoryHostFQDNs")
	b.End()
	b.DateTime("created", s.Started.UnixMilli())
	b.String("mongoVersion", CompatibleVersion)
	b.DateTime("ping", now.UnixMilli())
	b.Int64("up", int64(now.Sub(s.Started).Seconds()))
	b.Bool("waiting", true)
	return []bson.Raw{b.Doc()}
}

// settingDocs is config.settings.
func (s *Server) settingDocs() []bson.Raw {
	b := bson.NewBuilder(nil)
	b.String("_id", "balancer")
	b.String("mode", s.balancerMode())
	b.Bool("stopped", s.balancerOff.Load())
	return append([]bson.Raw{b.Doc()}, s.settings.list()...)
}

// clusterDocs is config.version.
func (s *Server) clusterDocs() []bson.Raw {
	b := bson.NewBuilder(nil)
	b.Int32("_id", 1)
	id := virtualUUID("cluster")
	var oid [12]byte
	copy(oid[:], id[:])
	b.ObjectID("clusterId", oid)
	return []bson.Raw{b.Doc()}
}
