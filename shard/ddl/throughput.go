package ddl

import (
	"cmp"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/shard"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/shard/cluster"
	"github.com/cantledb/cantle/shard/jobs"
	"github.com/cantledb/cantle/shard/planned"
)

// RestoreBudgets gives every collection and database its provisioned throughput after a start, and after a peer has
// changed the catalog.
func (d *Definer) RestoreBudgets() {
	for _, db := range d.catalog.Peek().Databases() {
		d.Jobs.ProvisionDatabase(db.Name)
	}
}

// DatabaseThroughput returns the throughput that the collections of a database share.
// Errors: NamespaceNotFound (26).
func (d *Definer) DatabaseThroughput(db string) (catalog.Throughput, error) {
	found := d.catalog.Peek().Database(db)
	if found == nil {
		return catalog.Throughput{}, mongoerr.New(mongoerr.NamespaceNotFound, "database not found: %s", db)
	}
	return found.Throughput, nil
}

// apply returns the throughput old with the changes of t: the mode and the RU/s of t, unless its mode is none, and
// the switches of t that are not Inherit. sum checks the new RU/s.
func (d *Definer) apply(old, t catalog.Throughput, sum func() error) (catalog.Throughput, error) {
	next := old
	if t.Mode != catalog.ThroughputNone {
		if err := d.checkChange(old, t, sum); err != nil {
			return next, err
		}
		next.Mode, next.RU, next.HighestRU = t.Mode, t.RU, max(old.HighestRU, t.RU)
	}
	next.Switches = old.Switches.With(t.Switches)
	return next, nil
}

// SetThroughput changes a collection's own throughput. If it needs more shards, existing ones are split in the
// background. If t has a mode, even with the same amount, the parts that Redistribute gave to shards are dropped.
// Source: Azure Cosmos DB, "custom-commands#update-collection". Errors: BadValue (2), NamespaceNotFound (26),
// CommandNotSupportedOnView (166), ConflictingOperationInProgress (117) if t has a mode while the splits for an earlier
// change are running.
func (d *Definer) SetThroughput(o *cluster.Op, ns collection.Namespace, t catalog.Throughput) error {
	if err := noTxn(o, ns.DB, "UpdateCollection"); err != nil {
		return err
	}
	var next *catalog.Collection
	err := d.alter(o, func(m *catalog.Mutation) error {
		coll, err := m.Snapshot().Lookup(ns)
		if err != nil {
			return err
		}
		if coll.IsView() {
			return mongoerr.ViewNotAllowed(ns.String())
		}
		if next, err = d.withThroughput(coll, t); err != nil {
			return err
		}
		return m.Put(next)
	})
	if err != nil {
		return err
	}
	d.Jobs.Provision(next)
	d.Changed(ns)
	return nil
}

// withThroughput returns a copy of a catalog entry with its throughput changed by t. It counts a change of the RU/s
// against the limit of changes, and refuses one while the shards for an earlier one are being split.
func (d *Definer) withThroughput(coll *catalog.Collection, t catalog.Throughput) (*catalog.Collection, error) {
	if have, needed := d.Scaling(coll); t.Mode != catalog.ThroughputNone && have < needed && d.Busy != nil && d.Busy(coll.Namespace) {
		return nil, mongoerr.New(mongoerr.ConflictingOperationInProgress, "another scaling operation is in progress: %s has %d of the %d partitions that its %d RU/s need; "+
			"try again when GetCollection no longer says scaling", coll.Namespace, have, needed, coll.Throughput.RU)
	}
	after, err := d.apply(coll.Throughput, t, func() error { return d.checkThroughput(coll, t) })
	if err != nil {
		return nil, err
	}
	return coll.With(func(d *catalog.Collection) {
		if d.Throughput = after; t.Mode != catalog.ThroughputNone {
			d.Shares, d.Planned = nil, planned.Overridden(d.Planned)
		}
	}), nil
}

// checkThroughput rejects a throughput that a collection may not have.
func (d *Definer) checkThroughput(coll *catalog.Collection, t catalog.Throughput) error {
	return ratelimit.CheckCollection(jobs.Provisioned(t), coll.Sharded(), d.Jobs.Load(coll))
}

// Scaling returns how many shards a collection has and how many its throughput needs, 0 without a shard key or RU/s:
// RU/s beyond the existing shards take effect as these split.
// Source: Azure Cosmos DB, "scaling-provisioned-throughput-best-practices".
func (d *Definer) Scaling(coll *catalog.Collection) (have, needed int) {
	have = coll.Map.Len()
	if coll.Sharded() && coll.Throughput.RU > 0 {
		needed = d.PartitionsFor(coll.Throughput.RU)
	}
	return have, needed
}

// PartitionsFor returns the number of partitions that RU/s need.
func (d *Definer) PartitionsFor(rus int64) int {
	return shard.Count(rus, cmp.Or(d.Limits.ShardRU, ratelimit.ShardRateMax))
}

// checkChange applies the rules for changes of throughput.
func (d *Definer) checkChange(old, t catalog.Throughput, amount func() error) error {
	if err := ratelimit.CheckSwitch(jobs.Provisioned(old), jobs.Provisioned(t)); err != nil {
		return err
	}
	if err := amount(); err != nil {
		return err
	}
	return d.budgets.NoteChange(d.now())
}

// CreateDatabase creates a database, optionally with throughput that its collections share.
// Source: Azure Cosmos DB, "custom-commands#create-database". Errors:
// NamespaceExists (48), BadValue (2), InvalidNamespace (73).
func (d *Definer) CreateDatabase(o *cluster.Op, db string, t catalog.Throughput) error {
	return d.putDatabase(o, db, func(m *catalog.Mutation, old *catalog.Database) (*catalog.Database, error) {
		if old != nil {
			return nil, mongoerr.New(mongoerr.NamespaceExists, "database %s already exists", db)
		}
		if err := checkName(o, collection.Namespace{DB: db}); err != nil {
			return nil, err
		}
		if err := checkAccount(o, m.Snapshot()); err != nil {
			return nil, err
		}
		if err := ratelimit.CheckDatabase(jobs.Provisioned(t), ratelimit.Load{}); err != nil {
			return nil, err
		}
		return &catalog.Database{Name: db, Throughput: t}, m.NeedDatabase(db)
	})
}

// SetDatabaseThroughput changes the throughput that the collections of a database share.
// Source: Azure Cosmos DB, "custom-commands#update-database". Errors:
// NamespaceNotFound (26), BadValue (2).
func (d *Definer) SetDatabaseThroughput(o *cluster.Op, db string, t catalog.Throughput) error {
	return d.putDatabase(o, db, func(m *catalog.Mutation, old *catalog.Database) (*catalog.Database, error) {
		if old == nil {
			return nil, mongoerr.New(mongoerr.NamespaceNotFound, "database not found: %s", db)
		}
		load, rest := d.Jobs.SharedLoad(m.Snapshot(), old), old.Planned
		next, err := d.apply(old.Throughput, t, func() error { return ratelimit.CheckDatabase(jobs.Provisioned(t), load) })
		if t.Mode != catalog.ThroughputNone {
			rest = planned.Overridden(rest)
		}
		return old.With(next, rest), err
	})
}

// putDatabase puts the entry of a database that fn returns into the catalog. old is nil if there is no such database yet.
// Errors: InvalidNamespace (73); the errors of fn and of the catalog.
func (d *Definer) putDatabase(o *cluster.Op, db string, fn func(m *catalog.Mutation, old *catalog.Database) (*catalog.Database, error)) error {
	if err := checkDatabase(db); err != nil {
		return err
	}
	err := d.alter(o, func(m *catalog.Mutation) error {
		next, err := fn(m, m.Snapshot().Database(db))
		if err != nil {
			return err
		}
		t := next.Throughput
		t.HighestRU = max(t.HighestRU, t.RU)
		t.Switches = catalog.Switches{}.With(t.Switches)
		m.PutDatabase(next.With(t, next.Planned))
		return nil
	})
	if err != nil {
		return err
	}
	d.Jobs.ProvisionDatabase(db)
	for _, coll := range d.catalog.Peek().Collections(db) {
		d.Changed(coll.Namespace)
	}
	return nil
}

// AppendThroughput prints a throughput in the form of the commands of customAction; nothing if there is none.
func AppendThroughput(b *bson.Builder, t catalog.Throughput) {
	p := jobs.Provisioned(t)
	switch p.Mode {
	case ratelimit.Unlimited:
		return
	case ratelimit.Serverless:
		b.Bool("serverless", true)
		return
	}
	b.Int("provisionedThroughput", p.Minimum())
	if p.Mode == ratelimit.Autoscale {
		b.BeginDoc("autoScaleSettings")
		b.Int("maxThroughput", p.RUs)
		b.End()
	}
}
