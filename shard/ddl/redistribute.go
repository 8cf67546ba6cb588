package ddl

import (
	"slices"

	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/shard"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/shard/cluster"
	"github.com/cantledb/cantle/shard/jobs"
)

// Redistribute moves a collection's RU/s between its shards: targets get the given parts, sources give up the
// difference in equal parts. Without both, all shards get equal parts again. It returns the resulting parts.
// Source: Azure Cosmos DB, "distribute-throughput-across-partitions". Errors:
// BadValue (2), NamespaceNotFound (26), CommandNotSupportedOnView (166).
func (d *Definer) Redistribute(o *cluster.Op, ns collection.Namespace, targets []ratelimit.Share, sources []int) ([]ratelimit.Share, error) {
	var plan []ratelimit.Share
	var next *catalog.Collection
	if err := noTxn(o, ns.DB, "RedistributeThroughput"); err != nil {
		return nil, err
	}
	err := d.alter(o, func(m *catalog.Mutation) error {
		coll, err := m.Snapshot().Lookup(ns)
		if err != nil {
			return err
		}
		if coll.IsView() {
			return mongoerr.ViewNotAllowed(ns.String())
		}
		shards := coll.Map.Ints()
		slices.Sort(shards)
		plan = ratelimit.EvenShares(jobs.Provisioned(coll.Throughput), shards)
		even := len(targets) == 0 && len(sources) == 0
		if !even && len(coll.Shares) > 0 {
			if old := jobs.Shares(coll.Shares); ratelimit.Fits(old, shards, jobs.Provisioned(coll.Throughput)) {
				plan = old
			}
		}
		if plan, err = ratelimit.MoveShares(plan, targets, sources); err != nil {
			return err
		}
		next = coll.With(func(d *catalog.Collection) {
			d.Shares = nil
			for _, s := range plan {
				if !even {
					d.Shares = append(d.Shares, catalog.Share{Shard: shard.ID(s.Shard), RU: s.RUs})
				}
			}
		})
		return m.Put(next)
	})
	if err != nil {
		return nil, err
	}
	d.Jobs.Provision(next)
	return plan, nil
}
