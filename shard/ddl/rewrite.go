package ddl

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/shard/cluster"
	"github.com/cantledb/cantle/shard/jobs"
)

// rewriting describes a command that copies the documents of a collection to other positions, such as a change of the
// shard key.
type rewriting struct {
	kind           string   // of the work, as currentOp shows it
	command        bson.Raw // as currentOp shows it
	restartCommand bson.Raw // for Rewrite, after a restart
	// next makes the entry that the collection gets from the present one; nil leaves everything unchanged.
	next func(was *catalog.Collection) (*catalog.Collection, error)
	// log appends the change-log records to the change that puts the copy in place.
	log func(m *catalog.Mutation, was, is *catalog.Collection) error
}

// rewrite carries out a rewriting of a collection that the caller has locked.
// Errors: the errors of Runner.Reshard and of the rewriting.
func (d *Definer) rewrite(o *cluster.Op, coll *catalog.Collection, r rewriting) error {
	var was *catalog.Collection
	made, err := d.Jobs.Reshard(o.Env.Context(), &jobs.Reshard{
		Collection:     coll.ID,
		Kind:           r.kind,
		Command:        r.command,
		RestartCommand: r.restartCommand,
		Next: func(coll *catalog.Collection) (*catalog.Collection, error) {
			was = coll
			next, err := r.next(coll)
			if err == nil && next != nil {
				err = d.catalog.Fits(next) // before all is copied
			}
			return next, err
		},
		Log: func(m *catalog.Mutation, is *catalog.Collection) error { return r.log(m, was, is) },
	})
	if err == nil && made != nil {
		d.committed(o)
	}
	return err
}

// lockForRewriting takes the Lock of a sharded collection for a rewriting, unless this server runs one already.
// Errors: ReshardCollectionInProgress (338), the errors of Runner.LockNamed.
func (d *Definer) lockForRewriting(o *cluster.Op, coll *catalog.Collection) (locked *catalog.Collection, unlock func(), err error) {
	if d.Jobs.Resharding(coll.ID) {
		return nil, nil, mongoerr.New(mongoerr.ReshardCollectionInProgress, "collection %s is being resharded already", coll.Namespace)
	}
	return d.Jobs.LockNamed(o.Env.Context(), coll.Namespace)
}

// notSharded is the error of a command that requires a shard key.
func notSharded(ns collection.Namespace) error {
	return mongoerr.New(mongoerr.NamespaceNotSharded, "Collection '%s' is not sharded", ns)
}

// commandDoc returns the document that fn writes.
func commandDoc(fn func(b *bson.Builder)) bson.Raw {
	b := bson.NewBuilder(nil)
	fn(b)
	return b.Doc()
}
