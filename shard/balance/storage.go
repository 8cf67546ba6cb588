package balance

import (
	"context"

	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/ratelimit"
)

// gigabyte in bytes.
const gigabyte = 1 << 30

// raise raises the autoscale maximum of a collection to at least 10 RU/s for each GB of its data.
// Source: Azure Cosmos DB, "concepts-limits" (autoscale storage).
func (b *Balancer) raise(ctx context.Context, ns collection.Namespace) {
	c := b.Catalog.Peek().Collection(ns)
	if c == nil || c.Map == nil {
		return
	}
	if c.Throughput.Mode == catalog.ThroughputAutoscale && b.raised(c.Throughput.RU, b.stored(c)) > c.Throughput.RU {
		b.change(ctx, "collection", ns.String(), func(m *catalog.Mutation) error {
			now := m.Snapshot().ByID(c.ID)
			if now == nil || now.Throughput.Mode != catalog.ThroughputAutoscale {
				return nil
			}
			return m.Put(now.With(func(d *catalog.Collection) { d.Throughput = b.higher(now.Throughput, b.stored(now)) }))
		}, func() {
			if now := b.Catalog.Peek().ByID(c.ID); now != nil {
				b.Runner.Provision(now)
			}
		})
	}
}

// raiseDatabase raises the autoscale maximum of a database's shared throughput to at least 10 RU/s for each GB of the
// collections that share it.
func (b *Balancer) raiseDatabase(ctx context.Context, db string) {
	d := b.Catalog.Peek().Database(db)
	if d == nil || d.Throughput.Mode != catalog.ThroughputAutoscale {
		return
	}
	stored := func(snap *catalog.Snapshot) (n int64) {
		for _, c := range snap.Collections(db) {
			if c.Map != nil && c.Throughput.Mode == catalog.ThroughputNone {
				n += b.stored(c)
			}
		}
		return n
	}
	if b.raised(d.Throughput.RU, stored(b.Catalog.Peek())) > d.Throughput.RU {
		b.change(ctx, "database", db, func(m *catalog.Mutation) error {
			now := m.Snapshot().Database(db)
			if now == nil || now.Throughput.Mode != catalog.ThroughputAutoscale {
				return nil
			}
			m.PutDatabase(now.With(b.higher(now.Throughput, stored(m.Snapshot())), now.Planned))
			return nil
		}, func() { b.Runner.ProvisionDatabase(db) })
	}
}

// change carries out a change of the catalog, and then calls provision.
func (b *Balancer) change(ctx context.Context, kind, name string, fn func(m *catalog.Mutation) error, provision func()) {
	if err := b.Catalog.Change(ctx, fn); err != nil {
		if ctx.Err() == nil {
			b.Log.Warn().Str(kind, name).Err(err).Msg("raising the autoscale maximum failed and will be tried again")
		}
		return
	}
	provision()
	b.Log.Info().Str(kind, name).Msg("the autoscale maximum was raised: it must be at least 10 RU/s per GB of data")
}

func (b *Balancer) stored(c *catalog.Collection) int64 { return b.Tally.Of(c.ID).Total(c.Map).Bytes }

func (b *Balancer) raised(rus, bytes int64) int64 {
	return ratelimit.AutoscaleForStorage(rus, (bytes+gigabyte-1)/gigabyte)
}

func (b *Balancer) higher(t catalog.Throughput, bytes int64) catalog.Throughput {
	t.RU = b.raised(t.RU, bytes)
	t.HighestRU = max(t.HighestRU, t.RU)
	return t
}
