package damage

import (
	"bytes"
	"context"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/sstable/block"
	"github.com/cockroachdb/pebble/v2/sstable/block/blockkind"
	"github.com/cockroachdb/pebble/v2/sstable/colblk"
	"github.com/cockroachdb/pebble/v2/vfs"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/cantledb/cantle/collection/salvage"
	"github.com/cantledb/cantle/storage/keyspace"
	"github.com/cantledb/cantle/storage/pebblekv/filescan"
)

// gap is a range of keys that a reader may lose with a damaged block of a table: the keys between the last key of
// the block before it and the first key of the block after it, both excluded; nil if there is no such block. first
// is the first key of the damaged block itself.
type gap struct{ after, before, first []byte }

func (g gap) holds(key []byte) bool {
	return (g.after == nil || bytes.Compare(key, g.after) > 0) && (g.before == nil || bytes.Compare(key, g.before) < 0)
}

// gaps returns the ranges of keys that may be lost if the bytes from from to to of the table at path are damaged.
// It runs before the damage, with the engine's own reader and not the code under test.
func gaps(t *testing.T, path string, from, to int64) (lost []gap) {
	t.Helper()
	file, err := vfs.Default.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	readable, err := sstable.NewSimpleReadable(file)
	if err != nil {
		t.Fatal(err)
	}
	schema := colblk.DefaultKeySchema(pebble.DefaultComparer, 16)
	ctx := context.Background()
	r, err := sstable.NewReader(ctx, readable, sstable.ReaderOptions{Comparer: pebble.DefaultComparer, KeySchemas: sstable.MakeKeySchemas(&schema)})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	layout, err := r.Layout()
	if err != nil {
		t.Fatal(err)
	}
	ends := func(i int) (first, last []byte) {
		b, err := r.BlockReader().Read(ctx, block.NoReadEnv, nil, layout.Data[i].Handle, blockkind.SSTableData, func(*block.Metadata, []byte) error { return nil })
		if err != nil {
			t.Fatal(err)
		}
		defer b.Release()
		var d colblk.DataBlockDecoder
		d.Init(&schema, b.BlockData())
		var it colblk.DataBlockIter
		it.InitOnce(&schema, pebble.DefaultComparer, nil)
		if err := it.Init(&d, block.NoTransforms); err != nil {
			t.Fatal(err)
		}
		first = bytes.Clone(it.First().K.UserKey)
		return first, bytes.Clone(it.Last().K.UserKey)
	}
	for i, h := range layout.Data {
		if at := int64(h.Offset); at >= to || at+int64(h.Length)+block.TrailerLen <= from {
			continue
		}
		var g gap
		g.first, _ = ends(i)
		if i > 0 {
			_, g.after = ends(i - 1)
		}
		if i+1 < len(layout.Data) {
			g.before, _ = ends(i + 1)
		}
		lost = append(lost, g)
	}
	return lost
}

// mayLose returns a function that reports whether an injury may destroy the document of a namespace with an _id:
// whether its key lies between the intact blocks on both sides of the damaged ones. An injury of another file than
// a table destroys none.
func (m *made) mayLose(t *testing.T, in injury) func(ns string, id int32) bool {
	t.Helper()
	if in.kind != "sst" {
		return func(string, int32) bool { return false }
	}
	lost := gaps(t, filepath.Join(m.dir, "store", in.file), in.from, in.to)
	return func(ns string, id int32) bool {
		key, ok := m.keys(t)[ns][id]
		if !ok {
			t.Errorf("nobody knows where %s %d lies", ns, id)
		}
		for _, g := range lost {
			if g.holds(key) {
				return true
			}
		}
		return false
	}
}

// keys returns the store's keys of the documents in the folder, by namespace and _id, before the folder is
// damaged.
func (m *made) keys(t *testing.T) map[string]map[int32][]byte {
	t.Helper()
	if m.where != nil {
		return m.where
	}
	m.where = map[string]map[int32][]byte{}
	// Opening the store would change the folder, which other tests copy; so a copy is opened.
	dir := filepath.Join(t.TempDir(), "store")
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(m.dir, "store"))); err != nil {
		t.Fatal(err)
	}
	f, err := filescan.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	snap, err := salvage.Catalog(t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}
	for _, coll := range snap.Collections("") {
		at := map[int32][]byte{}
		m.where[coll.Namespace.String()] = at
		err := f.Scan(t.Context(), keyspace.RecordRange(coll.ID), func(e filescan.Entry) error {
			id, _ := bson.Raw(e.Value).Lookup("_id").Int32OK()
			at[id] = bytes.Clone(e.Key)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return m.where
}

// toTheEnd is the end of a damaged range of bytes that reaches to the end of the file, because the file was cut
// off.
const toTheEnd = math.MaxInt64
