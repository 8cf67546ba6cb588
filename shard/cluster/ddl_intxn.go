package cluster

import (
	"context"
	"errors"
	"slices"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/index"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/keyspace"
)

// A collection that a transaction makes is in the transaction's own catalog
// until the commit, which writes its entry together with its documents and
// publishes it. An abort leaves nothing but a number that is never given again.
// Manual: core/transactions-operations#create-collections-and-indexes-in-a-transaction.

// createInTxn makes a collection for a transaction.
// Errors: as Create, NamespaceExists (48) under the same options too (Observed:
// PyMongo's test suite); storage.ErrConflict when another transaction is making it.
func (c *Cluster) createInTxn(o *Op, ns collection.Namespace, opts CreateOptions) error {
	t := o.Txn
	old := t.Catalog.Collection(ns)
	if old == nil {
		old = c.Catalog.Peek().Collection(ns) // made since the transaction began
	}
	if old != nil {
		if opts.Implicit {
			return nil
		}
		return mongoerr.NamespaceTaken(ns.String())
	}
	if err := c.intents.claim(t, creationKey(ns)); err != nil {
		return err
	}
	var made *catalog.Collection
	err := c.Catalog.Change(o.Env.Context(), func(m *catalog.Mutation) (err error) { // takes a number
		made, err = c.newCollection(o, m, ns, opts)
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
	t.made = append(t.made, made.ID)
	t.Catalog = t.Catalog.Adopt(made)
	return c.rewound(o, ns, made)
}

// creationKey stands for the making of a collection among the intents. No record
// key looks like it.
func creationKey(ns collection.Namespace) []byte { return []byte("create " + ns.String()) }

// awaitCreation waits until no open transaction is making the collection.
func (c *Cluster) awaitCreation(o *Op, ns collection.Namespace) error {
	for {
		b := (*blocked)(nil)
		if err := c.intents.check(creationKey(ns)); !errors.As(err, &b) {
			return err
		}
		if err := b.wait(o.Env.Context()); err != nil {
			return err
		}
	}
}

// adopt lets a transaction go on with a catalog in which there is a collection
// that somebody else has made since it began. What it knows of all others stays
// as it was.
func (c *Cluster) adopt(o *Op, ns collection.Namespace) {
	if o.Txn == nil || o.Txn.Catalog.Collection(ns) != nil {
		return
	}
	if coll := c.Catalog.Peek().Collection(ns); coll != nil {
		o.Txn.Catalog = o.Txn.Catalog.Adopt(coll)
	}
}

// hasMade reports that the transaction made the collection itself.
func (t *Txn) hasMade(coll *catalog.Collection) bool {
	return coll != nil && slices.Contains(t.made, coll.ID)
}

// docs is how many documents the transaction has added to a collection.
func (t *Txn) docs(id keyspace.CollectionID) (n int64) {
	for _, x := range t.tallies {
		if x.coll == id {
			n += x.Docs
		}
	}
	return n
}

// commitWithMade commits a transaction and publishes the collections it made.
// Errors: storage.ErrConflict when one of that name was made meanwhile.
func (c *Cluster) commitWithMade(ctx context.Context, t *Txn, txn storage.Txn, d storage.Durability) (storage.Timestamp, error) {
	ts, err := c.Catalog.ChangeIn(ctx, txn, d, func(m *catalog.Mutation) error {
		for _, id := range t.made {
			coll := t.Catalog.ByID(id)
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
	for _, id := range t.made {
		c.Jobs.Provision(t.Catalog.ByID(id))
	}
	return ts, nil
}

// createIndexesInTxn is createIndexes for a transaction: with the collection, or
// on one it has made and not filled yet. An index of an existing collection
// would have to wait for the end of the transaction.
func (c *Cluster) createIndexesInTxn(o *Op, ns collection.Namespace, specs []bson.Raw) (before, after int, created bool, err error) {
	t := o.Txn
	c.adopt(o, ns)
	coll := t.Catalog.Collection(ns)
	if coll == nil {
		if err := c.createInTxn(o, ns, CreateOptions{Implicit: true, Indexes: specs}); err != nil {
			return 0, 0, false, err
		}
		return 1, len(t.Catalog.Collection(ns).Indexes), true, nil
	}
	if coll.IsView() {
		return 0, 0, false, mongoerr.ViewNotAllowed(ns.String())
	}
	before = len(coll.Indexes)
	var added []*index.Spec
	for _, raw := range specs {
		spec, err := parseIndex(o, coll, raw)
		if err != nil {
			return 0, 0, false, err
		}
		same, err := checkIndex(o, coll, spec, 0)
		switch {
		case err != nil:
			return 0, 0, false, err
		case same:
			continue
		case !t.hasMade(coll):
			return 0, 0, false, mongoerr.New(mongoerr.OperationNotSupportedInTransaction,
				"Cannot create new indexes on existing collection %s in a multi-document transaction.", ns)
		case t.docs(coll.ID) > 0:
			return 0, 0, false, mongoerr.New(mongoerr.OperationNotSupportedInTransaction,
				"Cannot create new indexes on non-empty collection %s in a multi-document transaction.", ns)
		}
		coll = withNewIndex(coll, spec, catalog.IndexReady)
		added = append(added, spec)
	}
	if len(added) > 0 {
		t.Catalog = t.Catalog.Adopt(coll)
		err = logIndexes(o, t.Store, coll, coll.Indexes[len(coll.Indexes)-len(added):], false)
	}
	return before, len(coll.Indexes), false, err
}
