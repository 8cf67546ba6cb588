package cluster

import (
	"context"
	"slices"

	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/storage/keyspace"
)

// A collection that a transaction creates is in the transaction's own catalog
// until the commit, which writes its entry together with its documents and
// publishes it: Definer.CommitCreated.

// ClaimName gives a transaction the exclusive right among transactions to create a collection of a
// name, until the transaction ends. A creation outside of transactions makes no claim, and
// the commit then fails.
// Errors: storage.ErrConflict if another transaction has the claim.
func (c *Cluster) ClaimName(ctx context.Context, t *Txn, ns collection.Namespace) error {
	return c.claim(ctx, t, creationKey(ns))
}

// creationKey returns the key by which a transaction claims the creation of a collection, among the intents on record
// keys. No record key looks like it.
func creationKey(ns collection.Namespace) []byte { return []byte("create " + ns.String()) }

// AddCreated adds a collection to those that the transaction of an op has created: its statements find it from now on,
// and the commit publishes it. Errors: in a transaction at a time in the past, the errors of rewindCollection.
func (c *Cluster) AddCreated(o *Op, coll *catalog.Collection) error {
	t := o.Txn
	t.created = append(t.created, coll.ID)
	t.Catalog = t.Catalog.Adopt(coll)
	return c.rewindInTxn(o, coll.Namespace, coll)
}

// HasCreated reports whether the transaction created the collection itself.
func (t *Txn) HasCreated(coll *catalog.Collection) bool {
	return coll != nil && slices.Contains(t.created, coll.ID)
}

// createdCollections returns the entries of the collections that the transaction created.
func (t *Txn) createdCollections() []*catalog.Collection {
	out := make([]*catalog.Collection, len(t.created))
	for i, id := range t.created {
		out[i] = t.Catalog.ByID(id)
	}
	return out
}

// DocsAdded returns how many documents the transaction has added to a collection.
func (t *Txn) DocsAdded(id keyspace.CollectionID) (n int64) {
	for _, x := range t.tallies {
		if x.coll == id {
			n += x.Docs
		}
	}
	return n
}
