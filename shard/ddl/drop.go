package ddl

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/shard/cluster"
	"github.com/cantledb/cantle/shard/jobs"
)

// Drop removes a collection or view and reports whether it existed. The keys are deleted later,
// when nothing can use them any more.
// Manual: reference/command/drop.
func (d *Definer) Drop(o *cluster.Op, ns collection.Namespace) (bool, error) {
	if err := noTxn(o, ns.DB, "drop"); err != nil {
		return false, err
	}
	if err := d.waitForTxns(o, ns); err != nil {
		return false, err
	}
	var gone *catalog.Collection
	err := d.alter(o, func(m *catalog.Mutation) error {
		if gone = m.Snapshot().Collection(ns); gone == nil {
			return nil
		}
		if err := dropIn(m, gone); err != nil {
			return err
		}
		return logCommand(o, m.Txn(), ns.DB, gone, oldStateWriter(gone), func(b *bson.Builder) { b.String("drop", ns.Coll) })
	})
	if err != nil || gone == nil {
		return false, err
	}
	d.dropped(gone)
	return true, nil
}

// DropDatabase removes a database with everything in it, in one step, and reports whether it
// existed. A missing database is not an error. With keep, a budget that its collections share is
// kept, and with it the empty database, for users that may not choose a budget.
// Manual: reference/command/dropDatabase.
func (d *Definer) DropDatabase(o *cluster.Op, db string, keep bool) (existed bool, err error) {
	if err := noTxn(o, db, "dropDatabase"); err != nil {
		return false, err
	}
	for _, coll := range d.catalog.Peek().Collections(db) {
		if err := d.data.AwaitTxns(o, coll); err != nil {
			return false, err
		}
	}
	var gone []*catalog.Collection
	err = d.alter(o, func(m *catalog.Mutation) error {
		gone = m.Snapshot().Collections(db)
		for _, coll := range gone {
			if err := dropIn(m, coll); err != nil {
				return err
			}
			if err := logCommand(o, m.Txn(), db, coll, oldStateWriter(coll), func(b *bson.Builder) { b.String("drop", coll.Namespace.Coll) }); err != nil {
				return err
			}
		}
		if existed = m.Snapshot().Database(db) != nil || len(gone) > 0; m.Snapshot().Database(db) == nil {
			return nil
		}
		if keep = keep && m.Snapshot().Database(db).Throughput != (catalog.Throughput{}); !keep {
			m.DropDatabase(db)
		}
		return logCommand(o, m.Txn(), db, nil, nil, func(b *bson.Builder) { b.Int32("dropDatabase", 1) })
	})
	if err != nil {
		return false, err
	}
	if !keep {
		d.budgets.DropDatabase(db)
	}
	d.dropped(gone...)
	return existed, nil
}

// dropped removes what is kept in memory about dropped collections, and wakes the job that deletes
// their keys.
func (d *Definer) dropped(colls ...*catalog.Collection) {
	for _, coll := range colls {
		d.data.ForgetCollection(coll)
	}
	d.Jobs.WakeDelete()
}

// dropIn removes a collection inside a change.
func dropIn(m *catalog.Mutation, coll *catalog.Collection) error {
	m.Drop(coll)
	if coll.IsView() {
		return nil
	}
	return jobs.Delete(m, coll.ID, 0)
}
