package command

import (
	"bytes"
	"sort"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/shard"
	"github.com/cantledb/cantle/storage/keyspace"
)

// In the shape of a cluster every partition number is a shard: partition 3 of
// any collection lies on "p3". Partition numbers are a collection's own, so a
// shard says how far partitions go, not where bytes lie.

// shardName is what the shard of a partition is called.
func shardName(id shard.ID) string { return "p" + id.String() }

// shardIDs lists the partition numbers in use, 0 always among them.
func (s *Server) shardIDs() []shard.ID {
	used := map[shard.ID]bool{0: true}
	for _, coll := range s.Cluster.Catalog.Peek().Collections("") {
		if coll.Map != nil {
			for _, d := range coll.Map.Shards() {
				used[d.ID] = true
			}
		}
	}
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

// shardDocs is config.shards.
func (s *Server) shardDocs() (docs []bson.Raw) {
	for _, id := range s.shardIDs() {
		b := bson.NewBuilder(nil)
		b.String("_id", shardName(id))
		b.String("host", s.address())
		b.Int32("state", 1)
		b.Timestamp("topologyTime", uint32(s.Started.Unix()), 1)
		b.Bool("draining", false)
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
		b.Bool("unique", false)
		b.Bool("noBalance", false)
		docs = append(docs, b.Doc())
	})
	return docs
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
			appendBound(b, "min", coll, d.Lo, bson.MinKey)
			appendBound(b, "max", coll, d.Hi, bson.MaxKey)
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

// appendBound prints a bound of a partition as values of the shard key's
// fields: hashes as 64-bit numbers, in their order.
func appendBound(b *bson.Builder, name string, coll *catalog.Collection, p shard.Position, open bson.Value) {
	fields := coll.Key.Fields()
	b.BeginDoc(name)
	defer b.End()
	h := hashOf(p)
	for i, f := range fields {
		switch {
		case p == nil:
			b.Value(f.Path.String(), open)
		case len(fields) == 1:
			b.Int64(f.Path.String(), int64(h^signBit))
		case i == 0:
			b.Int64(f.Path.String(), int64(h&^(1<<32-1)^signBit))
		case i == 1 && len(fields) == 2:
			b.Int64(f.Path.String(), int64(h<<32^signBit))
		case i == 1:
			b.Int64(f.Path.String(), int64(h>>16<<48^signBit))
		default:
			b.Int64(f.Path.String(), int64(h<<48^signBit))
		}
	}
}

// hashOf reads a position of eight bytes.
func hashOf(p shard.Position) uint64 {
	lo, _ := shard.Range{Lo: p}.Hashes()
	return uint64(lo)
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
	return []bson.Raw{b.Doc()}
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

// findChunk finds the shard that begins at a bound, given as in config.chunks.
func findChunk(coll *catalog.Collection, bound bson.Raw) *shard.Descriptor {
	for _, d := range coll.Map.Shards() {
		b := bson.NewBuilder(nil)
		appendBound(b, "min", coll, d.Lo, bson.MinKey)
		lo, _ := b.Doc().Get("min").Doc()
		if bytes.Equal(lo, bound) || bson.Equal(lo.Value(), bound.Value(), nil) {
			return d
		}
	}
	return nil
}

// hashOfBound reads a bound of a single hashed field.
func hashOfBound(coll *catalog.Collection, bound bson.Raw) (h keyspace.Hash, ok bool) {
	fields := coll.Key.Fields()
	if len(fields) != 1 {
		return 0, false
	}
	n, ok := bound.Get(fields[0].Path.String()).AsInt64()
	return keyspace.Hash(uint64(n) ^ 1<<63), ok
}

// signBit turns a position into the signed hash that MongoDB's tools print.
const signBit = 1 << 63
