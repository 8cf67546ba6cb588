package cluster

import (
	"context"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/index"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/shard"
	"github.com/cantledb/cantle/shard/jobs"
	"github.com/cantledb/cantle/storage"
)

// entries is a Definer for the tests of this package, which cannot import shard/ddl: it adds and removes catalog
// entries without the change log; its only check is for a taken name.
type entries struct {
	c    *Cluster
	jobs *jobs.Runner
}

// made describes a collection or view to be created.
type made struct {
	Raw        bson.Raw // options as create takes them
	ShardKey   bson.Raw
	Shards     int
	Throughput catalog.Throughput
	Indexes    []bson.Raw
}

func (e *entries) Create(o *Op, ns collection.Namespace, opts made) error {
	return e.c.catalog.Change(o.Env.Context(), func(m *catalog.Mutation) error {
		if m.Snapshot().Collection(ns) != nil {
			return mongoerr.NamespaceTaken(ns.String())
		}
		coll, err := m.NewCollection(o.Env, ns, opts.Raw)
		if err != nil {
			return err
		}
		coll.Throughput = opts.Throughput
		if len(opts.ShardKey) > 0 {
			if coll.Key, err = shard.ParseKeyPattern(opts.ShardKey); err != nil {
				return err
			}
			if coll.Map, err = shard.NewMap(coll.Key.Kind(), 1, opts.Shards); err != nil {
				return err
			}
		}
		for _, raw := range opts.Indexes {
			spec, err := index.ParseSpec(o.Env, raw)
			if err != nil {
				return err
			}
			coll = coll.WithIndex(&catalog.Index{Spec: spec, ID: coll.NextIndex, State: catalog.IndexReady})
			coll.NextIndex++
		}
		if !coll.IsView() {
			defer e.jobs.Provision(coll)
		}
		return m.Put(coll)
	})
}

// ExpireDue implements Definer.
func (e *entries) ExpireDue(*Op, *catalog.Collection) error { return nil }

// CreateMissing implements Definer.
func (e *entries) CreateMissing(o *Op, ns collection.Namespace) error {
	if e.c.catalog.Peek().Collection(ns) != nil {
		return nil
	}
	return e.Create(o, ns, made{})
}

// CreateTemporary implements Definer.
func (e *entries) CreateTemporary(o *Op, db string, options bson.Raw, indexes []bson.Raw) (collection.Namespace, error) {
	ns := collection.Namespace{DB: db, Coll: "temporary"}
	return ns, e.Create(o, ns, made{Raw: options, Indexes: indexes})
}

// Replace implements Definer.
func (e *entries) Replace(o *Op, temporary, ns collection.Namespace) error {
	return e.c.catalog.Change(o.Env.Context(), func(m *catalog.Mutation) error {
		if old := m.Snapshot().Collection(ns); old != nil {
			m.Drop(old)
		}
		return m.Put(m.Snapshot().Collection(temporary).With(func(d *catalog.Collection) { d.Namespace = ns }))
	})
}

// Drop implements Definer.
func (e *entries) Drop(o *Op, ns collection.Namespace) (existed bool, err error) {
	gone := e.c.catalog.Peek().Collection(ns)
	if gone == nil {
		return false, nil
	}
	err = e.c.catalog.Change(o.Env.Context(), func(m *catalog.Mutation) error {
		m.Drop(gone)
		return nil
	})
	if err == nil {
		e.c.ForgetCollection(gone)
	}
	return true, err
}

// CommitCreated implements Definer.
func (e *entries) CommitCreated(ctx context.Context, txn storage.Txn, made []*catalog.Collection, d storage.Durability) (storage.Timestamp, error) {
	return e.c.catalog.ChangeIn(ctx, txn, d, func(m *catalog.Mutation) error {
		for _, coll := range made {
			if err := m.Put(coll); err != nil {
				return err
			}
		}
		return nil
	})
}
