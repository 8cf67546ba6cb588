package shards

import (
	"strconv"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/shard"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/shard/balance"
	"github.com/cantledb/cantle/shard/jobs"
	"github.com/cantledb/cantle/wire/arguments"
	"github.com/cantledb/cantle/wire/command"
)

// partitionsMax is the maximum number of partitions that the arguments of one customAction can name.
const partitionsMax = shard.ShardsMax

// mergeFullness is the maximum fullness of a merged partition, in percent of the maximum size and RU/s of a
// partition. A fuller partition would soon split again.
const mergeFullness = 80

// partitionName returns the name of a partition in replies.
func partitionName(id int) string { return strconv.Itoa(id) }

// partitionArg reads the name of a partition, a number or a string; "p3", the name of its shard, also stands for 3.
// Errors: BadValue (2), TypeMismatch (14).
func partitionArg(c *command.Call, name string, v bson.Value) (int, error) {
	if v.IsNumber() {
		n, err := wholeArg(c, name, v)
		if err == nil {
			err = arguments.Between(name, n, 0, 1<<32-1)
		}
		return int(n), err
	}
	s, err := c.StringArg(name, v)
	if err != nil {
		return 0, err
	}
	digits := s
	if len(s) > 1 && s[0] == 'p' {
		digits = s[1:]
	}
	n, bad := strconv.ParseUint(digits, 10, 32)
	if bad != nil {
		return 0, mongoerr.New(mongoerr.BadValue, "'%s' is not the name of a partition; customAction GetPartitions lists them", s)
	}
	return int(n), nil
}

// mergePartitions runs {customAction: "MergePartitions", collection: "c"}: it merges adjacent partitions that are
// small and have little load, as far as the provisioned RU/s allow. With whatIf it only reports which ones it would
// merge.
// Source: Azure Cosmos DB, "merge", which has this operation outside of the wire protocol.
func mergePartitions(c *command.Call, a *customArgs) error {
	coll, err := c.Collection(a.ns)
	if err != nil {
		return err
	}
	if !coll.Sharded() {
		return mongoerr.New(mongoerr.BadValue, "%s has one partition: it is not sharded", a.ns)
	}
	cl := c.Cluster
	policy := balance.Policy{Merge: true, MergePercent: mergeFullness, ShardRU: c.Server.DDL.Limits.ShardRU, ShardBytes: c.Server.DDL.Limits.ShardBytes}
	if policy.ShardRU <= 0 {
		policy.ShardRU = ratelimit.ShardRateMax
	}
	loadsOf := func(coll *catalog.Collection) balance.Loads {
		return balance.LoadsOf(cl.Counts(coll.ID), cl.Budgets, coll, jobs.PlannedFor(cl.Catalog(), coll), cl.Now())
	}
	plan, after, loads, err := balance.PlanMerges(coll.Map, loadsOf(coll), policy)
	if err != nil {
		return err
	}
	b := c.Reply
	b.Bool("whatIf", a.whatIf)
	b.Int32("before", int32(coll.Map.Len()))
	if !a.whatIf {
		for _, m := range plan {
			if err := c.Server.Jobs.Merge(c.Ctx, a.ns, m.Shard, m.With); err != nil {
				return err
			}
		}
		if coll, err = c.Collection(a.ns); err != nil {
			return err
		}
		after = coll.Map
		loads = loadsOf(coll)
	}
	b.Int32("after", int32(after.Len()))
	b.BeginArray("merges")
	for _, m := range plan {
		b.BeginArray("")
		b.String("", m.Shard.String())
		b.String("", m.With.String())
		b.End()
	}
	b.End()
	share := 0.0
	if t := jobs.Provisioned(coll.Throughput); t.PerSecond(after.Len()) > 0 {
		share = float64(t.PerSecond(after.Len())) / float64(after.Len())
	}
	bounds := c.Server.MaySeeBounds(c.ConnState.Login, a.ns)
	b.BeginArray("partitions")
	for _, d := range after.Shards() {
		b.BeginDoc("")
		b.String("id", d.ID.String())
		if bounds {
			b.Raw("min", coll.Key.Bound(d.Lo, bson.MinKey))
			b.Raw("max", coll.Key.Bound(d.Hi, bson.MaxKey))
		}
		b.Int64("documents", loads.Shards[d.ID].Docs)
		b.Int64("bytes", loads.Shards[d.ID].Bytes)
		if share > 0 {
			b.Double("throughput", share)
		}
		b.End()
	}
	b.End()
	return nil
}
