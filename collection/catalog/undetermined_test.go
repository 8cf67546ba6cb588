package catalog_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/release"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/faultkv"
	"github.com/cantledb/cantle/storage/memkv"
)

// onFaults is a catalog over a store with faults.
func onFaults(t *testing.T) (*room, *faultkv.Store) {
	t.Helper()
	store := faultkv.New(memkv.Open(memkv.Options{}), 1)
	c, err := catalog.Open(context.Background(), store, release.Default)
	bsontest.Must(t, err)
	return &room{c, t, store}, store
}

// A change whose commit conflicts is made again, from nothing.
func TestChangeConflicts(t *testing.T) {
	r, store := onFaults(t)
	defer store.Close()
	store.SetRules(faultkv.Rule{Op: faultkv.Commit, Times: 3, Err: storage.ErrConflict})
	calls := 0
	bsontest.Must(t, r.Change(context.Background(), func(m *catalog.Mutation) error {
		calls++
		if m.Snapshot().Collection(ns("db.c")) != nil {
			t.Error("what a refused change did is there")
		}
		c, err := m.NewCollection(env(), ns("db.c"), nil)
		if err != nil {
			return err
		}
		return m.Put(c)
	}))
	if calls != 4 || r.Peek().Collection(ns("db.c")) == nil {
		t.Errorf("%d calls", calls)
	}
}

// renamed renames a collection.
func renamed(from, to string) func(m *catalog.Mutation) error {
	return func(m *catalog.Mutation) error {
		coll, err := m.Snapshot().Lookup(ns(from))
		if err != nil {
			return err
		}
		return m.Put(coll.With(func(d *catalog.Collection) { d.Namespace = ns(to) }))
	}
}

// dropped drops a collection.
func dropped(name string) func(m *catalog.Mutation) error {
	return func(m *catalog.Mutation) error {
		coll, err := m.Snapshot().Lookup(ns(name))
		if err == nil {
			m.Drop(coll)
		}
		return err
	}
}

// If the commit of a change is undetermined, Change reads from the store whether it was made, and makes a lost one
// again: it returns no error, and the catalogs in memory and in the store have the change.
func TestChangeUndetermined(t *testing.T) {
	for _, arrives := range []bool{true, false} {
		r, store := onFaults(t)
		r.create("db.c", "{}")
		r.create("db.gone", "{}")
		for what, change := range map[string]func(m *catalog.Mutation) error{"rename": renamed("db.c", "db.d"), "drop": dropped("db.gone")} {
			store.SetRules(faultkv.Rule{Op: faultkv.Commit, Times: 1, Err: storage.ErrUndetermined, After: arrives})
			if err := r.Change(context.Background(), change); err != nil { // a lost change is made again
				t.Errorf("%s that arrives %v: %v", what, arrives, err)
			}
		}
		again, err := catalog.Open(context.Background(), store, release.Default)
		bsontest.Must(t, err)
		for name, want := range map[string]bool{"db.c": false, "db.d": true, "db.gone": false} {
			if in, kept := r.Peek().Collection(ns(name)) != nil, again.Peek().Collection(ns(name)) != nil; in != want || kept != want {
				t.Errorf("arrives %v: %s is in memory: %v, in the store: %v, want %v", arrives, name, in, kept, want)
			}
		}
		bsontest.Must(t, store.Close())
	}
}

// While the outcome of a change is undetermined and the store cannot be read, the collection of the change is frozen,
// others are not, and other changes are rejected. When the store answers, the collection has the outcome of the store,
// and changes succeed again.
func TestChangeUnknown(t *testing.T) {
	for _, arrives := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			r, store := onFaults(t)
			r.create("db.c", "{}")
			r.create("db.other", "{}")
			away := faultkv.Rule{Op: faultkv.Begin, Skip: 1, Err: storage.ErrUnavailable}
			store.SetRules(faultkv.Rule{Op: faultkv.Commit, Times: 1, Err: storage.ErrUndetermined, After: arrives}, away)
			if err := r.Change(context.Background(), renamed("db.c", "db.d")); !errors.Is(err, storage.ErrUndetermined) {
				t.Fatalf("got %v", err)
			}
			now := r.Peek()
			if !now.Collection(ns("db.c")).Frozen || now.Collection(ns("db.other")).Frozen {
				t.Error("the writers of the collection, and of no other, should wait")
			}
			store.SetRules(faultkv.Rule{Op: faultkv.Begin, Err: storage.ErrUnavailable})
			if err := r.Change(context.Background(), dropped("db.other")); !errors.Is(err, storage.ErrUnavailable) {
				t.Errorf("another change: %v", err)
			}
			store.SetRules()
			<-now.Replaced()
			again, err := catalog.Open(context.Background(), store, release.Default)
			bsontest.Must(t, err)
			name := map[bool]string{true: "db.d", false: "db.c"}[arrives]
			if coll := r.Peek().Collection(ns(name)); coll == nil || coll.Frozen || again.Peek().Collection(ns(name)) == nil {
				t.Errorf("arrives %v: %s is not what there is", arrives, name)
			}
			bsontest.Must(t, r.Change(context.Background(), renamed(name, "db.e")))
			bsontest.Must(t, store.Close())
		})
	}
}
