package command

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/shard"
	"github.com/cantledb/cantle/shard/cluster"
)

// stageSource is a row of the table of the aggregation stages whose documents the
// server makes: what it is doing, what it has.
type stageSource struct {
	name string
	docs func(s *Server, o *cluster.Op, ns collection.Namespace, spec bson.Raw) ([]bson.Raw, error)
}

// stageSources is the table, in alphabetical order.
var stageSources = []stageSource{
	{name: "$collStats", docs: (*Server).collStatsDocs},
	{name: "$currentOp", docs: (*Server).currentOpDocs},
	{name: "$indexStats", docs: (*Server).indexStatsDocs},
	{name: "$listClusterCatalog", docs: (*Server).clusterCatalogDocs},
	{name: "$listLocalSessions", docs: (*Server).localSessionDocs},
	{name: "$listSampledQueries", docs: (*Server).sampledDocs},
	{name: "$listSessions", docs: (*Server).listSessionDocs},
	{name: "$planCacheStats", docs: (*Server).planCacheDocs},
	{name: "$querySettings", docs: (*Server).querySettingsDocs},
	{name: "$queryStats", docs: (*Server).queryStatsDocs},
	{name: "$shardedDataDistribution", docs: (*Server).distributionDocs},
}

// stageInfo makes the documents of the aggregation stages about the server; it
// is cluster.Upper.Info.
// Errors: NotImplemented (238), NamespaceNotFound (26) and those of the stages.
func (s *Server) stageInfo(o *cluster.Op, ns collection.Namespace, kind string, spec bson.Raw) ([]bson.Raw, error) {
	for _, x := range stageSources {
		if x.name == kind {
			return x.docs(s, o, ns, spec)
		}
	}
	return nil, mongoerr.NotImplementedYet(kind)
}

// queryStatsDocs is $queryStats: there are none.
func (s *Server) queryStatsDocs(*cluster.Op, collection.Namespace, bson.Raw) ([]bson.Raw, error) {
	return nil, nil
}

// existing finds a collection for a stage about one.
func (s *Server) existing(ns collection.Namespace) (*catalog.Collection, error) {
	coll := s.Cluster.Catalog.Peek().Collection(ns)
	if coll == nil {
		return nil, mongoerr.New(mongoerr.NamespaceNotFound, "Collection [%s] not found.", ns)
	}
	return coll, nil
}

// collStatsDocs is $collStats: one document per partition.
// Manual: reference/operator/aggregation/collStats.
func (s *Server) collStatsDocs(o *cluster.Op, ns collection.Namespace, spec bson.Raw) (docs []bson.Raw, err error) {
	spec = withoutNulls(spec)
	coll := s.Cluster.Catalog.Peek().Collection(ns)
	var z storageSizes
	scale := int64(1)
	storage, wantStorage := spec.Get("storageStats").Doc()
	if wantStorage {
		if n, ok := roundedLong(storage.Get("scale")); ok {
			scale = n
		}
	}
	if coll == nil && ns == cluster.OplogNamespace {
		b := s.statsHead(ns, "p0", spec)
		if wantStorage {
			b.BeginDoc("storageStats")
			s.oplogStats(b, scale)
			b.End()
		}
		if hasField(spec, "count") {
			docs, _ := s.Jobs.LogKept()
			b.Int("count", docs)
		}
		return []bson.Raw{b.Doc()}, nil
	}
	if coll == nil {
		if wantStorage || hasField(spec, "count") {
			return nil, mongoerr.New(mongoerr.NamespaceNotFound, "Collection [%s] not found.", ns)
		}
		return []bson.Raw{s.statsHead(ns, "p0", spec).Doc()}, nil
	}
	if coll.IsView() {
		return nil, mongoerr.ViewNotAllowed(ns.String())
	}
	total := s.Cluster.Tally.Of(coll.ID).Total(coll.Map)
	if wantStorage {
		if z, err = s.sizes(o, coll, total); err != nil {
			return nil, err
		}
	}
	for _, d := range coll.Map.Shards() {
		b := s.statsHead(ns, shardName(d.ID), spec)
		if wantStorage {
			b.BeginDoc("storageStats")
			s.shardStats(b, coll, d, z, total, scale)
			if coll.Options.Capped {
				appendCap(b, coll, scale)
			}
			b.End()
		}
		if hasField(spec, "count") {
			b.Int("count", s.Cluster.Tally.Of(coll.ID).Shard(d.ID).Get().Docs)
		}
		docs = append(docs, b.Doc())
	}
	return docs, nil
}

// withoutNulls leaves out fields that are null, which means absent. A field may
// come twice.
func withoutNulls(d bson.Raw) bson.Raw {
	b := bson.NewBuilder(nil)
	for it := d.Iter(); it.Next(); {
		if it.Value.Type != bson.TypeNull {
			b.ValueBytes(it.Name, it.Value)
		}
	}
	return b.Doc()
}

// statsHead begins a document of $collStats.
func (s *Server) statsHead(ns collection.Namespace, name string, spec bson.Raw) *bson.Builder {
	b := bson.NewBuilder(nil)
	b.String("ns", ns.String())
	b.String("shard", name)
	b.String("host", s.address())
	b.DateTime("localTime", s.Cluster.Now().UnixMilli())
	if hasField(spec, "latencyStats") {
		b.BeginDoc("latencyStats")
		for _, kind := range []string{"reads", "writes", "commands", "transactions"} {
			b.BeginDoc(kind)
			b.Int64("latency", 0)
			b.Int64("ops", 0)
			b.End()
		}
		b.End()
	}
	if hasField(spec, "queryExecStats") {
		b.BeginDoc("queryExecStats")
		b.BeginDoc("collectionScans")
		b.Int64("total", 0)
		b.Int64("nonTailable", 0)
		b.End()
		b.End()
	}
	return b
}

// indexStatsDocs is $indexStats.
// Manual: reference/operator/aggregation/indexStats.
func (s *Server) indexStatsDocs(_ *cluster.Op, ns collection.Namespace, _ bson.Raw) (docs []bson.Raw, err error) {
	coll, err := s.existing(ns)
	if err != nil {
		return nil, nil // a missing collection has no indexes
	}
	if coll.IsView() {
		return nil, mongoerr.ViewNotAllowed(ns.String())
	}
	for _, ix := range shownIndexes(coll) {
		b := bson.NewBuilder(nil)
		b.String("name", ix.Name)
		b.Raw("key", ix.Key)
		b.String("host", s.address())
		b.BeginDoc("accesses")
		b.Int64("ops", s.Cluster.Uses.Of(coll.ID, ix.ID))
		b.DateTime("since", s.Started.UnixMilli())
		b.End()
		if coll.Sharded() {
			b.String("shard", shardName(coll.Map.Shards()[0].ID))
		}
		b.Raw("spec", ix.Raw())
		if ix.State == catalog.IndexBuilding {
			b.Bool("building", true)
		}
		docs = append(docs, b.Doc())
	}
	return docs, nil
}

// distributionDocs is $shardedDataDistribution.
// Manual: reference/operator/aggregation/shardedDataDistribution.
func (s *Server) distributionDocs(*cluster.Op, collection.Namespace, bson.Raw) (docs []bson.Raw, err error) {
	s.sharded(func(coll *catalog.Collection) {
		b := bson.NewBuilder(nil)
		b.String("ns", coll.Namespace.String())
		b.BeginArray("shards")
		for _, d := range coll.Map.Shards() {
			n := s.Cluster.Tally.Of(coll.ID).Shard(d.ID).Get()
			b.BeginDoc("")
			b.String("shardName", shardName(d.ID))
			b.Int32("numOrphanedDocs", 0)
			b.Int("numOwnedDocuments", n.Docs)
			b.Int("ownedSizeBytes", n.Bytes)
			b.Int32("orphanedSizeBytes", 0)
			b.End()
		}
		b.End()
		docs = append(docs, b.Doc())
	})
	return docs, nil
}

// clusterCatalogDocs is $listClusterCatalog: the collections of a database, of
// all on admin. Manual: reference/operator/aggregation/listClusterCatalog.
func (s *Server) clusterCatalogDocs(_ *cluster.Op, ns collection.Namespace, spec bson.Raw) (docs []bson.Raw, err error) {
	db, all := ns.DB, ns.DB == "admin"
	if all {
		db = ""
	}
	add := func(db string, info bson.Raw, sharded bool, shards []*shard.Descriptor) {
		b := bson.NewBuilder(nil)
		b.String("db", db)
		for it := info.Iter(); it.Next(); {
			if string(it.Name) == "name" {
				name, _ := it.Value.Str()
				b.String("ns", db+"."+name)
			} else {
				b.ValueBytes(it.Name, it.Value)
			}
		}
		b.Bool("sharded", sharded)
		if spec.Get("shards").Truthy() {
			b.BeginArray("shards")
			for _, d := range shards {
				b.String("", shardName(d.ID))
			}
			b.End()
		}
		docs = append(docs, b.Doc())
	}
	for _, coll := range s.Cluster.Catalog.Peek().Collections(db) {
		var shards []*shard.Descriptor
		if coll.Map != nil {
			shards = coll.Map.Shards()
		}
		add(coll.Namespace.DB, collectionInfo(coll, false), coll.Sharded(), shards)
	}
	for _, v := range virtuals {
		if all || v.db == db {
			add(v.db, virtualInfo(v.db, v.coll, false), false, nil)
		}
	}
	return docs, nil
}
