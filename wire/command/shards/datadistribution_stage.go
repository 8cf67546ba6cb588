package shards

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/shard/cluster"
	"github.com/cantledb/cantle/wire/command"
)

// distributionDocs returns the documents of $shardedDataDistribution.
// Manual: reference/operator/aggregation/shardedDataDistribution.
func (s *State) distributionDocs(o *cluster.Op, _ collection.Namespace, _ bson.Raw) (docs []bson.Raw, err error) {
	if err := s.Cluster.Recounted(o.Env.Context()); err != nil {
		return nil, err
	}
	s.Cluster.Catalog().EachSharded(func(coll *catalog.Collection) {
		b := bson.NewBuilder(nil)
		b.String("ns", coll.Namespace.String())
		b.BeginArray("shards")
		for _, d := range coll.Map.Shards() {
			n := s.Cluster.Counts(coll.ID).Shard(d.ID).Get()
			b.BeginDoc("")
			b.String("shardName", command.ShardName(d.ID))
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
