package cluster

import (
	"context"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/storage"
)

// Definer is the part of data definition (shard/ddl) that the data plane needs: for the collections that writes, $out
// and transactions create, and for expired documents.
type Definer interface {
	// CreateMissing creates a collection for a write, unless it exists. In a transaction the collection belongs to
	// the transaction until the commit, see AddCreated. If the collection was created outside since the transaction
	// began, the transaction sees it from now on.
	// Errors: InvalidNamespace (73); storage.ErrConflict when another transaction is making it; the errors of the
	// catalog.
	CreateMissing(o *Op, ns collection.Namespace) error
	// CreateTemporary creates a collection that $out fills and that then replaces another. options are those of
	// create, indexes those beside the one on _id, both as a catalog stores them. The caller ends it with Replace or
	// Drop; after a crash the next start or a peer drops it.
	// Errors: the errors of options and indexes, and of the catalog.
	CreateTemporary(o *Op, db string, options bson.Raw, indexes []bson.Raw) (collection.Namespace, error)
	// Replace puts a temporary collection in the place of the collection called ns, if there is one.
	// Errors: NamespaceExists (48) for a view; the errors of the catalog.
	Replace(o *Op, temporary, ns collection.Namespace) error
	// Drop removes a collection and reports whether it existed.
	// Errors: the errors of the catalog.
	Drop(o *Op, ns collection.Namespace) (existed bool, err error)
	// ExpireDue deletes the documents of a collection that a TTL index has expired.
	// Errors: the errors of the store.
	ExpireDue(o *Op, coll *catalog.Collection) error
	// CommitCreated commits a transaction and publishes the collections that it has created (made).
	// Errors: storage.ErrConflict if a collection of such a name exists by now; the errors of the commit.
	CommitCreated(ctx context.Context, txn storage.Txn, made []*catalog.Collection, d storage.Durability) (storage.Timestamp, error)
}

// AttachDefiner sets the Definer. Called once, before the first command.
func (c *Cluster) AttachDefiner(d Definer) { c.definer = d }

// ForgetCollection drops what is kept in memory about a dropped collection,
// and ends its cursors.
func (c *Cluster) ForgetCollection(coll *catalog.Collection) {
	c.Budgets.Drop(uint64(coll.ID))
	c.tally.Drop(coll.ID)
	c.cappedLocks.Delete(coll.ID)
	c.frontiers.Delete(coll.ID)
	c.Uses.Drop(coll.ID)
	c.NamespaceGone(coll.Namespace)
}

// NamespaceGone ends the cursors on a namespace that no longer names the collection that
// they read.
func (c *Cluster) NamespaceGone(ns collection.Namespace) {
	c.dropped(ns)
	if c.upper.Dropped != nil {
		c.upper.Dropped(ns)
	}
}
