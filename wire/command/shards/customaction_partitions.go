package shards

import (
	"fmt"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/shard/balance"
	"github.com/cantledb/cantle/shard/cluster"
	"github.com/cantledb/cantle/shard/skew"
	"github.com/cantledb/cantle/wire/command"
)

// hotKeysDefault is the number of hot keys of each partition in a reply, if the client requests no number.
const hotKeysDefault = 10

// hotKeysMax is the maximum number of hot keys of each partition in a reply.
const hotKeysMax = 64

// getPartitions runs {customAction: "GetPartitions", collection: "c"}, which Azure Cosmos DB does not have: it
// reports the contents and the RU consumption of every partition, to find a hot partition. The numbers cover all
// servers of the store; servers that did not answer are listed in the field incomplete. Only users that may read the
// documents see hot values of the shard key.
func (s *State) getPartitions(c *command.Call, a *customArgs) error {
	coll, err := c.Collection(a.ns)
	if err != nil {
		return err
	}
	if a.top == 0 {
		a.top = hotKeysDefault
	}
	a.top = min(a.top, hotKeysMax)
	sum, incomplete, err := s.clusterPartitions(c.Ctx, coll)
	if err != nil {
		return err
	}
	b := c.Reply
	b.String("database", c.DB)
	b.String("collection", a.ns.Coll)
	if coll.Sharded() {
		b.Raw("shardKeyDefinition", coll.Key.Spec())
	}
	b.String("mapVersion", coll.Map.Version().String())
	if sum.thisHour > 0 {
		b.BeginDoc("autoscaledTo") // the throughput that would be billed
		b.Int64("thisHour", sum.thisHour)
		b.Int64("lastHour", sum.lastHour)
		b.End()
	}
	if err := c.Cluster.Recounted(c.Ctx); err != nil {
		return err
	}
	counts := c.Cluster.Counts(coll.ID)
	callers, now := c.Server.MaySeeCallers(c.ConnState.Login), c.Cluster.Now()
	bounds, values := coll.Sharded() && c.Server.MaySeeBounds(c.ConnState.Login, a.ns), c.Server.MaySeeValues(c.ConnState.Login, a.ns)
	var stats []ratelimit.BucketStats
	b.BeginArray("partitions")
	for _, d := range coll.Map.Shards() {
		b.BeginDoc("")
		b.String("id", d.ID.String())
		b.String("shard", command.ShardName(d.ID))
		if bounds {
			b.Raw("min", coll.Key.Bound(d.Lo, bson.MinKey))
			b.Raw("max", coll.Key.Bound(d.Hi, bson.MaxKey))
		}
		b.Bool("settled", d.Settled())
		n := counts.Shard(d.ID).Get()
		b.Int64("documents", n.Docs)
		b.Int64("bytes", n.Bytes)
		p := sum.part(int(d.ID))
		p.Shard = int(d.ID)
		stats = append(stats, p.BucketStats)
		if len(incomplete) == 0 {
			stats[len(stats)-1].PeersSpent = 0 // the sums have it
		}
		appendLoad(b, p.BucketStats)
		appendHot(b, "hottestByRU", coll, p.byRU[:min(len(p.byRU), int(a.top))], true, values, callers)
		appendHot(b, "hottestByBytes", coll, p.byBytes[:min(len(p.byBytes), int(a.top))], false, values, false)
		if callers {
			appendPartitionCallers(b, &p.callers, now)
		}
		b.End()
		if err := c.CheckReplySize(); err != nil {
			return err
		}
	}
	b.End()
	verdict := skew.Judge(skew.Stats(stats))
	b.BeginDoc("load")
	cluster.AppendVerdict(b, &verdict)
	b.End()
	appendLimits(c, b, coll, sum, values)
	appendIncomplete(b, incomplete)
	return nil
}

// appendLimits appends the maximum size of all documents with one shard key value, the largest values with their
// percentage of that size (without a shard key, that of the collection), and warnings for values of at least
// fullPercent. It appends nothing for a collection without such a limit, see Collection.LimitsValues.
func appendLimits(c *command.Call, b *bson.Builder, coll *catalog.Collection, sum *partitionsSum, values bool) {
	limit := c.Cluster.LogicalKeyBytes
	if limit <= 0 || !coll.LimitsValues(c.Cluster.Budgets.Collection(uint64(coll.ID))) {
		return
	}
	counts := c.Cluster.Counts(coll.ID)
	percent := func(n int64) int32 { return int32(n * 100 / limit) }
	var warnings []string
	b.Int64("logicalPartitionLimit", limit)
	if !coll.Sharded() {
		n := percent(counts.Total(coll.Map).Bytes)
		b.Int32("percentOfLimit", n)
		if n >= fullPercent {
			warnings = append(warnings, fmt.Sprintf("the collection has no shard key and uses %d%% of its maximum of %d bytes: shard it", n, limit))
		}
	} else {
		b.BeginArray("largestValues")
		for _, k := range sum.largest() {
			b.BeginDoc("")
			if values {
				appendLogical(b, coll, k.key)
			}
			b.String("partition", k.shard.String())
			b.Int64("bytes", k.bytes)
			b.Int32("percentOfLimit", percent(k.bytes))
			b.End()
			if percent(k.bytes) >= fullPercent {
				which := "a shard key value of partition " + k.shard.String()
				if values {
					which = "the shard key value " + balance.LogicalText(coll, k.key)
				}
				warnings = append(warnings, fmt.Sprintf("%s uses %d%% of its maximum of %d bytes: writes that exceed it will be refused; choose a shard key with more distinct values",
					which, percent(k.bytes), limit))
			}
		}
		b.End()
	}
	b.BeginArray("warnings")
	for _, w := range warnings {
		b.String("", w)
	}
	b.End()
}

// fullPercent is the percentage of a size limit from which GetPartitions has a warning.
const fullPercent = 80

// appendLoad appends the RU consumption of a partition.
func appendLoad(b *bson.Builder, s ratelimit.BucketStats) {
	if s.Limit > 0 {
		b.Double("throughput", s.Limit.Float())
	}
	b.Double("ruLastSecond", s.LastSecond.Float())
	b.Double("ruLastMinute", s.LastMinute.Float())
	b.Double("ruTotal", s.Total.Float())
	b.Int32("normalizedPercent", int32(s.Normalized))
	b.Int64("throttled", s.Throttled)
	b.Int64("throttledLastMinute", s.ThrottledMinute)
	b.Int32("waiting", int32(s.Waiting))
}

// appendHot appends the heaviest shard key values of a partition, each with its charge in RU (inRU) or else its bytes.
// If values is false, it leaves the values themselves out, and without callers the applications and users.
func appendHot(b *bson.Builder, name string, coll *catalog.Collection, keys []ratelimit.Hot, inRU, values, callers bool) {
	b.BeginArray(name)
	for _, k := range keys {
		b.BeginDoc("")
		if values {
			appendLogical(b, coll, k.Key)
		}
		if inRU {
			b.Double("ru", ratelimit.MicroRU(k.Weight).Float())
		} else {
			b.Int64("bytes", k.Weight)
		}
		if callers {
			appendHotCallers(b, &k)
		}
		b.End()
	}
	b.End()
}

// appendLogical appends the shard key value that KeyPattern.AppendLogical has encoded as key. A truncated value, and
// any of an unsharded collection, is appended as its bytes.
func appendLogical(b *bson.Builder, coll *catalog.Collection, key string) {
	values, err := coll.Key.LogicalValues([]byte(key))
	if err != nil || !coll.Sharded() {
		b.Binary("key", 0, []byte(key))
		return
	}
	b.Raw("key", values)
}
