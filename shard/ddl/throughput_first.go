package ddl

import (
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/shard"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/shard/cluster"
	"github.com/cantledb/cantle/shard/jobs"
)

// firstShards returns the initial number of shards of a collection: its RU/s divided by ratelimit.FirstShardRate; the
// number of its database's partitions, if it shares the database's throughput; otherwise the default.
func (d *Definer) firstShards(coll *catalog.Collection) int {
	switch t := coll.Throughput; t.Mode {
	case catalog.ThroughputManual, catalog.ThroughputAutoscale:
		return shard.Count(t.RU, ratelimit.FirstShardRate(jobs.Provisioned(t).Mode, d.Limits.ShardRU))
	case catalog.ThroughputNone:
		if db := d.catalog.Peek().Database(coll.Namespace.DB); db != nil && db.Throughput.Mode != catalog.ThroughputNone {
			return jobs.SharedPartitions(db.Throughput, d.Limits.ShardRU)
		}
	}
	return max(1, d.Limits.DefaultShards)
}

// firstThroughput returns the throughput of a new collection: the requested one, none if it shares its database's, or
// the server's default.
func (d *Definer) firstThroughput(o *cluster.Op, snap *catalog.Snapshot, ns collection.Namespace, t catalog.Throughput, sharded bool) (catalog.Throughput, error) {
	db := snap.Database(ns.DB)
	switch {
	case t.Mode != catalog.ThroughputNone:
		if err := ratelimit.CheckCollection(jobs.Provisioned(t), sharded, ratelimit.Load{}); err != nil {
			return t, err
		}
	case db != nil && db.Throughput.Mode != catalog.ThroughputNone:
		if o.Env.Strict() {
			return t, checkShared(snap, ns.DB)
		}
	case d.Limits.DefaultRU > 0:
		t.Mode, t.RU = catalog.ThroughputManual, d.Limits.DefaultRU
	}
	t.Switches = catalog.Switches{}.With(t.Switches)
	t.HighestRU = max(t.HighestRU, t.RU)
	return t, nil
}
