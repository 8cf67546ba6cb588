package ddl

import (
	"context"
	"errors"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/plan"
	"github.com/cantledb/cantle/shard/cluster"
	"github.com/cantledb/cantle/storage"
)

// ConvertToCapped puts a capped copy of a collection, with the newest documents that fit, in its place. Writers wait
// meanwhile; indexes other than _id_ are lost.
// Manual: reference/command/convertToCapped. Errors: NamespaceNotFound (26), CommandNotSupportedOnView (166),
// IllegalOperation (20) for a sharded one, the errors of Runner.LockNamed.
func (d *Definer) ConvertToCapped(o *cluster.Op, ns collection.Namespace, size int64) (err error) {
	if err := noTxn(o, ns.DB, "convertToCapped"); err != nil {
		return err
	}
	coll, err := d.capSource(ns)
	if err != nil {
		return err
	}
	if err := unsharded(coll); err != nil {
		return err
	}
	if err := d.data.AwaitTxns(o, coll); err != nil {
		return err
	}
	coll, unlock, err := d.Jobs.LockNamed(o.Env.Context(), ns)
	if err != nil {
		return err
	}
	defer unlock()
	if err := unsharded(coll); err != nil {
		return err
	}
	defer o.Env.SetContext(o.Env.Context())
	o.Env.SetContext(d.Jobs.Locked(o.Env.Context(), coll.ID))
	free := context.WithoutCancel(o.Env.Context())
	defer func() { // on every exit, also after a panic
		err = errors.Join(err, d.freeze(free, coll, false))
	}()
	if err := d.freeze(o.Env.Context(), coll, true); err != nil {
		return err
	}
	d.Jobs.Step("capped frozen")
	temp := d.temporary(ns.DB, cappedPrefix)
	if err = d.catalog.Drain(o.Env.Context(), coll.ID); err == nil {
		err = d.copyCapped(o, coll, temp, size)
	}
	if err == nil {
		d.Jobs.Step("capped copied")
		err = d.Replace(o, temp, ns)
	}
	if err != nil {
		d.dropAfter(o, temp)
	}
	return err
}

// unsharded rejects a collection with a shard key.
// Errors: IllegalOperation (20).
func unsharded(coll *catalog.Collection) error {
	if coll.Sharded() {
		return mongoerr.New(mongoerr.IllegalOperation, "you can't convertToCapped a sharded collection: %s", coll.Namespace)
	}
	return nil
}

// CloneAsCapped copies a collection into a new capped one, with the newest documents that fit. The
// new one becomes visible when it is complete.
// Manual: reference/command/cloneCollectionAsCapped. Errors: NamespaceNotFound
// (26), NamespaceExists (48), CommandNotSupportedOnView (166).
func (d *Definer) CloneAsCapped(o *cluster.Op, from, to collection.Namespace, size int64) error {
	if err := noTxn(o, from.DB, "cloneCollectionAsCapped"); err != nil {
		return err
	}
	coll, err := d.capSource(from)
	if err != nil {
		return err
	}
	if old := d.catalog.Peek().Collection(to); old != nil {
		if old.IsView() {
			return mongoerr.New(mongoerr.CommandNotSupportedOnView, "cloneCollectionAsCapped not supported for views: %s", to)
		}
		return mongoerr.NamespaceTaken(to.String())
	}
	temp := d.temporary(to.DB, cappedPrefix) // a start after a crash drops it
	if err = d.copyCapped(o, coll, temp, size); err == nil {
		d.Jobs.Step("capped copied")
		err = d.rename(o, temp, to, false, true)
	}
	if err != nil {
		d.dropAfter(o, temp)
	}
	return err
}

// dropAfter drops the collection that a failed command was filling, even if the command's context
// has ended.
func (d *Definer) dropAfter(o *cluster.Op, temp collection.Namespace) {
	env := *o.Env
	env.SetContext(context.WithoutCancel(o.Env.Context()))
	_, _ = d.Drop(&cluster.Op{Env: &env}, temp)
}

// capSource returns the collection to be copied.
func (d *Definer) capSource(ns collection.Namespace) (*catalog.Collection, error) {
	coll := d.catalog.Peek().Collection(ns)
	switch {
	case coll == nil:
		return nil, mongoerr.New(mongoerr.NamespaceNotFound, "source collection %s does not exist", ns)
	case coll.IsView(), coll.Options.TimeSeries != nil:
		return nil, mongoerr.New(mongoerr.CommandNotSupportedOnView, "cannot make a capped collection of a view: %s", ns)
	}
	return coll, nil
}

// freeze makes the writers of a collection wait while convertToCapped copies it, or lets them continue.
func (d *Definer) freeze(ctx context.Context, coll *catalog.Collection, on bool) error {
	return d.catalog.Change(ctx, func(m *catalog.Mutation) error {
		now := m.Snapshot().ByID(coll.ID)
		if now == nil || now.Frozen == on {
			if !on || now != nil {
				return nil
			}
			return mongoerr.NoNamespace(coll.Namespace.String())
		}
		return m.Put(now.With(func(d *catalog.Collection) { d.Frozen = on }))
	})
}

// copyRows and copyBytes bound one insert.
const (
	copyRows  = 256
	copyBytes = 4 << 20
)

// copyCapped creates a capped collection and fills it. The oldest documents, as far as all exceed the size in bytes,
// are not copied.
func (d *Definer) copyCapped(o *cluster.Op, from *catalog.Collection, to collection.Namespace, size int64) error {
	if err := d.Create(o, to, CreateOptions{Raw: cappedOptions(from.Options.Raw, size)}); err != nil {
		return err
	}
	made := d.catalog.Peek().Collection(to)
	if made == nil {
		return mongoerr.NoNamespace(to.String())
	}
	env, out := *o.Env, *o.Env
	reader := &cluster.Op{Env: &env, Class: o.Class, AppName: o.AppName, User: o.User}
	in, err := d.data.Find(reader, from.Namespace, plan.Find{})
	if err != nil {
		return err
	}
	defer in.Close()
	writer := &cluster.Op{Env: &out, Class: o.Class, AppName: o.AppName, User: o.User, BypassValidation: true}
	defer func() {
		o.Credit(reader)
		o.Credit(writer)
	}()
	tooMuch := d.tally.Of(from.ID).Total(from.Map).Bytes - made.Options.CapBytes
	var batch []bson.Raw
	held := 0
	flush := func() error {
		if len(batch) == 0 {
			return nil
		}
		_, errs, err := d.data.Insert(writer, to, batch, true)
		if err == nil && len(errs) > 0 {
			err = errs[0].Err
		}
		batch, held = batch[:0], 0
		return err
	}
	for {
		row, err := in.Next(&env)
		if err != nil {
			return err
		}
		if row == nil {
			break
		}
		if tooMuch > 0 {
			tooMuch -= int64(len(row.Doc))
			continue
		}
		batch = append(batch, row.Doc.Clone())
		if held += len(row.Doc); len(batch) == copyRows || held > copyBytes {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	in.Settle()
	if err := flush(); err != nil {
		return err
	}
	if o.Durability == storage.Synced {
		return d.store.Sync(o.Env.Context())
	}
	return nil
}

// cappedOptions returns the options of a capped copy of a collection: those of the source, with capped and the size,
// without clusteredIndex and expireAfterSeconds.
func cappedOptions(old bson.Raw, size int64) bson.Raw {
	b := bson.NewBuilder(nil)
	b.Bool("capped", true)
	b.Int("size", size)
	if len(old) > 0 {
		for it := old.Iter(); it.Next(); {
			switch string(it.Name) {
			case "capped", "size", "clusteredIndex", "expireAfterSeconds":
			default:
				b.ValueBytes(it.Name, it.Value)
			}
		}
	}
	return b.Doc()
}
