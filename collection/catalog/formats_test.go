package catalog

import (
	"errors"
	"testing"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/ejson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/index"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/collection/release"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/pebblekv"
)

// The store has the format version of its newest feature, and an entry with a form of a later program is rejected with
// ErrFormat.
func TestFormats(t *testing.T) {
	dir := t.TempDir()
	store, err := pebblekv.Open(dir, pebblekv.Options{ReserveBytes: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	cat, err := Open(t.Context(), store, release.Default)
	if err != nil {
		t.Fatal(err)
	}
	env := mql.NewEnv(t.Context())
	ns := collection.Namespace{DB: "shop", Coll: "c"}
	for _, x := range []struct {
		spec string
		want int
	}{{`{key: {a: 1}, name: "a"}`, storage.FormatFirst}, {`{key: {text: "text"}, name: "text"}`, storage.FormatIndexes}, {`{key: {b: 1}, name: "b"}`, storage.FormatIndexes}} {
		err := cat.Change(t.Context(), func(m *Mutation) error {
			c := m.Snapshot().Collection(ns)
			if c == nil {
				if c, err = m.NewCollection(env, ns, nil); err != nil {
					return err
				}
			}
			raw, err := ejson.Parse(x.spec)
			if err != nil {
				return err
			}
			spec, err := index.ParseSpec(env, raw)
			if err != nil {
				return err
			}
			c = c.WithIndex(&Index{Spec: spec, ID: c.NextIndex, State: IndexReady})
			c.NextIndex++
			return m.Put(c)
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := store.Close(); err != nil {
			t.Fatal(err)
		}
		if version, _, err := pebblekv.Inspect(dir); version != x.want || err != nil {
			t.Errorf("with %s: version %d, %v; want %d", x.spec, version, err, x.want)
		}
		if store, err = pebblekv.Open(dir, pebblekv.Options{ReserveBytes: -1}); err != nil {
			t.Fatal(err)
		}
		if cat, err = Open(t.Context(), store, release.Default); err != nil {
			t.Fatal(err)
		}
	}
	stored := encodeCollection(cat.Peek().Collection(ns))
	for _, f := range forms {
		b := bson.NewBuilder(nil)
		b.Splice(bson.Raw(stored).Elements())
		b.Int32(f.name, int32(f.known)+1)
		if _, err := decodeCollection(env, b.Doc()); !errors.Is(err, storage.ErrFormat) {
			t.Errorf("a later %s: %v", f.name, err)
		}
	}
}
