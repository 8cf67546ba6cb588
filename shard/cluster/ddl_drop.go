package cluster

import (
	"strings"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/mongoerr"
)

// Drop removes a collection or view and reports whether it existed. The keys
// are removed later, when nobody can use them any more.
// Manual: reference/command/drop.
func (c *Cluster) Drop(o *Op, ns collection.Namespace) (bool, error) {
	ok, err := c.drop(o, ns)
	return ok, translate(err)
}

func (c *Cluster) drop(o *Op, ns collection.Namespace) (bool, error) {
	if err := noTxn(o, "drop"); err != nil {
		return false, err
	}
	var gone *catalog.Collection
	err := c.alter(o, func(m *catalog.Mutation) error {
		if gone = m.Snapshot().Collection(ns); gone == nil {
			return nil
		}
		if err := dropIn(m, gone); err != nil {
			return err
		}
		return logCommandOn(o, m, ns.DB, gone, ended(gone), func(b *bson.Builder) { b.String("drop", ns.Coll) })
	})
	if err != nil || gone == nil {
		return false, err
	}
	c.dropped(gone)
	return true, nil
}

// DropDatabase removes a database with everything in it, in one step. A missing
// one is no error.
// Manual: reference/command/dropDatabase.
func (c *Cluster) DropDatabase(o *Op, db string) error { return translate(c.dropDatabase(o, db)) }

func (c *Cluster) dropDatabase(o *Op, db string) error {
	if err := noTxn(o, "dropDatabase"); err != nil {
		return err
	}
	var gone []*catalog.Collection
	err := c.alter(o, func(m *catalog.Mutation) error {
		gone = m.Snapshot().Collections(db)
		for _, coll := range gone {
			if err := dropIn(m, coll); err != nil {
				return err
			}
			if err := logCommandOn(o, m, db, coll, ended(coll), func(b *bson.Builder) { b.String("drop", coll.Namespace.Coll) }); err != nil {
				return err
			}
		}
		if m.Snapshot().Database(db) == nil {
			return nil
		}
		m.DropDatabase(db)
		return logCommand(o, m, db, nil, func(b *bson.Builder) { b.Int32("dropDatabase", 1) })
	})
	if err != nil {
		return err
	}
	c.Budgets.DropDatabase(db)
	c.dropped(gone...)
	return nil
}

// Rename gives a collection another name, perhaps in another database. With
// dropTarget a collection of that name is dropped in the same step.
// Manual: reference/command/renameCollection. Errors: NamespaceNotFound (26),
// NamespaceExists (48), IllegalOperation (20), CommandNotSupportedOnView (166).
func (c *Cluster) Rename(o *Op, from, to collection.Namespace, dropTarget bool) error {
	return translate(c.rename(o, from, to, dropTarget))
}

func (c *Cluster) rename(o *Op, from, to collection.Namespace, dropTarget bool) error {
	if err := noTxn(o, "renameCollection"); err != nil {
		return err
	}
	if err := CheckNamespace(to); err != nil {
		return err
	}
	ours := strings.HasPrefix(from.Coll, outPrefix) // only clients may not rename time-series collections
	var moved, gone *catalog.Collection
	err := c.alter(o, func(m *catalog.Mutation) error {
		coll := m.Snapshot().Collection(from)
		gone = m.Snapshot().Collection(to)
		switch {
		case coll == nil:
			return mongoerr.New(mongoerr.NamespaceNotFound, "Source collection %s does not exist", from)
		case coll.IsView():
			return mongoerr.New(mongoerr.CommandNotSupportedOnView, "cannot rename view: %s", from)
		case coll.Options.TimeSeries != nil && !ours:
			return mongoerr.New(mongoerr.CommandNotSupportedOnView, "cannot rename a time-series collection: %s", from)
		case from == to:
			return mongoerr.New(mongoerr.IllegalOperation, "Can't rename a collection to itself")
		case gone != nil && (gone.IsView() || gone.Options.TimeSeries != nil && !ours):
			return mongoerr.New(mongoerr.NamespaceExists, "a view already exists with that name: %s", to)
		case gone != nil && !dropTarget:
			return mongoerr.New(mongoerr.NamespaceExists, "target namespace exists")
		}
		if gone != nil {
			if err := dropIn(m, gone); err != nil {
				return err
			}
		}
		moved = coll.With(func(d *catalog.Collection) { d.Namespace = to })
		if err := m.Put(moved); err != nil {
			return err
		}
		return logCommandOn(o, m, from.DB, moved, ended(gone), func(b *bson.Builder) {
			b.String("renameCollection", from.String())
			b.String("to", to.String())
			b.Bool("stayTemp", false)
			if gone != nil {
				b.Binary("dropTarget", 4, gone.UUID[:])
			}
		})
	})
	if err != nil {
		return err
	}
	c.Dropped(from)
	if gone != nil {
		c.dropped(gone)
	}
	c.Jobs.Provision(moved)
	return nil
}
