package shards

import (
	"cmp"
	"fmt"

	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/shard/jobs"
	"github.com/cantledb/cantle/shard/planned"
	"github.com/cantledb/cantle/shard/skew"
	"github.com/cantledb/cantle/wire/command"
)

const (
	// obstructingPercent is the share of a collection's charges from which one shard key value is an obstacle.
	obstructingPercent = 50
	// obstructingLeast is the charge of a collection below which none is.
	obstructingLeast = 100 * ratelimit.RU
	// obstaclesMax bounds the obstacles of the load and of the data in a reply.
	obstaclesMax = 10
)

// obstacle is a reason why a collection could not use more RU/s.
type obstacle struct {
	kind, text string
	value      string // of the shard key, as KeyPattern.AppendLogical encodes it; "" for none
}

// appendCapacity appends the RU/s that a collection could have now, without a split, and what would be in the way of them or of
// more. The loads cover all servers of the store; servers that did not answer are listed in the field incomplete.
func (s *State) appendCapacity(c *command.Call, coll *catalog.Collection) error {
	sum, incomplete, err := s.clusterPartitions(c.Ctx, coll)
	if err != nil {
		return err
	}
	values := c.Server.MaySeeValues(c.ConnState.Login, coll.Namespace)
	most := cmp.Or(c.Server.DDL.Limits.ShardRU, ratelimit.ShardRateMax)
	b := c.Reply
	b.BeginDoc("capacity")
	b.Int32("partitions", int32(coll.Map.Len()))
	b.Int("throughput", int64(coll.Map.Len())*most)
	b.BeginArray("obstacles")
	for _, o := range append(s.structuralObstacles(c, coll, most), s.loadObstacles(c, coll, sum, most)...) {
		b.BeginDoc("")
		b.String("kind", o.kind)
		if o.value != "" && values {
			appendLogical(b, coll, o.value)
		}
		b.String("text", o.text)
		b.End()
	}
	b.End()
	appendIncomplete(b, incomplete)
	b.End()
	return nil
}

// structuralObstacles returns the obstacles of the catalog and of the settings.
func (s *State) structuralObstacles(c *command.Call, coll *catalog.Collection, most int64) (out []obstacle) {
	if !coll.Sharded() {
		return append(out, obstacle{kind: "noShardKey", text: fmt.Sprintf("without a shard key it stays one partition, which takes at most %d RU/s", most)})
	}
	have, needed := c.Server.DDL.Scaling(coll)
	if rus := planned.Needed(jobs.PlannedFor(c.Cluster.Catalog(), coll), c.Cluster.Now()); rus > 0 {
		needed = max(needed, c.Server.DDL.PartitionsFor(rus))
	}
	if have < needed {
		out = append(out, obstacle{kind: "splits", text: fmt.Sprintf("it has %d of the %d partitions that its RU/s need: the others are being split", have, needed)})
	}
	switch {
	case s.balancerOff.Load():
		out = append(out, obstacle{kind: "balancerOff", text: "the balancer is off: no partition is split for more RU/s"})
	case coll.Unbalanced:
		out = append(out, obstacle{kind: "balancerOff", text: "balancing is off for the collection: no partition is split for more RU/s"})
	}
	if c.Server.Jobs.Resharding(coll.ID) {
		out = append(out, obstacle{kind: "resharding", text: "its shard key is being changed: no partition is split until that has ended"})
	}
	if have >= c.Server.DDL.PartitionsMax(coll) {
		out = append(out, obstacle{kind: "partitionLimit", text: "it can have no more partitions"})
	}
	if len(coll.Shares) > 0 {
		out = append(out, obstacle{kind: "redistributed", text: "its RU/s are divided by RedistributeThroughput: other RU/s are divided evenly again"})
	}
	return out
}

// loadObstacles returns the obstacles of the load and of the data: RU/s that a value of the shard key cannot use, because
// all its documents are on one partition.
func (s *State) loadObstacles(c *command.Call, coll *catalog.Collection, sum *partitionsSum, most int64) (out []obstacle) {
	if !coll.Sharded() {
		return nil
	}
	var total, heaviest ratelimit.MicroRU
	var hot ratelimit.Hot
	var stats []ratelimit.BucketStats
	where := 0
	for _, d := range coll.Map.Shards() {
		p := sum.part(int(d.ID))
		p.Shard = int(d.ID)
		stats = append(stats, p.BucketStats)
		total += p.Total
		for _, k := range p.byRU {
			if w := ratelimit.MicroRU(k.Weight - k.Error); w > heaviest {
				heaviest, hot, where = w, k, int(d.ID)
			}
		}
	}
	if total >= obstructingLeast && heaviest >= total*obstructingPercent/100 {
		out = append(out, obstacle{"hotValue", fmt.Sprintf("one shard key value, on partition %d, has %d%% of all charges: it can use at most the %d RU/s of one partition",
			where, min(100, heaviest*100/total), most), hot.Key})
	} else if v := skew.Judge(skew.Stats(stats)); v.Kind == skew.Hot {
		out = append(out, obstacle{kind: "hotPartition", text: v.Text()})
	}
	if limit := c.Cluster.LogicalKeyBytes; limit > 0 && coll.LimitsValues(c.Cluster.Budgets.Collection(uint64(coll.ID))) {
		for _, k := range sum.largest() {
			if k.bytes*100 < limit*fullPercent || len(out) >= obstaclesMax {
				break
			}
			out = append(out, obstacle{"largeValue", fmt.Sprintf("one shard key value, on partition %s, uses %d%% of its maximum of %d bytes: no split divides it",
				k.shard, k.bytes*100/limit, limit), k.key})
		}
	}
	return out
}
