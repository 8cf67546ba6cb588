package cluster

import (
	"context"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/storage"
)

// Definer is what the data plane asks of the room of data definition, shard/ddl: the
// collections that writes need and $out fills.
type Definer interface {
	// CreateMissing makes a collection that a write needs, unless there is one. In a
	// transaction it belongs to that until the commit, see AddMade; one that somebody
	// else has made since the transaction began is seen by it from now on.
	// Errors: InvalidNamespace (73); storage.ErrConflict when another transaction is
	// making it; those of the catalog.
	CreateMissing(o *Op, ns collection.Namespace) error
	// CreateTemporary makes a collection that will replace another, with options as
	// create takes them and indexes beside _id, both as they are in a catalog. The
	// caller ends it, by Replace or by Drop; after a crash the next start drops it.
	// Errors: those of options and indexes, and of the catalog.
	CreateTemporary(o *Op, db string, options bson.Raw, indexes []bson.Raw) (collection.Namespace, error)
	// Replace puts a temporary collection in the place of what is called ns, if
	// anything is.
	// Errors: NamespaceExists (48) for a view; those of the catalog.
	Replace(o *Op, temporary, ns collection.Namespace) error
	// Drop removes a collection and reports whether it existed.
	// Errors: those of the catalog.
	Drop(o *Op, ns collection.Namespace) (existed bool, err error)
	// ExpireDue deletes the documents of a collection whose time is over by a TTL index.
	// Errors: those of the store.
	ExpireDue(o *Op, coll *catalog.Collection) error
	// CommitMade commits a transaction and publishes the collections it made.
	// Errors: storage.ErrConflict when there is one of such a name by now; those of
	// the commit.
	CommitMade(ctx context.Context, txn storage.Txn, made []*catalog.Collection, d storage.Durability) (storage.Timestamp, error)
}

// AttachDefiner sets who makes collections. Called once, before the first command.
func (c *Cluster) AttachDefiner(d Definer) { c.definer = d }

// ForgetCollection forgets what is kept beside the store about a collection that was
// dropped, and ends its cursors.
func (c *Cluster) ForgetCollection(coll *catalog.Collection) {
	c.Budgets.Drop(uint64(coll.ID))
	c.Tally.Drop(coll.ID)
	c.lines.Delete(coll.ID)
	c.Uses.Drop(coll.ID)
	c.NamespaceGone(coll.Namespace)
}

// NamespaceGone ends the cursors on a name under which the collection they read is not
// found any more.
func (c *Cluster) NamespaceGone(ns collection.Namespace) {
	c.Dropped(ns)
	if c.upper.Dropped != nil {
		c.upper.Dropped(ns)
	}
}
