package ddl

import (
	"slices"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/index"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/shard/cluster"
	"github.com/cantledb/cantle/shard/jobs"
	"github.com/cantledb/cantle/storage/keyspace"
)

// UpdateCollection sets the indexes of a collection, besides that on _id, to those of a list, and sets its throughput
// unless t is the zero value. An index whose key is in the list is unchanged. New indexes are built first, staged;
// then one change of the catalog shows them, drops those that are not in the list and sets the throughput. After an
// error or a crash nothing has changed for clients.
// Source: Azure Cosmos DB, "custom-commands#update-collection". Errors: the errors of SetThroughput, CreateIndexes,
// DropIndexes and Runner.LockNamed.
func (d *Definer) UpdateCollection(o *cluster.Op, ns collection.Namespace, t catalog.Throughput, specs []bson.Raw) error {
	if err := noTxn(o, ns.DB, "UpdateCollection"); err != nil {
		return err
	}
	if err := d.waitForTxns(o, ns); err != nil {
		return err
	}
	if coll := d.catalog.Peek().Collection(ns); coll != nil && coll.IsView() {
		return mongoerr.ViewNotAllowed(ns.String())
	}
	ctx := o.Env.Context()
	coll, unlock, err := d.Jobs.LockNamed(ctx, ns)
	if err != nil {
		return err
	}
	defer unlock()
	u := &updating{d: d, o: o, ns: ns, id: coll.ID, throughput: t, specs: specs, docs: d.tally.Of(coll.ID).Total(coll.Map).Docs}
	u.build = &jobs.Build{Collection: u.id, Namespace: ns, Finish: u.finish}
	if err := d.catalog.ChangeSoon(ctx, u.stage); err != nil {
		return err
	}
	if len(u.build.Indexes) > 0 {
		err = d.Jobs.BuildIndexes(ctx, u.build)
	} else {
		err = d.catalog.Change(ctx, u.change)
		d.Jobs.WakeDelete()
	}
	if err != nil {
		return err
	}
	d.committed(o)
	if t != (catalog.Throughput{}) {
		d.Jobs.Provision(u.next)
		d.Changed(ns)
	}
	return nil
}

// updating is a running UpdateCollection.
type updating struct {
	d          *Definer
	o          *cluster.Op
	ns         collection.Namespace
	id         keyspace.CollectionID
	throughput catalog.Throughput
	specs      []bson.Raw
	docs       int64 // in the collection
	build      *jobs.Build
	next       *catalog.Collection // the entry after the change
}

// stage checks an UpdateCollection and adds its new indexes to the catalog entry as staged ones, which clients do not
// see.
func (u *updating) stage(m *catalog.Mutation) error {
	was, err := locked(m, u.ns, u.id)
	if err != nil {
		return err
	}
	if u.throughput.Mode != catalog.ThroughputNone {
		if err := ratelimit.CheckSwitch(jobs.Provisioned(was.Throughput), jobs.Provisioned(u.throughput)); err != nil {
			return err
		}
		if err := u.d.checkThroughput(was, u.throughput); err != nil {
			return err
		}
	}
	coll, err := jobs.DropStaged(m, was)
	if err != nil {
		return err
	}
	gone, err := unlisted(u.o, coll, u.specs)
	if err != nil {
		return err
	}
	added, err := newIndexes(u.o, coll, gone, u.specs, u.docs)
	if err != nil {
		return err
	}
	u.build.Indexes, u.build.Command = u.build.Indexes[:0], createIndexesCommand(u.ns, added)
	for _, spec := range added {
		u.build.Indexes = append(u.build.Indexes, coll.NextIndex)
		coll = withNewIndex(coll, stagedIndex(spec))
	}
	if coll == was {
		return nil
	}
	return m.Put(coll)
}

// finish completes an UpdateCollection in the catalog entry whose new indexes are ready: it drops the indexes that
// are not in the list, and sets the throughput.
func (u *updating) finish(m *catalog.Mutation, coll *catalog.Collection) (*catalog.Collection, error) {
	gone, err := unlisted(u.o, coll, u.specs)
	if err != nil {
		return nil, err
	}
	if u.next, err = dropIndexes(u.o, m, coll, gone); err != nil {
		return nil, err
	}
	if err := logIndexes(u.o, m.Txn(), u.next, numbered(u.next, u.build.Indexes), u.docs > 0 && len(u.build.Indexes) > 0); err != nil {
		return nil, err
	}
	if u.throughput != (catalog.Throughput{}) {
		u.next, err = u.d.withThroughput(u.next, u.throughput)
	}
	return u.next, err
}

// change makes the changes if no index is new.
func (u *updating) change(m *catalog.Mutation) error {
	coll, err := locked(m, u.ns, u.id)
	if err != nil {
		return err
	}
	next, err := u.finish(m, coll)
	if err != nil || next == coll {
		return err
	}
	return m.Put(next)
}

// unlisted returns the indexes of a collection whose keys are not in a list of specifications: UpdateCollection drops
// these.
// Errors: IllegalOperation (20) if one of them is the last that serves a ranged shard key and there is no Cosmos
// account.
func unlisted(o *cluster.Op, coll *catalog.Collection, specs []bson.Raw) (gone []*catalog.Index, err error) {
	for _, ix := range coll.UnstagedIndexes()[1:] {
		if !slices.ContainsFunc(specs, func(spec bson.Raw) bool { return bson.Equal(spec.Get("key"), ix.Key.Value(), nil) }) {
			gone = append(gone, ix)
		}
	}
	if !o.Env.Strict() {
		return keepServing(coll, gone, false)
	}
	return gone, nil
}

// newIndexes returns the specifications in a list whose keys no index of a collection has, not counting indexes in
// gone.
// Errors: the errors of CreateIndexes.
func newIndexes(o *cluster.Op, coll *catalog.Collection, gone []*catalog.Index, specs []bson.Raw, docs int64) (added []*index.Spec, err error) {
	for _, ix := range gone {
		coll = coll.WithoutIndex(ix.ID)
	}
	had := coll.UnstagedIndexes()
	for _, raw := range specs {
		if slices.ContainsFunc(had, func(ix *catalog.Index) bool { return bson.Equal(raw.Get("key"), ix.Key.Value(), nil) }) {
			continue
		}
		spec, err := parseIndex(o, coll, raw)
		if err != nil {
			return nil, err
		}
		same, err := checkIndex(o, coll, spec, docs)
		if err != nil {
			return nil, err
		}
		if !same {
			coll = withNewIndex(coll, &catalog.Index{Spec: spec, State: catalog.IndexBuilding})
			added = append(added, spec)
		}
	}
	return added, nil
}
