package ddl

import (
	"context"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/index"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/shard/cluster"
	"github.com/cantledb/cantle/storage"
)

// A collection that a transaction creates is in the transaction's own catalog until the commit,
// which writes its entry together with its documents and publishes it. An abort leaves nothing but
// a collection number that is not reused.
// Manual: core/transactions-operations#create-collections-and-indexes-in-a-transaction.

// createInTxn creates a collection in a multi-document transaction, which alone sees it until the commit.
// Errors: as Create, NamespaceExists (48) under the same options too (Observed: PyMongo's test suite);
// storage.ErrConflict if another transaction is creating it; OperationNotSupportedInTransaction (263) for a view or a
// time-series collection.
func (d *Definer) createInTxn(o *cluster.Op, ns collection.Namespace, opts CreateOptions) error {
	t := o.Txn
	old := t.Catalog.Collection(ns)
	if old == nil {
		old = d.catalog.Peek().Collection(ns) // created since the transaction began
	}
	if old != nil {
		if opts.Implicit {
			return nil
		}
		return mongoerr.NamespaceTaken(ns.String())
	}
	if err := d.data.ClaimName(o.Env.Context(), t, ns); err != nil {
		return err
	}
	var made *catalog.Collection
	err := d.catalog.Change(o.Env.Context(), func(m *catalog.Mutation) (err error) { // takes a number
		if made, err = d.newCollection(o, m, ns, opts); err == nil {
			err = d.catalog.Fits(made)
		}
		return err
	})
	switch {
	case err != nil:
		return err
	case made.IsView():
		return mongoerr.New(mongoerr.OperationNotSupportedInTransaction, "Cannot create a view in a multi-document transaction: %s", ns)
	case made.Options.TimeSeries != nil:
		return mongoerr.New(mongoerr.OperationNotSupportedInTransaction, "Cannot create a time-series collection in a multi-document transaction: %s", ns)
	}
	if err := logCreate(o, t.Store, made, opts); err != nil {
		return err
	}
	return d.data.AddCreated(o, made)
}

// adopt adds to the catalog of a transaction a collection that another op has created since the
// transaction began. All other entries stay as they were.
func (d *Definer) adopt(o *cluster.Op, ns collection.Namespace) {
	if o.Txn == nil || o.Txn.Catalog.Collection(ns) != nil {
		return
	}
	if coll := d.catalog.Peek().Collection(ns); coll != nil {
		o.Txn.Catalog = o.Txn.Catalog.Adopt(coll)
	}
}

// CommitCreated commits a transaction and publishes the collections it created.
// Errors: storage.ErrConflict if a collection of that name was created meanwhile; the errors of the commit.
func (d *Definer) CommitCreated(ctx context.Context, txn storage.Txn, made []*catalog.Collection, durability storage.Durability) (storage.Timestamp, error) {
	ts, err := d.catalog.ChangeIn(ctx, txn, durability, func(m *catalog.Mutation) error {
		for _, coll := range made {
			if m.Snapshot().Collection(coll.Namespace) != nil {
				return storage.ErrConflict
			}
			if err := m.Put(coll); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	for _, coll := range made {
		d.Jobs.Provision(coll)
	}
	return ts, nil
}

// createIndexesInTxn creates indexes in a transaction: together with the collection, or on a collection that the
// transaction has created and not filled yet. A new index of an existing collection would have to wait for the end of
// the transaction, and is refused.
func (d *Definer) createIndexesInTxn(o *cluster.Op, ns collection.Namespace, specs []bson.Raw) (r IndexesCreated, err error) {
	t := o.Txn
	d.adopt(o, ns)
	coll := t.Catalog.Collection(ns)
	if coll == nil {
		if err := d.createInTxn(o, ns, CreateOptions{Implicit: true, Indexes: specs}); err != nil {
			return IndexesCreated{}, err
		}
		return IndexesCreated{Before: 1, After: len(t.Catalog.Collection(ns).Indexes), Created: true}, nil
	}
	if coll.IsView() {
		return IndexesCreated{}, mongoerr.ViewNotAllowed(ns.String())
	}
	r.Before = len(coll.Indexes)
	var added []*index.Spec
	for _, raw := range specs {
		spec, err := parseIndex(o, coll, raw)
		if err != nil {
			return IndexesCreated{}, err
		}
		same, err := checkIndex(o, coll, spec, 0)
		switch {
		case err != nil:
			return IndexesCreated{}, err
		case same:
			continue
		case !t.HasCreated(coll):
			return IndexesCreated{}, mongoerr.New(mongoerr.OperationNotSupportedInTransaction,
				"Cannot create new indexes on existing collection %s in a multi-document transaction.", ns)
		case t.DocsAdded(coll.ID) > 0:
			return IndexesCreated{}, mongoerr.New(mongoerr.OperationNotSupportedInTransaction,
				"Cannot create new indexes on non-empty collection %s in a multi-document transaction.", ns)
		}
		coll = withNewIndex(coll, &catalog.Index{Spec: spec, State: catalog.IndexReady})
		added = append(added, spec)
	}
	if len(added) > 0 {
		t.Catalog = t.Catalog.Adopt(coll)
		err = logIndexes(o, t.Store, coll, coll.Indexes[len(coll.Indexes)-len(added):], false)
	}
	r.After = len(coll.Indexes)
	return r, err
}
