package cluster_test

import (
	"testing"
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/ejson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/collection/release"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/shard/cluster"
	"github.com/cantledb/cantle/shard/ddl"
	"github.com/cantledb/cantle/shard/jobs"
	"github.com/cantledb/cantle/shard/tally"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/keyspace"
	"github.com/cantledb/cantle/storage/memkv"
)

var ac = collection.Namespace{DB: "a", Coll: "c"}

// node is a data plane with its Definer over a fresh store.
type node struct {
	*cluster.Cluster
	*ddl.Definer
	t     *testing.T
	store storage.Store
}

func newNode(t *testing.T) *node {
	t.Helper()
	store := memkv.Open(memkv.Options{})
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	cat, err := catalog.Open(t.Context(), store, release.Default)
	if err != nil {
		t.Fatal(err)
	}
	budgets, board := &ratelimit.Budgets{}, &tally.Board{}
	runner := jobs.New(jobs.Config{Store: store, Catalog: cat, Budgets: budgets, Tally: board, Now: time.Now})
	if err := runner.Recover(t.Context()); err != nil {
		t.Fatal(err)
	}
	data := cluster.New(cluster.Config{Store: store, Catalog: cat, Budgets: budgets, Tally: board, Now: time.Now})
	d := &node{t: t, store: store, Cluster: data, Definer: ddl.New(data, ddl.Config{Store: store, Catalog: cat, Tally: board, Jobs: runner})}
	data.AttachDefiner(d.Definer)
	return d
}

func (d *node) op() *cluster.Op { return &cluster.Op{Env: mql.NewEnv(d.t.Context())} }

func (d *node) raw(text string) bson.Raw {
	d.t.Helper()
	if text == "" {
		return nil
	}
	r, err := ejson.Parse(text)
	if err != nil {
		d.t.Fatalf("%s: %v", text, err)
	}
	return r
}

// create makes a.c.
func (d *node) create(opts ddl.CreateOptions) {
	d.t.Helper()
	if err := d.Create(d.op(), ac, opts); err != nil {
		d.t.Fatal(err)
	}
}

// insert adds documents to a.c.
func (d *node) insert(docs ...string) {
	d.t.Helper()
	var list []bson.Raw
	for _, s := range docs {
		list = append(list, d.raw(s))
	}
	if _, errs, err := d.Insert(d.op(), ac, list, true); err != nil || len(errs) > 0 {
		d.t.Fatal(err, errs)
	}
}

// firstKey returns the first key of a range, with its value.
func (d *node) firstKey(r storage.Range) (key, value []byte) {
	d.t.Helper()
	s, err := d.store.Snapshot(d.t.Context(), 0)
	if err != nil {
		d.t.Fatal(err)
	}
	defer s.Close()
	it, err := s.Iter(d.t.Context(), r, storage.IterOptions{})
	if err != nil {
		d.t.Fatal(err)
	}
	defer it.Close()
	if !it.Next() {
		d.t.Fatalf("nothing in %x", r.Start)
	}
	return append([]byte(nil), it.Key()...), append([]byte(nil), it.Value()...)
}

// damage changes the store without the cluster.
func (d *node) damage(fn func(txn storage.Txn) error) {
	d.t.Helper()
	txn, err := d.store.Begin(d.t.Context(), storage.TxnOptions{})
	if err == nil {
		if err = fn(txn); err == nil {
			_, err = txn.Commit(d.t.Context(), storage.Buffered)
		}
	}
	if err != nil {
		d.t.Fatal(err)
	}
}

// TestValidateFindsDamage: a healthy collection is valid. A removed entry is reported as
// missing, a removed record leaves superfluous entries, and an overwritten record is
// invalid.
func TestValidateFindsDamage(t *testing.T) {
	for _, sharded := range []string{"", `{k: "hashed"}`} {
		d := newNode(t)
		d.create(ddl.CreateOptions{ShardKey: d.raw(sharded), Shards: 3,
			Indexes: []bson.Raw{d.raw(`{key: {v: 1}, name: "v"}`), d.raw(`{key: {k: 1}, name: "k", unique: true}`)}})
		d.insert(`{_id: 1, k: 1, v: [1, 2]}`, `{_id: 2, k: 2, v: "x"}`, `{_id: 3, k: 3}`)
		coll := d.Catalog().Collection(ac)
		check := func(what string, invalid int64, missing, extra map[string]int64) {
			t.Helper()
			v, err := d.Validate(d.op(), ac)
			if err != nil {
				t.Fatal(err)
			}
			if v.Invalid != invalid {
				t.Errorf("%s: %d records invalid, want %d", what, v.Invalid, invalid)
			}
			for _, x := range v.Indexes {
				name := x.Index.Name
				if x.MissingCount != missing[name] || x.ExtraCount != extra[name] || int64(len(x.Missing)) != x.MissingCount || int64(len(x.Extra)) != x.ExtraCount {
					t.Errorf("%s: index %s misses %v and has %v over, want %d and %d", what, name, x.Missing, x.Extra, missing[name], extra[name])
				}
			}
		}
		check("healthy", 0, nil, nil)

		key, value := d.firstKey(keyspace.IndexRange(coll.ID, coll.Index("k").ID))
		d.damage(func(txn storage.Txn) error { return txn.Delete(key) })
		check("an entry taken away", 0, map[string]int64{"k": 1}, nil)
		d.damage(func(txn storage.Txn) error { return txn.Set(key, value) })
		check("mended", 0, nil, nil)

		key, value = d.firstKey(keyspace.IndexRange(coll.ID, coll.Index("v").ID))
		other := append([]byte(nil), key...)
		other[len(other)-1]++ // of another _id
		d.damage(func(txn storage.Txn) error { return txn.Set(other, value) })
		check("an entry of no record", 0, nil, map[string]int64{"v": 1})
		d.damage(func(txn storage.Txn) error { return txn.Delete(other) })

		key, value = d.firstKey(keyspace.RecordRange(coll.ID))
		gone := bson.Raw(value)
		entries := int64(1)
		if list, ok := gone.Get("v").Array(); ok {
			entries = int64(list.Len())
		}
		extra := map[string]int64{"k": 1, "v": entries}
		if coll.Sharded() {
			extra["_id_"] = 1
		}
		d.damage(func(txn storage.Txn) error { return txn.Delete(key) })
		check("a record taken away", 0, nil, extra)
		d.damage(func(txn storage.Txn) error { return txn.Set(key, []byte{9, 9, 9}) })
		if v, err := d.Validate(d.op(), ac); err != nil || v.Invalid != 1 || len(v.Corrupt) != 1 {
			t.Errorf("a record overwritten: %+v, %v", v, err)
		}
	}
}

// TestValidateFindsWrongPlaces: each key of the insertion order that is removed alone is a wrong place, and so is a place
// whose record is removed.
func TestValidateFindsWrongPlaces(t *testing.T) {
	d := newNode(t)
	d.create(ddl.CreateOptions{})
	d.insert(`{_id: 3}`, `{_id: 1}`, `{_id: 2}`)
	coll := d.Catalog().Collection(ac)
	check := func(what string, wrong int64) {
		t.Helper()
		v, err := d.Validate(d.op(), ac)
		if err != nil || v.Places.Wrong != wrong || v.Valid() != (wrong == 0) || len(v.Places.Listed) != int(wrong) {
			t.Errorf("%s: %+v, %v, want %d", what, v, err, wrong)
		}
	}
	check("healthy", 0)
	for _, r := range []storage.Range{keyspace.PlacedRange(coll.ID), keyspace.PlaceOfRange(coll.ID), keyspace.RecordRange(coll.ID)} {
		key, value := d.firstKey(r)
		d.damage(func(txn storage.Txn) error { return txn.Delete(key) })
		check(keyspace.Pretty(key)+" removed", 1)
		d.damage(func(txn storage.Txn) error { return txn.Set(key, value) })
	}
	check("mended", 0)
}

// Validate shows the sort key that a collation made of a string as a binary, in the missing entry of an index: it is
// not text, and clients would reject it as a string.
func TestValidateShowsCollationKeys(t *testing.T) {
	d := newNode(t)
	d.create(ddl.CreateOptions{Indexes: []bson.Raw{d.raw(`{key: {k: 1, v: 1}, name: "v", collation: {locale: "de"}}`)}})
	d.insert(`{_id: 1, k: 7, v: "Ärger"}`)
	coll := d.Catalog().Collection(ac)
	key, _ := d.firstKey(keyspace.IndexRange(coll.ID, coll.Index("v").ID))
	d.damage(func(txn storage.Txn) error { return txn.Delete(key) })
	v, err := d.Validate(d.op(), ac)
	if err != nil {
		t.Fatal(err)
	}
	missing := 0
	for _, x := range v.Indexes {
		for _, m := range x.Missing {
			missing++
			shown, _ := m.Get("indexKey").Doc()
			if k, _ := shown.Get("k").TruncInt64(); k != 7 || shown.Get("v").Type != bson.TypeBinary {
				t.Error(m)
			}
		}
	}
	if missing != 1 {
		t.Errorf("%d entries are missing", missing)
	}
}
