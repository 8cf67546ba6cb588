package cluster

import (
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/shard/jobs"
)

// MigrateThroughput turns the manual throughput of a collection, or without its name
// of a database, into autoscale, or back. The amount follows from the one before:
// the maximum of autoscale is the manual RU/s, or what highest use and storage
// demand; manual RU/s are the maximum. It returns the throughput that results.
// Source: Azure Cosmos DB, "set-throughput", "autoscale-faq". Errors: BadValue (2),
// NamespaceNotFound (26), CommandNotSupportedOnView (166).
func (c *Cluster) MigrateThroughput(o *Op, ns collection.Namespace, autoscale bool) (t catalog.Throughput, err error) {
	if err := noTxn(o, "MigrateThroughput"); err != nil {
		return t, err
	}
	if ns.Coll == "" {
		t, err = c.migrateDatabase(o, ns.DB, autoscale)
		return t, translate(err)
	}
	var next *catalog.Collection
	err = c.alter(o, func(m *catalog.Mutation) error {
		coll, err := m.Snapshot().Lookup(ns)
		if err != nil {
			return err
		}
		if coll.IsView() {
			return mongoerr.ViewNotAllowed(ns.String())
		}
		load := ratelimit.Load{StoredGB: gigabytes(c.Tally.Of(coll.ID).Total(coll.Map).Bytes), HighestRUs: coll.Throughput.HighestRU}
		if t, err = c.migrated(coll.Throughput, load, autoscale); err != nil {
			return err
		}
		if err := ratelimit.CheckCollection(jobs.Provisioned(t), coll.Sharded(), load); err != nil {
			return err
		}
		next = coll.With(func(d *catalog.Collection) { d.Throughput, d.Shares = t, nil })
		return m.Put(next)
	})
	if err != nil {
		return t, translate(err)
	}
	c.Jobs.Provision(next)
	c.Changed(ns)
	return t, nil
}

func (c *Cluster) migrateDatabase(o *Op, db string, autoscale bool) (t catalog.Throughput, err error) {
	err = c.alter(o, func(m *catalog.Mutation) error {
		snap := m.Snapshot()
		d := snap.Database(db)
		if d == nil {
			return mongoerr.New(mongoerr.NamespaceNotFound, "database not found: %s", db)
		}
		if t, err = c.migrated(d.Throughput, c.sharedLoad(snap, d), autoscale); err != nil {
			return err
		}
		m.PutDatabase(&catalog.Database{Name: db, Throughput: t})
		return nil
	})
	if err == nil {
		c.Jobs.ProvisionDatabase(db)
	}
	return t, err
}

// migrated is a throughput in the other mode.
func (c *Cluster) migrated(old catalog.Throughput, l ratelimit.Load, autoscale bool) (catalog.Throughput, error) {
	t := old
	switch {
	case old.Mode != catalog.ThroughputManual && old.Mode != catalog.ThroughputAutoscale:
		return t, mongoerr.New(mongoerr.BadValue, "there is no provisioned throughput to migrate")
	case (old.Mode == catalog.ThroughputAutoscale) == autoscale:
		return t, nil
	case autoscale:
		t.Mode, t.RU = catalog.ThroughputAutoscale, max(ratelimit.ToAutoscale(old.RU, l), ratelimit.MinAutoscale(l))
	default:
		t.Mode = catalog.ThroughputManual
	}
	t.HighestRU = max(t.HighestRU, t.RU)
	return t, c.Budgets.NoteChange(c.Now())
}

// sharedLoad is what the limits of a database's throughput depend on.
func (c *Cluster) sharedLoad(snap *catalog.Snapshot, d *catalog.Database) ratelimit.Load {
	l := ratelimit.Load{HighestRUs: d.Throughput.HighestRU, Collections: sharing(snap, d.Name)}
	for _, coll := range snap.Collections(d.Name) {
		if !coll.IsView() && coll.Throughput.Mode == catalog.ThroughputNone {
			l.StoredGB += gigabytes(c.Tally.Of(coll.ID).Total(coll.Map).Bytes)
		}
	}
	return l
}
