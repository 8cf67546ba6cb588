package balance

import (
	"slices"
	"testing"

	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/collection/release"
	"github.com/cantledb/cantle/storage/memkv"
)

// TestWatchedShards: the list of watched collections has only those that may need balancing, in the order of their
// names, also after collections were changed, renamed and dropped.
func TestWatchedShards(t *testing.T) {
	store := memkv.Open(memkv.Options{})
	defer store.Close()
	cat, err := catalog.Open(t.Context(), store, release.Default)
	if err != nil {
		t.Fatal(err)
	}
	var c watched
	change := func(fn func(m *catalog.Mutation) error, want ...string) {
		t.Helper()
		if err := cat.Change(t.Context(), fn); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, ns := range c.at(cat.Peek()) {
			got = append(got, ns.Coll)
		}
		if !slices.Equal(got, want) {
			t.Errorf("the list is %q, want %q", got, want)
		}
	}
	named := func(name string) collection.Namespace { return collection.Namespace{DB: "db", Coll: name} }
	provision := func(mode catalog.ThroughputMode) func(*catalog.Collection) {
		return func(d *catalog.Collection) { d.Throughput = catalog.Throughput{Mode: mode, RU: 400} }
	}
	change(func(m *catalog.Mutation) error {
		for _, name := range []string{"c", "a", "b"} {
			coll, err := m.NewCollection(mql.NewEnv(t.Context()), named(name), nil)
			if err != nil {
				return err
			}
			if name != "b" {
				coll = coll.With(provision(catalog.ThroughputManual))
			}
			if err := m.Put(coll); err != nil {
				return err
			}
		}
		return nil
	}, "a", "c")
	alter := func(name string, fn func(*catalog.Collection)) func(m *catalog.Mutation) error {
		return func(m *catalog.Mutation) error { return m.Put(m.Snapshot().Collection(named(name)).With(fn)) }
	}
	change(alter("b", provision(catalog.ThroughputManual)), "a", "b", "c")
	change(alter("a", provision(catalog.ThroughputNone)), "b", "c")
	change(alter("b", func(d *catalog.Collection) { d.Namespace = named("z") }), "c", "z")
	change(func(m *catalog.Mutation) error { m.Drop(m.Snapshot().Collection(named("c"))); return nil }, "z")
}
