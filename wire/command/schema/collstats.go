package schema

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/shard"
	"github.com/cantledb/cantle/shard/cluster"
	"github.com/cantledb/cantle/shard/ddl"
	"github.com/cantledb/cantle/shard/tally"
	"github.com/cantledb/cantle/storage/keyspace"
	"github.com/cantledb/cantle/wire/command"
)

// runCollStats answers collStats. Manual: reference/command/collStats.
func (s *State) runCollStats(c *command.Call) error {
	ns, err := c.Namespace()
	if err != nil {
		return err
	}
	scale := int64(1)
	err = c.Each(func(name string, v bson.Value) (_ bool, err error) {
		switch name {
		case "scale":
			scale, err = scaleArg(c, name, v)
		case "verbose", "waitForLock":
			_, err = c.BoolArg(name, v)
		case "numericOnly":
			_, err = c.BoolArg(name, v)
		default:
			return false, nil
		}
		return true, err
	})
	if err != nil {
		return err
	}
	coll := c.Cluster.Catalog.Peek().Collection(ns)
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

// scaleArg reads scale. Errors: TypeMismatch (14), BadValue (2).
func scaleArg(c *command.Call, name string, v bson.Value) (int64, error) {
	if v.IsMissing() {
		return 1, nil
	}
	n, err := c.LongArg(name, v)
	if err == nil && n < 1 {
		err = mongoerr.OutOfRange(name, n, ">=", 1)
	}
	return n, err
}

// appendNoStats is what a missing collection has.
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

// storageSizes are the bytes that a collection and its indexes take.
type storageSizes struct {
	storage int64
	index   []int64 // by place in the collection's list
	total   int64   // of the indexes
}

// sizes asks the store. What is written but not flushed may be missing, so the
// documents' own bytes are the least.
func (s *State) sizes(env *cluster.Op, coll *catalog.Collection, docs tally.Count) (z storageSizes, err error) {
	ctx := env.Env.Context()
	n, err := s.Cluster.Store.ApproximateBytes(ctx, keyspace.RecordRange(coll.ID))
	if err != nil {
		return z, err
	}
	z.storage = max(int64(n), collectionBytesMin)
	for _, ix := range coll.Indexes {
		n := uint64(collectionBytesMin)
		if ix.ID != coll.IDIndex().ID || coll.PhysicalID() {
			if n, err = s.Cluster.Store.ApproximateBytes(ctx, keyspace.IndexRange(coll.ID, ix.ID)); err != nil {
				return z, err
			}
		}
		size := max(int64(n), collectionBytesMin)
		z.index = append(z.index, size)
		z.total += size
	}
	return z, nil
}

// collStats prints the statistics of a collection, and of each partition where
// there are several.
func (s *State) collStats(c *command.Call, b *bson.Builder, coll *catalog.Collection, scale int64) error {
	counts := c.Cluster.Tally.Of(coll.ID)
	total := counts.Total(coll.Map)
	z, err := s.sizes(&c.Op, coll, total)
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

// appendThroughput prints the request units of a collection.
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

// shardStats prints one partition's part of a collection. The store keeps all
// partitions together, so their bytes on disk are shared out by documents.
func (s *State) shardStats(b *bson.Builder, coll *catalog.Collection, d *shard.Descriptor, z storageSizes, total tally.Count, scale int64) {
	n := s.Cluster.Tally.Of(coll.ID).Shard(d.ID).Get()
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

// appendCounts prints documents and their bytes.
func appendCounts(b *bson.Builder, n tally.Count, scale int64) {
	b.Int("size", n.Bytes/scale)
	b.Int("count", n.Docs)
	if n.Docs > 0 {
		b.Int("avgObjSize", n.Bytes/n.Docs)
	}
}

func appendCap(b *bson.Builder, coll *catalog.Collection, scale int64) {
	most := coll.Options.CapDocs
	b.Int("max", most)
	b.Int("maxSize", coll.Options.CapBytes/scale)
}

// appendSizes prints bytes on disk.
func appendSizes(b *bson.Builder, coll *catalog.Collection, z storageSizes, scale int64) {
	b.Int("storageSize", z.storage/scale)
	b.Int32("freeStorageSize", 0)
	shown := shownIndexes(coll)
	skip := len(coll.Indexes) - len(shown)
	total := z.total
	if skip > 0 {
		total -= z.index[0]
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
		b.Int(ix.Name, z.index[i+skip]/scale)
	}
	b.End()
	b.BeginDoc("indexDetails")
	for _, ix := range shown {
		b.BeginDoc(ix.Name)
		b.End()
	}
	b.End()
}

// runDBStats answers dbStats. Manual: reference/command/dbStats.
func (s *State) runDBStats(c *command.Call) error {
	scale, free := int64(1), int64(0)
	err := c.Each(func(name string, v bson.Value) (_ bool, err error) {
		switch name {
		case "scale":
			scale, err = scaleArg(c, name, v)
		case "freeStorage":
			var yes bool
			if yes, err = c.BoolArg(name, v); yes {
				free = 1
			}
		default:
			return false, nil
		}
		return true, err
	})
	if err != nil {
		return err
	}
	var colls, views, indexes int64
	if c.HasViews(c.DB) {
		colls++ // system.views
	}
	var n tally.Count
	var storage, indexSize int64
	for _, coll := range c.Cluster.Catalog.Peek().Collections(c.DB) {
		if coll.IsView() {
			views++
			continue
		}
		docs := c.Cluster.Tally.Of(coll.ID).Total(coll.Map)
		z, err := s.sizes(&c.Op, coll, docs)
		if err != nil {
			return err
		}
		colls++
		indexes += int64(len(shownIndexes(coll)))
		n = n.Add(docs)
		storage += z.storage
		indexSize += z.total
	}
	b := c.Reply
	b.String("db", c.DB)
	b.Int64("collections", colls)
	b.Int64("views", views)
	b.Int64("objects", n.Docs)
	avg := 0.0
	if n.Docs > 0 {
		avg = float64(n.Bytes) / float64(n.Docs)
	}
	b.Double("avgObjSize", avg)
	scaled := func(name string, bytes int64) { b.Double(name, float64(bytes)/float64(scale)) }
	scaled("dataSize", n.Bytes)
	scaled("storageSize", storage)
	if free != 0 {
		scaled("freeStorageSize", 0)
	}
	b.Int64("indexes", indexes)
	scaled("indexSize", indexSize)
	if free != 0 {
		scaled("indexFreeStorageSize", 0)
	}
	scaled("totalSize", storage+indexSize)
	if free != 0 {
		scaled("totalFreeStorageSize", 0)
	}
	b.Int64("scaleFactor", scale)
	disk, all := s.disk()
	scaled("fsUsedSize", disk)
	scaled("fsTotalSize", all)
	if d := c.Cluster.Catalog.Peek().Database(c.DB); d != nil {
		ddl.AppendThroughput(b, d.Throughput)
	}
	return nil
}

// runDataSize answers dataSize. Manual: reference/command/dataSize.
func runDataSize(c *command.Call) error {
	if c.Value.Type != bson.TypeString {
		return mongoerr.WrongType("dataSize.dataSize", c.Value.Type.String(), "string")
	}
	s, _ := c.Value.Str()
	ns := collection.ParseNamespace(s)
	if ns.Coll == "" {
		return mongoerr.BadNamespace(s)
	}
	if err := command.CheckNamespace(ns); err != nil {
		return err
	}
	var lo, hi, key bson.Raw
	estimate := false
	err := c.Each(func(name string, v bson.Value) (_ bool, err error) {
		switch name {
		case "keyPattern":
			key, err = c.DocArg(name, v)
		case "min":
			lo, err = c.DocArg(name, v)
		case "max":
			hi, err = c.DocArg(name, v)
		case "estimate":
			estimate, err = c.BoolArg(name, v)
		case "maxSize", "maxObjects":
			_, err = c.LongArg(name, v)
		default:
			return false, nil
		}
		return true, err
	})
	if err != nil {
		return err
	}
	if (lo == nil) != (hi == nil) {
		return mongoerr.New(mongoerr.BadValue, "only one of min or max specified")
	}
	start := c.Cluster.Now()
	var n tally.Count
	coll := c.Cluster.Catalog.Peek().Collection(ns)
	switch {
	case coll != nil && coll.Options.TimeSeries != nil:
		return mongoerr.New(mongoerr.CommandNotSupportedOnView, "%s is a time-series collection", ns)
	case coll == nil:
	case coll.IsView():
		return mongoerr.ViewNotAllowed(ns.String())
	case lo == nil:
		n = c.Cluster.Tally.Of(coll.ID).Total(coll.Map)
	default:
		if err := coveringIndex(coll, key, lo); err != nil {
			return err
		}
		if n, err = sizeBetween(c, ns, key, lo, hi); err != nil {
			return err
		}
	}
	c.Reply.Int64("size", n.Bytes)
	c.Reply.Int64("numObjects", n.Docs)
	c.Reply.Int64("millis", command.Millis(c.Cluster.Now().Sub(start)))
	c.Reply.Bool("estimate", estimate)
	return nil
}

// coveringIndex wants an index that begins with the fields of a key.
// Errors: OperationFailed (96).
func coveringIndex(coll *catalog.Collection, key, lo bson.Raw) error {
	if key.IsEmpty() {
		key = lo
	}
next:
	for _, ix := range coll.Indexes {
		have := ix.Key.Iter()
		for want := key.Iter(); want.Next(); {
			if !have.Next() || string(have.Name) != string(want.Name) {
				continue next
			}
		}
		return nil
	}
	return mongoerr.New(mongoerr.OperationFailed, "couldn't find valid index containing key pattern %s", key)
}

// sizeBetween adds up the documents between two bounds of a key: a document
// belongs when its first field lies between those of the bounds.
func sizeBetween(c *command.Call, ns collection.Namespace, key, lo, hi bson.Raw) (n tally.Count, err error) {
	f, ok := key.First()
	if !ok {
		f, ok = lo.First()
	}
	if !ok {
		return n, mongoerr.New(mongoerr.BadValue, "min and max must not be empty")
	}
	field := string(f.Name)
	b := bson.NewBuilder(nil)
	b.BeginDoc("$match")
	b.BeginDoc("$expr")
	b.BeginArray("$and")
	for _, x := range []struct {
		op string
		v  bson.Value
	}{{"$gte", lo.Get(field)}, {"$lt", hi.Get(field)}} {
		b.BeginDoc("")
		b.BeginArray(x.op)
		b.String("", "$"+field)
		b.BeginDoc("")
		b.Value("$literal", x.v)
		b.End()
		b.End()
		b.End()
	}
	b.End()
	b.End()
	b.End()
	err = c.Drain(ns, []bson.Raw{b.Doc()}, bson.Value{}, func(d bson.Raw) error {
		n.Docs++
		n.Bytes += int64(len(d))
		return nil
	})
	return n, err
}
