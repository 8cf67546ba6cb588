package jobs

import (
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/ratelimit"
)

// Provisioned is a stored throughput in the words of package ratelimit.
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

// options are a collection's switches; what it leaves open is the server's.
func (r *Runner) options(s catalog.Switches) ratelimit.Options {
	o := r.Pools
	o.ServerSideRetry = s.ServerSideRetry.Or(o.ServerSideRetry)
	o.Burst = s.Burst.Or(o.Burst)
	o.RUPerMinute = s.PerMinute.Or(o.RUPerMinute)
	for i, b := range s.Buckets {
		if b.Percent > 0 {
			o.Groups[i] = ratelimit.Group{Percent: uint8(b.Percent), AppName: b.AppName}
		}
	}
	return o
}

// Shares are stored parts of a throughput in the words of package ratelimit.
func Shares(list []catalog.Share) []ratelimit.Share {
	var out []ratelimit.Share
	for _, s := range list {
		out = append(out, ratelimit.Share{Shard: int(s.Shard), RUs: s.RU})
	}
	return out
}

// Provision gives a collection's budget what the catalog says: throughput,
// shards, and the database to share with when it has none of its own.
func (r *Runner) Provision(c *catalog.Collection) {
	if c.IsView() || c.Map == nil {
		return
	}
	now, id := r.Now(), uint64(c.ID)
	pool := r.Budgets.Collection(id)
	o := r.options(c.Throughput.Switches)
	if t := Provisioned(c.Throughput); pool.Throughput() != t || pool.Options() != o {
		pool.Set(now, t, o)
	}
	pool.SetShards(now, c.Map.Ints())
	pool.Arrange(now, Shares(c.Shares))
	shared := ""
	if c.Throughput.Mode == catalog.ThroughputNone {
		if d := r.Catalog.Peek().Database(c.Namespace.DB); d != nil && d.Throughput.Mode != catalog.ThroughputNone {
			shared = d.Name
		}
	}
	r.Budgets.Share(id, shared)
}

// ProvisionDatabase gives a database's budget, and with it those of its
// collections, what the catalog says.
func (r *Runner) ProvisionDatabase(name string) {
	snap := r.Catalog.Peek()
	d := snap.Database(name)
	if d == nil {
		r.Budgets.DropDatabase(name)
		return
	}
	if d.Throughput.Mode != catalog.ThroughputNone {
		o := r.options(d.Throughput.Switches)
		o.ShardMax = 0 // its collections' shards share one budget
		r.Budgets.Database(name).Set(r.Now(), Provisioned(d.Throughput), o)
	}
	for _, c := range snap.Collections(name) {
		r.Provision(c)
	}
}
