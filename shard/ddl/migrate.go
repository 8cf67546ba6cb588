package ddl

import (
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/shard/cluster"
	"github.com/cantledb/cantle/shard/jobs"
)

// MigrateThroughput turns the manual throughput of a collection, or of a database if ns has no collection, into
// autoscale, or back. The amount follows from the previous one: the maximum of autoscale is the manual RU/s, or more
// if the highest RU/s so far, the storage or the number of collections requires it; the manual RU/s are the maximum.
// A throughput of the requested mode stays. It returns the new throughput.
// Source: Azure Cosmos DB, "set-throughput", "autoscale-faq". Errors: BadValue (2),
// NamespaceNotFound (26), CommandNotSupportedOnView (166).
func (d *Definer) MigrateThroughput(o *cluster.Op, ns collection.Namespace, autoscale bool) (t catalog.Throughput, err error) {
	if err := noTxn(o, ns.DB, "MigrateThroughput"); err != nil {
		return t, err
	}
	if ns.Coll == "" {
		t, err = d.migrateDatabase(o, ns.DB, autoscale)
		return t, err
	}
	var next *catalog.Collection
	err = d.alter(o, func(m *catalog.Mutation) error {
		coll, err := m.Snapshot().Lookup(ns)
		if err != nil {
			return err
		}
		if coll.IsView() {
			return mongoerr.ViewNotAllowed(ns.String())
		}
		load := d.Jobs.Load(coll)
		if t, err = d.migrated(coll.Throughput, load, autoscale); err != nil {
			return err
		}
		if err := ratelimit.CheckCollection(jobs.Provisioned(t), coll.Sharded(), load); err != nil {
			return err
		}
		next = coll.With(func(d *catalog.Collection) { d.Throughput, d.Shares = t, nil })
		return m.Put(next)
	})
	if err != nil {
		return t, err
	}
	d.Jobs.Provision(next)
	d.Changed(ns)
	return t, nil
}

// migrateDatabase is MigrateThroughput for a database.
func (d *Definer) migrateDatabase(o *cluster.Op, db string, autoscale bool) (t catalog.Throughput, err error) {
	err = d.alter(o, func(m *catalog.Mutation) error {
		snap := m.Snapshot()
		was := snap.Database(db)
		if was == nil {
			return mongoerr.New(mongoerr.NamespaceNotFound, "database not found: %s", db)
		}
		if t, err = d.migrated(was.Throughput, d.Jobs.SharedLoad(snap, was), autoscale); err != nil {
			return err
		}
		m.PutDatabase(was.With(t, was.Planned))
		return nil
	})
	if err == nil {
		d.Jobs.ProvisionDatabase(db)
	}
	return t, err
}

// migrated returns the throughput old converted to autoscale, or back to manual, and counts the change against the
// limit of changes. l holds the values on which the new amount depends.
func (d *Definer) migrated(old catalog.Throughput, l ratelimit.Load, autoscale bool) (catalog.Throughput, error) {
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
	return t, d.budgets.NoteChange(d.now())
}
