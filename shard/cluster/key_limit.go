package cluster

import (
	"fmt"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/shard/tally"
)

// The bytes of one shard key value are limited in the collections for which Collection.LimitsValues is true. A
// collection without a shard key is one value. A serverless collection as a whole is limited too.
// Source: Azure Cosmos DB, "concepts-limits" (logical partition). The error code is the one that the service's other
// APIs return.

// PartitionKeyFull is the code of a write to a shard key value, or an unsharded or serverless collection, that has
// reached its maximum size.
const PartitionKeyFull mongoerr.Code = 1014

// growth is a change of the size of a heavy shard key value.
type growth struct {
	key   *tally.HeavyKey
	bytes int64
}

// applyGrowth counts the changes after a commit.
func applyGrowth(list []growth) {
	for _, g := range list {
		g.key.Add(g.bytes)
	}
}

// grow records that a document grows by the given bytes, if its shard key value is heavy. It returns an error if that
// value, or the collection (serverless or without a shard key), has no room for them.
// Errors: PartitionKeyFull.
func (a *attempt) grow(doc bson.Raw, bytes int64) error {
	if a.coll.Throughput.Mode == catalog.ThroughputServerless && bytes > 0 &&
		a.c.tally.Of(a.coll.ID).Total(a.coll.Map).Bytes+bytes > ratelimit.ServerlessBytesMax {
		return mongoerr.New(PartitionKeyFull, "The serverless collection %s has reached its maximum size of %s: delete documents, or move to provisioned throughput",
			a.ns, gigabytesText(ratelimit.ServerlessBytesMax))
	}
	limit := a.c.LogicalKeyBytes
	if limit <= 0 || !a.coll.LimitsValues(a.c.Budgets.Collection(uint64(a.coll.ID))) {
		return nil
	}
	counts := a.c.tally.Of(a.coll.ID)
	if !a.coll.Sharded() {
		if bytes > 0 && counts.Total(a.coll.Map).Bytes+bytes > limit {
			return mongoerr.New(PartitionKeyFull, "The collection %s has reached its maximum size of %s, for it has no shard key: "+
				"delete documents, or give it a shard key with shardCollection", a.ns, gigabytesText(limit))
		}
		return nil
	}
	if !counts.Heavy.Any() {
		return nil
	}
	key := a.coll.Key.AppendLogical(nil, doc)
	k := counts.Heavy.Of(key)
	if k == nil {
		return nil
	}
	held := k.Bytes()
	for _, g := range a.grown {
		if g.key == k {
			held += g.bytes
		}
	}
	if bytes > 0 && held+bytes > limit {
		b := bson.NewBuilder(nil)
		a.coll.Key.AppendValues(b, doc)
		return mongoerr.New(PartitionKeyFull, "Partition key reached maximum size of %s: %s of %s. "+
			"Delete documents with this shard key value, or reshard by a key of finer grain (a hierarchical key has no such limit for its first field, and a suffix divides a value)",
			gigabytesText(limit), b.Doc(), a.ns)
	}
	a.grown = append(a.grown, growth{k, bytes})
	return nil
}

// gigabytesText prints a limit as the service does.
func gigabytesText(n int64) string {
	switch {
	case n%(1<<30) == 0:
		return fmt.Sprintf("%d GB", n>>30)
	case n%(1<<20) == 0:
		return fmt.Sprintf("%d MB", n>>20)
	}
	return fmt.Sprintf("%d bytes", n)
}
