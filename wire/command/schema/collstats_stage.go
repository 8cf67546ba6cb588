package schema

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/shard/cluster"
	"github.com/cantledb/cantle/wire/arguments"
	"github.com/cantledb/cantle/wire/command"
)

// findCollection returns the collection with a namespace. Errors: NamespaceNotFound (26) if it does not exist.
func (s *State) findCollection(ns collection.Namespace) (*catalog.Collection, error) {
	coll := s.Cluster.Catalog().Collection(ns)
	if coll == nil {
		return nil, mongoerr.New(mongoerr.NamespaceNotFound, "Collection [%s] not found.", ns)
	}
	return coll, nil
}

// collStatsDocs returns the documents of $collStats: one per partition.
// Manual: reference/operator/aggregation/collStats.
func (s *State) collStatsDocs(o *cluster.Op, ns collection.Namespace, spec bson.Raw) (docs []bson.Raw, err error) {
	spec = withoutNulls(spec)
	coll := s.Cluster.Catalog().Collection(ns)
	var z storageSizes
	scale := int64(1)
	storage, wantStorage := spec.Get("storageStats").Doc()
	if wantStorage {
		if n, ok := arguments.RoundedLong(storage.Get("scale")); ok {
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
		if spec.Has("count") {
			docs, _ := s.Jobs.LogLength()
			b.Int("count", docs)
		}
		return []bson.Raw{b.Doc()}, nil
	}
	if coll == nil {
		if wantStorage || spec.Has("count") {
			return nil, mongoerr.New(mongoerr.NamespaceNotFound, "Collection [%s] not found.", ns)
		}
		return []bson.Raw{s.statsHead(ns, "p0", spec).Doc()}, nil
	}
	if coll.IsView() {
		if wantStorage || spec.Has("count") || spec.Has("queryExecStats") {
			return nil, mongoerr.ViewNotAllowed(ns.String())
		}
		return []bson.Raw{s.statsHead(ns, "p0", spec).Doc()}, nil
	}
	if err := s.Cluster.Recounted(o.Env.Context()); err != nil {
		return nil, err
	}
	total := s.Cluster.Counts(coll.ID).Total(coll.Map)
	if wantStorage {
		if z, err = s.sizes(o, coll); err != nil {
			return nil, err
		}
	}
	for _, d := range coll.Map.Shards() {
		b := s.statsHead(ns, command.ShardName(d.ID), spec)
		if wantStorage {
			b.BeginDoc("storageStats")
			s.shardStats(b, coll, d, z, total, scale)
			if coll.Options.Capped {
				appendCap(b, coll, scale)
			}
			b.End()
		}
		if spec.Has("count") {
			b.Int("count", s.Cluster.Counts(coll.ID).Shard(d.ID).Get().Docs)
		}
		docs = append(docs, b.Doc())
	}
	return docs, nil
}

// withoutNulls returns a document without the fields that are null, because null counts as absent. A field may be
// repeated.
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
func (s *State) statsHead(ns collection.Namespace, name string, spec bson.Raw) *bson.Builder {
	b := bson.NewBuilder(nil)
	b.String("ns", ns.String())
	b.String("shard", name)
	b.String("host", s.Address())
	b.DateTime("localTime", s.Cluster.Now().UnixMilli())
	if of, ok := spec.Get("latencyStats").Doc(); ok {
		b.BeginDoc("latencyStats")
		s.Usage.AppendLatencies(b, ns, of.Get("histograms").Truthy())
		b.End()
	}
	if spec.Has("queryExecStats") {
		total, nonTailable := s.Usage.CollectionScans(ns)
		b.BeginDoc("queryExecStats")
		b.BeginDoc("collectionScans")
		b.Int64("total", total)
		b.Int64("nonTailable", nonTailable)
		b.End()
		b.End()
	}
	return b
}

// indexStatsDocs returns the documents of $indexStats.
// Manual: reference/operator/aggregation/indexStats.
func (s *State) indexStatsDocs(_ *cluster.Op, ns collection.Namespace, _ bson.Raw) (docs []bson.Raw, err error) {
	coll, err := s.findCollection(ns)
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
		b.String("host", s.Address())
		b.BeginDoc("accesses")
		b.Int64("ops", s.Cluster.Uses.Of(coll.ID, ix.ID))
		b.DateTime("since", s.Started.UnixMilli())
		b.End()
		if coll.Sharded() {
			b.String("shard", command.ShardName(coll.Map.Shards()[0].ID))
		}
		b.Raw("spec", ix.Raw())
		if ix.State == catalog.IndexBuilding {
			b.Bool("building", true)
		}
		docs = append(docs, b.Doc())
	}
	return docs, nil
}
