package ddl

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/release"
	"github.com/cantledb/cantle/shard/cluster"
)

// Rename gives a collection another name, perhaps in another database. With dropTarget a collection of that name is
// dropped in the same step.
// Manual: reference/command/renameCollection. Errors: NamespaceNotFound (26), NamespaceExists (48), IllegalOperation
// (20), CommandNotSupportedOnView (166), InvalidNamespace (73).
func (d *Definer) Rename(o *cluster.Op, from, to collection.Namespace, dropTarget bool) error {
	for _, ns := range []collection.Namespace{from, to} {
		if err := d.waitForTxns(o, ns); err != nil {
			return err
		}
	}
	return d.rename(o, from, to, dropTarget, false)
}

// Replace puts a temporary collection in the place of the collection called ns, if there is one. The throughput of that one, and
// what is planned for it, remain: a client that may write documents cannot shed a budget by $out.
// Errors: as Rename.
func (d *Definer) Replace(o *cluster.Op, temporary, ns collection.Namespace) error {
	return d.rename(o, temporary, ns, true, true)
}

// rename is Rename, without waiting for transactions, or with replace Replace, which may also rename a time-series collection.
// Clients may not do that unless it is one namespace.
func (d *Definer) rename(o *cluster.Op, from, to collection.Namespace, dropTarget, replace bool) error {
	series := replace || o.Env.Release.Has(release.SeriesOneNamespace)
	if err := noTxn(o, from.DB, "renameCollection"); err != nil {
		return err
	}
	if err := o.MayWrite(to.DB); err != nil {
		return err
	}
	if err := checkNamespace(to); err != nil {
		return err
	}
	var moved, gone *catalog.Collection
	err := d.alter(o, func(m *catalog.Mutation) error {
		coll := m.Snapshot().Collection(from)
		gone = m.Snapshot().Collection(to)
		switch {
		case coll == nil:
			return mongoerr.New(mongoerr.NamespaceNotFound, "Source collection %s does not exist", from)
		case coll.IsView():
			return mongoerr.New(mongoerr.CommandNotSupportedOnView, "cannot rename view: %s", from)
		case coll.Options.TimeSeries != nil && !series:
			return mongoerr.New(mongoerr.CommandNotSupportedOnView, "cannot rename a time-series collection: %s", from)
		case from == to:
			return mongoerr.New(mongoerr.IllegalOperation, "Can't rename a collection to itself")
		case gone != nil && (gone.IsView() || gone.Options.TimeSeries != nil && !series):
			return mongoerr.New(mongoerr.NamespaceExists, "a view already exists with that name: %s", to)
		case gone != nil && !dropTarget:
			return mongoerr.New(mongoerr.NamespaceExists, "target namespace exists")
		}
		if gone != nil {
			if err := dropIn(m, gone); err != nil {
				return err
			}
		}
		moved = coll.With(func(d *catalog.Collection) {
			if d.Namespace = to; replace && gone != nil && !gone.Sharded() {
				d.Throughput, d.Planned = gone.Throughput, gone.Planned
			}
		})
		if err := m.Put(moved); err != nil {
			return err
		}
		return logCommand(o, m.Txn(), from.DB, moved, oldStateWriter(gone), func(b *bson.Builder) {
			b.String("renameCollection", from.String())
			b.String("to", to.String())
			b.Bool("stayTemp", false)
			if gone != nil {
				b.Binary("dropTarget", 4, gone.UUID[:])
			}
		})
	})
	if err != nil {
		return err
	}
	d.data.NamespaceGone(from)
	if gone != nil {
		d.dropped(gone)
	}
	d.Jobs.Provision(moved)
	return nil
}
