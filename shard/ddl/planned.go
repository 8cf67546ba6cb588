package ddl

import (
	"time"

	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/shard"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/shard/cluster"
	"github.com/cantledb/cantle/shard/jobs"
	"github.com/cantledb/cantle/shard/planned"
)

// Preparation is the request of PrepareThroughput: RU/s for a time, in the mode of the throughput. A zero From is now, a
// zero SplitFrom planned.SplitAhead before From.
type Preparation struct {
	Throughput          catalog.Throughput
	SplitFrom, From, To time.Time
}

// plannable is the collection or database whose planned changes a command changes, and how RU/s for it are checked.
type plannable struct {
	throughput catalog.Throughput
	planned    *catalog.Planned
	check      func(t catalog.Throughput) error
}

// PrepareThroughput prepares RU/s for a time: of a collection, or of a database if ns has no collection. If the time has
// begun, they hold when it returns.
// Errors: BadValue (2), NamespaceNotFound (26), CommandNotSupportedOnView (166).
func (d *Definer) PrepareThroughput(o *cluster.Op, ns collection.Namespace, p Preparation) error {
	now := d.now()
	if p.From.IsZero() {
		p.From = now
	}
	if p.SplitFrom.IsZero() {
		p.SplitFrom = p.From.Add(-planned.SplitAhead)
	}
	x := catalog.Prepared{RU: p.Throughput.RU, SplitFrom: seconds(p.SplitFrom), From: seconds(p.From), To: seconds(p.To)}
	return d.replan(o, ns, "PrepareThroughput", func(t *plannable) error {
		if err := t.accepts(p.Throughput); err != nil {
			return err
		}
		next, runs, err := planned.Prepare(t.planned, x, now)
		if err != nil {
			return err
		}
		if t.planned = next; runs {
			t.throughput.RU = x.RU
		}
		return nil
	})
}

// CancelThroughput cancels the prepared throughput that begins at a time, or all if from is the zero time. If it runs,
// the former RU/s hold when CancelThroughput returns.
// Errors: as PrepareThroughput.
func (d *Definer) CancelThroughput(o *cluster.Op, ns collection.Namespace, from time.Time) error {
	if !from.IsZero() {
		from = seconds(from)
	}
	return d.replan(o, ns, "PrepareThroughput", func(t *plannable) (err error) {
		t.throughput.RU, t.planned, err = planned.Cancel(t.throughput.RU, t.planned, from)
		return err
	})
}

// ScheduleThroughput gives a collection, or a database if ns has no collection, a schedule in place of the one that it
// has; without rows it has none. The RU/s of the row that was due last hold when it returns. mode is the mode in
// which the rows are given.
// Errors: as PrepareThroughput.
func (d *Definer) ScheduleThroughput(o *cluster.Op, ns collection.Namespace, mode catalog.ThroughputMode, zone string, rows []catalog.ScheduleRow) error {
	return d.replan(o, ns, "ScheduleThroughput", func(t *plannable) (err error) {
		for _, row := range rows {
			if err := t.accepts(catalog.Throughput{Mode: mode, RU: row.RU}); err != nil {
				return err
			}
		}
		t.planned, err = planned.Scheduled(t.planned, zone, rows, d.now())
		return err
	})
}

// accepts rejects RU/s that a planned change may not set.
func (t *plannable) accepts(want catalog.Throughput) error {
	switch t.throughput.Mode {
	case catalog.ThroughputManual, catalog.ThroughputAutoscale:
	default:
		return mongoerr.New(mongoerr.BadValue, "there is no provisioned throughput to change: set offerThroughput or autoScaleSettings first")
	}
	if err := ratelimit.CheckSwitch(jobs.Provisioned(t.throughput), jobs.Provisioned(want)); err != nil {
		return err
	}
	return t.check(want)
}

// replan changes what is planned for a collection or database, and makes the changes that are due.
func (d *Definer) replan(o *cluster.Op, ns collection.Namespace, what string, change func(t *plannable) error) error {
	if err := noTxn(o, ns.DB, what); err != nil {
		return err
	}
	if ns.Coll == "" {
		return d.replanDatabase(o, ns.DB, change)
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
		t := &plannable{coll.Throughput, coll.Planned, func(t catalog.Throughput) error {
			if err := d.checkThroughput(coll, t); err != nil {
				return err
			}
			return d.checkPartitions(coll, t.RU)
		}}
		if err := change(t); err != nil {
			return err
		}
		next = d.Jobs.Replanned(coll, t.throughput.RU, t.planned)
		return m.Put(next)
	})
	if err != nil {
		return err
	}
	d.Jobs.Provision(next)
	d.Changed(ns)
	return nil
}

// replanDatabase is replan for a database.
func (d *Definer) replanDatabase(o *cluster.Op, db string, change func(t *plannable) error) error {
	return d.putDatabase(o, db, func(m *catalog.Mutation, old *catalog.Database) (*catalog.Database, error) {
		if old == nil {
			return nil, mongoerr.New(mongoerr.NamespaceNotFound, "database not found: %s", db)
		}
		t := &plannable{old.Throughput, old.Planned, func(t catalog.Throughput) error {
			return ratelimit.CheckDatabase(jobs.Provisioned(t), d.Jobs.SharedLoad(m.Snapshot(), old))
		}}
		if err := change(t); err != nil {
			return nil, err
		}
		return d.Jobs.ReplannedDatabase(m.Snapshot(), old, t.throughput.RU, t.planned), nil
	})
}

// checkPartitions rejects RU/s that need more partitions than a collection can have.
func (d *Definer) checkPartitions(coll *catalog.Collection, rus int64) error {
	if !coll.Sharded() {
		return nil
	}
	if n, most := d.PartitionsFor(rus), d.PartitionsMax(coll); n > most {
		return mongoerr.New(mongoerr.BadValue, "%d RU/s need %d partitions, and %s can have %d", rus, n, coll.Namespace, most)
	}
	return nil
}

// PartitionsMax returns the number of partitions that a sharded collection can have.
func (d *Definer) PartitionsMax(coll *catalog.Collection) int {
	return min(shard.ShardsMax, coll.Map.Len()+d.catalog.RoomForPartitions(coll.Namespace.DB))
}

// seconds returns a time without its fraction of a second, in UTC: the resolution of planned changes.
func seconds(t time.Time) time.Time { return t.UTC().Truncate(time.Second) }
