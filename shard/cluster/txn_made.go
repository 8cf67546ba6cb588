package cluster

import (
	"context"
	"slices"

	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/storage/keyspace"
)

// A collection that a transaction makes is in the transaction's own catalog
// until the commit, which writes its entry together with its documents and
// publishes it: Definer.CommitMade.

// ClaimName gives a transaction the sole right among transactions to make a collection of a
// name; it ends with the transaction. Who makes one outside of transactions asks nobody, and
// the commit fails.
// Errors: storage.ErrConflict when another transaction has it.
func (c *Cluster) ClaimName(ctx context.Context, t *Txn, ns collection.Namespace) error {
	return c.claim(ctx, t, creationKey(ns))
}

// creationKey stands for the making of a collection among the intents. No record
// key looks like it.
func creationKey(ns collection.Namespace) []byte { return []byte("create " + ns.String()) }

// AddMade adds a collection to those that the transaction of an op has made: its
// statements find it from now on, and the commit publishes it.
// Errors: SnapshotUnavailable (246) in a transaction at a time in the past.
func (c *Cluster) AddMade(o *Op, coll *catalog.Collection) error {
	t := o.Txn
	t.made = append(t.made, coll.ID)
	t.Catalog = t.Catalog.Adopt(coll)
	return c.rewindInTxn(o, coll.Namespace, coll)
}

// HasMade reports that the transaction made the collection itself.
func (t *Txn) HasMade(coll *catalog.Collection) bool {
	return coll != nil && slices.Contains(t.made, coll.ID)
}

// collectionsMade are the entries of the collections that the transaction made.
func (t *Txn) collectionsMade() []*catalog.Collection {
	out := make([]*catalog.Collection, len(t.made))
	for i, id := range t.made {
		out[i] = t.Catalog.ByID(id)
	}
	return out
}

// DocsAdded is how many documents the transaction has added to a collection.
func (t *Txn) DocsAdded(id keyspace.CollectionID) (n int64) {
	for _, x := range t.tallies {
		if x.coll == id {
			n += x.Docs
		}
	}
	return n
}
