package jobs

import (
	"math/bits"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/shard"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/keyspace"
)

// Provisioned converts a stored throughput to that of package ratelimit.
func Provisioned(t catalog.Throughput) ratelimit.Throughput {
	switch t.Mode {
	case catalog.ThroughputManual:
		return ratelimit.Throughput{Mode: ratelimit.Manual, RUs: t.RU}
	case catalog.ThroughputAutoscale:
		return ratelimit.Throughput{Mode: ratelimit.Autoscale, RUs: t.RU}
	case catalog.ThroughputServerless:
		return ratelimit.Throughput{Mode: ratelimit.Serverless}
	}
	return ratelimit.Throughput{}
}

// options returns the switches of a collection's or database's budget, with the server's defaults where they are not
// set.
func (r *Runner) options(s catalog.Switches) ratelimit.Options {
	o := r.Pools
	o.ServerSideRetry = s.ServerSideRetry.Or(o.ServerSideRetry)
	o.Burst = s.Burst.Or(o.Burst)
	o.RUPerMinute = s.PerMinute.Or(o.RUPerMinute)
	o.RequestMax = ratelimit.MicroRU(s.RequestMax)
	for i, b := range s.Buckets {
		if b.Percent > 0 {
			o.Groups[i] = ratelimit.Group{Percent: uint8(b.Percent), AppName: b.AppName, RequestMax: ratelimit.MicroRU(b.RequestMax)}
		}
	}
	return o
}

// tenants returns the limits of a collection's tenants; nil if there are none.
func tenants(c *catalog.Collection) *ratelimit.Tenants {
	t := c.Throughput.Switches.Tenants
	if t == nil || !c.Sharded() || !t.PrefixOf(c) {
		return nil
	}
	named := make(map[string]ratelimit.TenantLimits, len(t.Values))
	for _, v := range t.Values {
		values := make([]bson.Value, len(t.Prefix))
		for i, f := range t.Prefix {
			values[i] = v.Value.Get(f)
		}
		named[string(c.Key.AppendLogicalOf(nil, values))] = ratelimit.TenantLimits(v.TenantLimits)
	}
	return ratelimit.NewTenants(len(t.Prefix), ratelimit.TenantLimits(t.TenantLimits), named)
}

// Shares converts stored shares of a throughput to those of package ratelimit.
func Shares(list []catalog.Share) []ratelimit.Share {
	var out []ratelimit.Share
	for _, s := range list {
		out = append(out, ratelimit.Share{Shard: int(s.Shard), RUs: s.RU})
	}
	return out
}

// Provision sets the budget of a collection from the catalog: its throughput, its shards, and the database whose
// throughput it shares if it has none of its own.
func (r *Runner) Provision(c *catalog.Collection) {
	if c.IsView() || c.Map == nil {
		return
	}
	r.separate(c)
	now, id := r.Now(), uint64(c.ID)
	pool := r.Budgets.Collection(id)
	o := r.options(c.Throughput.Switches)
	if t := Provisioned(c.Throughput); pool.Throughput() != t || pool.Options() != o {
		pool.Set(now, t, o)
	}
	pool.SetTenants(tenants(c))
	pool.SetShards(now, c.Map.Ints())
	pool.Arrange(now, Shares(c.Shares))
	if d := r.Catalog.Peek().Database(c.Namespace.DB); d != nil && c.Throughput.Mode == catalog.ThroughputNone && d.Throughput.Mode != catalog.ThroughputNone {
		r.Budgets.SetDatabase(id, d.Name, assignShards(c, SharedPartitions(d.Throughput, r.Pools.ShardMax)))
		return
	}
	r.Budgets.SetDatabase(id, "", nil)
}

// separateMax bounds the number of keys that separate passes to the store for one collection.
const separateMax = 1024

// separate passes the keys at which the shards of a collection begin, in its records and in the partitions of
// each index, to a store that distributes ranges over machines. An unsharded collection is one range, as long
// as it is small.
func (r *Runner) separate(c *catalog.Collection) {
	store, ok := r.Store.(storage.Separator)
	if !ok || c == nil || c.Map == nil || len(c.Map.Shards()) < 2 {
		return
	}
	var keys [][]byte
	for _, d := range c.Map.Shards() {
		keys = append(keys, keyspace.RecordSpan(c.ID, []byte(d.Lo), nil).Start)
	}
	for _, ix := range c.Indexes {
		for _, d := range c.Map.Shards() {
			keys = append(keys, keyspace.AppendEntryPrefix(nil, c.ID, ix.ID, d.Newest()))
		}
	}
	store.Separate(keys[:min(len(keys), separateMax)])
}

// SharedPartitions returns the number of partitions of a database with shared throughput. most is the maximum
// RU/s of a partition; 0 selects the published limit. Lowering the throughput does not reduce the number.
// Source: Azure Cosmos DB, "scaling-provisioned-throughput-best-practices".
func SharedPartitions(t catalog.Throughput, most int64) int {
	return shard.Count(max(t.RU, t.HighestRU), ratelimit.FirstShardRate(ratelimit.Autoscale, most))
}

// assignShards assigns each shard of a collection to one of its database's partitions, which divide the line of hashes
// evenly. Shards that are not on that line are distributed by number, so that collections without a shard key do not
// all use the first partition.
func assignShards(c *catalog.Collection, partitions int) map[int]int {
	out := make(map[int]int, c.Map.Len())
	for _, d := range c.Map.Shards() {
		if kind := c.Map.Kind(); kind == shard.Unsharded || kind == shard.Ranged {
			out[int(d.ID)] = int((uint64(c.ID) + uint64(d.ID)) % uint64(partitions))
			continue
		}
		lo, hi := d.Hashes()
		middle := uint64(lo) + uint64(hi-lo)/2
		part, _ := bits.Mul64(middle, uint64(partitions))
		out[int(d.ID)] = int(part)
	}
	return out
}

// ProvisionDatabase sets the budget of a database, and those of its collections, from the catalog.
func (r *Runner) ProvisionDatabase(name string) {
	snap := r.Catalog.Peek()
	d := snap.Database(name)
	if d == nil {
		r.Budgets.DropDatabase(name)
		return
	}
	if d.Throughput.Mode != catalog.ThroughputNone {
		o := r.options(d.Throughput.Switches)
		pool, numbers := r.Budgets.Database(name), make([]int, SharedPartitions(d.Throughput, r.Pools.ShardMax))
		for i := range numbers {
			numbers[i] = i
		}
		pool.Set(r.Now(), Provisioned(d.Throughput), o)
		pool.SetShards(r.Now(), numbers)
	}
	for _, c := range snap.Collections(name) {
		r.Provision(c)
	}
}
