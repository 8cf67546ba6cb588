package cluster

import (
	"context"
	"encoding/hex"
	"errors"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/plan"
	"github.com/cantledb/cantle/storage"
)

// ConvertToCapped puts a capped copy of a collection, with the newest documents
// that fit, in its place. Writers wait meanwhile; indexes other than _id_ are lost.
// Manual: reference/command/convertToCapped. Errors: NamespaceNotFound (26),
// CommandNotSupportedOnView (166), IllegalOperation (20) for a sharded one.
func (c *Cluster) ConvertToCapped(o *Op, ns collection.Namespace, size int64) error {
	return translate(c.convertToCapped(o, ns, size))
}

func (c *Cluster) convertToCapped(o *Op, ns collection.Namespace, size int64) (err error) {
	if err := noTxn(o, "convertToCapped"); err != nil {
		return err
	}
	coll, err := c.capSource(ns)
	if err != nil {
		return err
	}
	if err := unsharded(coll); err != nil {
		return err
	}
	coll, unlock, err := c.Jobs.LockNamed(o.Env.Context(), ns)
	if err != nil {
		return err
	}
	defer unlock()
	if err := unsharded(coll); err != nil {
		return err
	}
	free := context.WithoutCancel(o.Env.Context())
	defer func() { // whatever ends the command, also if that is a panic
		err = errors.Join(err, c.freeze(free, coll, false))
	}()
	if err := c.freeze(o.Env.Context(), coll, true); err != nil {
		return err
	}
	c.Jobs.Step("capped frozen")
	id := bson.NewObjectID()
	temp := collection.Namespace{DB: ns.DB, Coll: cappedPrefix + hex.EncodeToString(id[:])}
	if err = c.Catalog.Drain(o.Env.Context()); err == nil {
		err = c.copyCapped(o, coll, temp, size)
	}
	if err == nil {
		c.Jobs.Step("capped copied")
		err = c.rename(o, temp, ns, true)
	}
	if err != nil {
		env := *o.Env
		env.SetContext(free)
		_, _ = c.drop(&Op{Env: &env}, temp)
	}
	return err
}

func unsharded(coll *catalog.Collection) error {
	if coll.Sharded() {
		return mongoerr.New(mongoerr.IllegalOperation, "you can't convertToCapped a sharded collection: %s", coll.Namespace)
	}
	return nil
}

// CloneAsCapped copies a collection into a new capped one, with the newest
// documents that fit.
// Manual: reference/command/cloneCollectionAsCapped. Errors: NamespaceNotFound
// (26), NamespaceExists (48), CommandNotSupportedOnView (166).
func (c *Cluster) CloneAsCapped(o *Op, from, to collection.Namespace, size int64) error {
	return translate(c.cloneAsCapped(o, from, to, size))
}

func (c *Cluster) cloneAsCapped(o *Op, from, to collection.Namespace, size int64) error {
	if err := noTxn(o, "cloneCollectionAsCapped"); err != nil {
		return err
	}
	coll, err := c.capSource(from)
	if err != nil {
		return err
	}
	if old := c.Catalog.Peek().Collection(to); old != nil {
		if old.IsView() {
			return mongoerr.New(mongoerr.CommandNotSupportedOnView, "cloneCollectionAsCapped not supported for views: %s", to)
		}
		return mongoerr.NamespaceTaken(to.String())
	}
	return c.copyCapped(o, coll, to, size)
}

// capSource finds the collection to be copied.
func (c *Cluster) capSource(ns collection.Namespace) (*catalog.Collection, error) {
	coll := c.Catalog.Peek().Collection(ns)
	switch {
	case coll == nil:
		return nil, mongoerr.New(mongoerr.NamespaceNotFound, "source collection %s does not exist", ns)
	case coll.IsView(), coll.Options.TimeSeries != nil:
		return nil, mongoerr.New(mongoerr.CommandNotSupportedOnView, "cannot make a capped collection of a view: %s", ns)
	}
	return coll, nil
}

// freeze makes the writers of a collection wait, or lets them go on.
func (c *Cluster) freeze(ctx context.Context, coll *catalog.Collection, on bool) error {
	return c.Catalog.Change(ctx, func(m *catalog.Mutation) error {
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

// copyCapped creates a capped collection and fills it. What would be deleted again
// to make room is not copied.
func (c *Cluster) copyCapped(o *Op, from *catalog.Collection, to collection.Namespace, size int64) error {
	if err := c.create(o, to, CreateOptions{Raw: cappedOptions(from.Options.Raw, size)}); err != nil {
		return err
	}
	made := c.Catalog.Peek().Collection(to)
	if made == nil {
		return mongoerr.NoNamespace(to.String())
	}
	env, out := *o.Env, *o.Env
	in, err := c.find(&Op{Env: &env, Class: o.Class}, from.Namespace, plan.Find{})
	if err != nil {
		return err
	}
	defer in.Close()
	writer := &Op{Env: &out, Class: o.Class, BypassValidation: true}
	tooMuch := c.Tally.Of(from.ID).Total(from.Map).Bytes - made.Options.CapBytes
	var batch []bson.Raw
	held := 0
	flush := func() error {
		if len(batch) == 0 {
			return nil
		}
		_, errs, err := c.Insert(writer, to, batch, true)
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
		if held += len(row.Doc); len(batch) == batchRows || held > batchBytes {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	in.Settle()
	if err := flush(); err != nil {
		return err
	}
	o.Committed = max(o.Committed, writer.Committed)
	if o.Durability == storage.Synced {
		return c.sync(o.Env.Context())
	}
	return nil
}

// cappedOptions are the options of the copy: those of the source, but capped.
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
