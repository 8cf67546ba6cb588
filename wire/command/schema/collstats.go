package schema

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/shard"
	"github.com/cantledb/cantle/shard/cluster"
	"github.com/cantledb/cantle/shard/ddl"
	"github.com/cantledb/cantle/shard/tally"
	"github.com/cantledb/cantle/storage/keyspace"
	"github.com/cantledb/cantle/wire/arguments"
	"github.com/cantledb/cantle/wire/command"
)

// runCollStats answers collStats. Manual: reference/command/collStats.
func (s *State) runCollStats(c *command.Call) error {
	ns, err := c.Namespace()
	if err != nil {
		return err
	}
	scale := int64(1)
	err = c.ReadArgs(
		arguments.Long("scale", &scale).From(1),
		arguments.Bool("verbose", nil),
		arguments.Bool("waitForLock", nil),
		arguments.Bool("numericOnly", nil),
	)
	if err != nil {
		return err
	}
	coll := c.Cluster.Catalog().Collection(ns)
	if coll != nil && coll.IsView() {
		return mongoerr.ViewNotAllowed(ns.String())
	}
	c.Reply.String("ns", ns.String())
	if coll == nil && ns == cluster.OplogNamespace {
		s.oplogStats(c.Reply, scale)
		return nil
	}
	if coll == nil {
		appendNoStats(c.Reply, scale)
		return nil
	}
	return s.collStats(c, c.Reply, coll, scale)
}

// appendNoStats appends the statistics of a collection that does not exist.
func appendNoStats(b *bson.Builder, scale int64) {
	b.Int32("size", 0)
	b.Int32("count", 0)
	b.Int32("numOrphanDocs", 0)
	b.Int32("storageSize", 0)
	b.Int32("totalSize", 0)
	b.Int32("nindexes", 0)
	b.Int32("totalIndexSize", 0)
	b.BeginDoc("indexDetails")
	b.End()
	b.BeginDoc("indexSizes")
	b.End()
	b.Int("scaleFactor", scale)
}

// storageSizes holds the sizes on disk of a collection and of its indexes, in bytes.
type storageSizes struct {
	storage int64
	index   []int64 // by index in Collection.UnstagedIndexes
	total   int64   // of the indexes
}

// sizes reads from the store the approximate sizes on disk of a collection and of its indexes. Data that has not been
// flushed may be missing, so each size is at least collectionBytesMin.
func (s *State) sizes(env *cluster.Op, coll *catalog.Collection) (z storageSizes, err error) {
	ctx := env.Env.Context()
	n, err := s.Cluster.ApproximateBytes(ctx, keyspace.RecordRange(coll.ID))
	if err != nil {
		return z, err
	}
	z.storage = max(int64(n), collectionBytesMin)
	for _, ix := range coll.UnstagedIndexes() {
		n := uint64(collectionBytesMin)
		if ix.ID != coll.IDIndex().ID || coll.PhysicalID() {
			if n, err = s.Cluster.ApproximateBytes(ctx, keyspace.IndexRange(coll.ID, ix.ID)); err != nil {
				return z, err
			}
		}
		size := max(int64(n), collectionBytesMin)
		z.index = append(z.index, size)
		z.total += size
	}
	return z, nil
}

// collStats appends the statistics of a collection and of each of its partitions, with sizes divided by scale.
func (s *State) collStats(c *command.Call, b *bson.Builder, coll *catalog.Collection, scale int64) error {
	counts := c.Cluster.Counts(coll.ID)
	total := counts.Total(coll.Map)
	z, err := s.sizes(&c.Op, coll)
	if err != nil {
		return err
	}
	if coll.Sharded() {
		b.Bool("sharded", true)
		b.Raw("shardKey", coll.Key.Spec())
	} else {
		b.Bool("sharded", false)
	}
	b.Bool("capped", coll.Options.Capped)
	if coll.Options.Capped {
		appendCap(b, coll, scale)
	}
	appendCounts(b, total, scale)
	appendSizes(b, coll, z, scale)
	b.Int32("numOrphanDocs", 0)
	b.Int("scaleFactor", scale)
	b.Int32("nchunks", int32(coll.Map.Len()))
	if coll.Options.TimeSeries == nil {
		b.String("primary", command.ShardName(coll.Map.Shards()[0].ID))
	}
	b.BeginDoc("shards")
	for _, d := range coll.Map.Shards() {
		b.BeginDoc(command.ShardName(d.ID))
		b.String("ns", coll.Namespace.String())
		s.shardStats(b, coll, d, z, total, scale)
		b.End()
	}
	b.End()
	appendThroughput(c, b, coll)
	return nil
}

// appendThroughput appends the request units of a collection.
func appendThroughput(c *command.Call, b *bson.Builder, coll *catalog.Collection) {
	ddl.AppendThroughput(b, coll.Throughput)
	pool := c.Cluster.Budgets.Collection(uint64(coll.ID))
	now := c.Cluster.Now()
	spent, throttled := pool.Totals()
	b.BeginDoc("requestUnits")
	b.Double("total", spent.Float())
	b.Int64("throttled", throttled)
	b.Int32("normalizedPercent", int32(pool.Normalized(now)))
	b.Bool("sharesDatabaseThroughput", pool.Shared())
	b.End()
}

// shardStats appends the statistics of one partition. The store does not measure partitions separately, so the sizes
// on disk are the collection's, in proportion to the bytes of the partition's documents.
func (s *State) shardStats(b *bson.Builder, coll *catalog.Collection, d *shard.Descriptor, z storageSizes, total tally.Count, scale int64) {
	n := s.Cluster.Counts(coll.ID).Shard(d.ID).Get()
	part := z
	if coll.Map.Len() > 1 {
		share := func(bytes int64) int64 {
			if total.Bytes <= 0 {
				return bytes / int64(coll.Map.Len())
			}
			return int64(float64(bytes) * float64(n.Bytes) / float64(total.Bytes))
		}
		part = storageSizes{storage: share(z.storage)}
		for _, size := range z.index {
			part.index = append(part.index, share(size))
			part.total += share(size)
		}
	}
	appendCounts(b, n, scale)
	appendSizes(b, coll, part, scale)
	b.Bool("capped", coll.Options.Capped)
	b.Int32("numOrphanDocs", 0)
	b.Int("scaleFactor", scale)
}

// appendCounts appends the number of documents and their bytes.
func appendCounts(b *bson.Builder, n tally.Count, scale int64) {
	b.Int("size", n.Bytes/scale)
	b.Int("count", n.Docs)
	if n.Docs > 0 {
		b.Int("avgObjSize", n.Bytes/n.Docs)
	}
}

// appendCap appends the bounds of a capped collection.
func appendCap(b *bson.Builder, coll *catalog.Collection, scale int64) {
	most := coll.Options.CapDocs
	b.Int("max", most)
	b.Int("maxSize", coll.Options.CapBytes/scale)
}

// appendSizes appends the bytes on disk.
func appendSizes(b *bson.Builder, coll *catalog.Collection, z storageSizes, scale int64) {
	b.Int("storageSize", z.storage/scale)
	b.Int32("freeStorageSize", 0)
	shown := shownIndexes(coll)
	sizes, total := z.index, z.total
	if unlistedID(coll) {
		total -= sizes[0]
		sizes = sizes[1:]
	}
	b.Int32("nindexes", int32(len(shown)))
	b.BeginArray("indexBuilds")
	for _, ix := range shown {
		if ix.State == catalog.IndexBuilding {
			b.String("", ix.Name)
		}
	}
	b.End()
	b.Int("totalIndexSize", total/scale)
	b.Int("totalSize", (z.storage+total)/scale)
	b.BeginDoc("indexSizes")
	for i, ix := range shown {
		b.Int(ix.Name, sizes[i]/scale)
	}
	b.End()
	b.BeginDoc("indexDetails")
	for _, ix := range shown {
		b.BeginDoc(ix.Name)
		b.End()
	}
	b.End()
}
