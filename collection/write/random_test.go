package write_test

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/changelog"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/keyspace"
)

// maker makes random documents and writes. _id has only ids values and the shard key only keys values, so that
// documents share them.
type maker struct {
	*rand.Rand
	ids, keys int
}

func (m maker) pick(from ...string) string { return from[m.IntN(len(from))] }

// doc returns a random document with the given _id and the value a of the shard key.
func (m maker) doc(t testing.TB, id, a int) bson.Raw {
	one := m.pick(`1`, `{"$numberLong":"1"}`, `{"$numberDouble":"1.0"}`)
	fields := []string{fmt.Sprintf(`_id: %d, a: %d, t: {"$date":{"$numberLong":"%d"}}`, id, a, 1000*a)}
	for _, f := range []string{
		"b: " + m.pick(one, "2", "null", "[]", "[1,2]", "[2,1,1]", "[3,[1]]", `"x"`, `{p: [1,2]}`, `[{p: 1}, {p: 2}]`),
		"c: " + m.pick(one, "2", "null", `"y"`),
		"d: " + m.pick("1", "2", "3", "4"),
		"s: " + m.pick(`"x"`, `"X"`, `"y"`),
		fmt.Sprintf("u: %d", m.IntN(12)),
		"ttl: " + m.pick("1", "-1", "500"),
	} {
		if m.IntN(4) > 0 {
			fields = append(fields, f)
		}
	}
	return bsontest.Doc(t, "{"+strings.Join(fields, ", ")+"}")
}

// write executes a random write in a transaction.
func (m maker) write(w *writer) {
	keys := slices.Sorted(maps.Keys(w.model))
	if len(keys) == 0 || m.IntN(2) == 0 {
		doc := m.doc(w.t, m.IntN(m.ids), m.IntN(m.keys))
		w.run(change{op: changelog.Insert, after: stored{doc, w.position(doc), w.env.NowMillis}})
		return
	}
	old := w.model[keys[m.IntN(len(keys))]]
	if m.IntN(4) == 0 {
		w.run(change{op: changelog.Delete, before: old})
		return
	}
	id, _ := old.doc.Get("_id").AsInt64()
	a, _ := old.doc.Get("a").AsInt64()
	op := changelog.Update
	if m.IntN(2) == 0 {
		op = changelog.Replace
	}
	w.run(change{op: op, before: old, after: stored{m.doc(w.t, int(id), int(a)), old.h, w.env.NowMillis}})
}

// plain are specifications of indexes that every collection may have. unique are those of unique indexes for a
// collection without a shard key or with one on a.
var (
	plain = []string{
		`{key: {b: 1}, name: "multikey"}`, `{key: {"b.p": -1, c: 1}, name: "nested"}`, `{key: {c: 1, a: -1}, name: "compound"}`,
		`{key: {c: 1}, name: "sparse", sparse: true}`, `{key: {c: -1}, name: "partial", partialFilterExpression: {d: {$gt: 2}}}`,
		`{key: {s: 1}, name: "collation", collation: {locale: "en", strength: 2}}`, `{key: {u: "hashed"}, name: "hashed"}`,
		`{key: {"$**": 1}, name: "wildcard"}`, `{key: {_ts: 1}, name: "lastWrite", expireAfterSeconds: 60, expireAfterLastWrite: true}`,
	}
	unique = []string{
		`{key: {a: 1, u: 1}, name: "unique", unique: true, sparse: true}`,
		`{key: {a: 1, d: -1, c: 1}, name: "uniquePartial", unique: true, partialFilterExpression: {d: {$gt: 2}, c: {$exists: true}}}`,
		`{key: {a: 1, s: 1, c: 1}, name: "uniqueCollation", unique: true, collation: {locale: "en", strength: 2}, partialFilterExpression: {s: {$exists: true}, c: {$exists: true}}}`,
		`{key: {a: 1, d: 1, s: 1}, name: "prepare", prepareUnique: true, partialFilterExpression: {d: {$lt: 3}}}`,
	}
)

var collections = []struct{ name, options, key string }{
	{"unsharded", `{}`, ""},
	{"images", `{changeStreamPreAndPostImages: {enabled: true}}`, ""},
	{"collation", `{collation: {locale: "en", strength: 2}}`, ""},
	{"clustered", `{clusteredIndex: true}`, ""},
	{"capped", `{capped: true, size: 100000}`, ""},
	{"timeseries", `{timeseries: {timeField: "t"}}`, ""},
	{"hashed", `{}`, `{a: "hashed"}`},
	{"ranged", `{}`, `{a: 1}`},
}

// TestWritesKeepIndexes runs random transactions, some of which are aborted. After each, it compares everything
// stored with the expected contents: the records, every entry of every index once, and nothing else. It also compares
// the log records of each committed transaction.
func TestWritesKeepIndexes(t *testing.T) {
	const seed = 31
	t.Logf("seed %d", seed)
	for i, c := range collections {
		t.Run(c.name, func(t *testing.T) {
			m := maker{rand.New(rand.NewPCG(seed, uint64(i))), 10, 6}
			r := newRoom(t, c.options, c.key, slices.Concat(plain, unique)...)
			r.index(`{key: {a: 1, b: 1, s: 1}, name: "building", unique: true, partialFilterExpression: {b: {$exists: true}, s: {$exists: true}}}`, catalog.IndexBuilding)
			r.index(`{key: {a: 1}, name: "dropping"}`, catalog.IndexDropping)
			for range 40 {
				r.env.NowMillis = 1_000_000 + m.Int64N(1_000_000)
				before, at := maps.Clone(r.model), r.store.Latest()
				w := r.writer()
				for range 1 + m.IntN(6) {
					m.write(w)
				}
				r.check(w.txn, w.model)
				if m.IntN(4) == 0 {
					w.txn.Close()
					r.model = before
				} else {
					w.commit(false)
					checkLog(w, r.log(at))
				}
				r.checkStore()
			}
		})
	}
}

// checkLog compares the log records of a transaction with its changes, and checks that the undo of each record except
// of inserts restores the old document.
func checkLog(w *writer, log []changelog.Record) {
	w.t.Helper()
	if len(log) != len(w.changes) {
		w.t.Fatalf("%d records of %d changes", len(log), len(w.changes))
	}
	images := w.coll.Options.PrePostImages
	for i, c := range w.changes {
		rec, s := log[i], c.after
		if c.op == changelog.Delete {
			s = c.before
		}
		if rec.Op != c.op || rec.Collection != w.coll.ID || rec.Position != s.h || !bytes.Equal(rec.ID, w.coll.AppendID(nil, s.doc)) ||
			rec.Wall != w.env.NowMillis || rec.Bytes != int64(len(c.after.doc)-len(c.before.doc)) {
			w.t.Fatalf("record %+v of %v %s -> %s", rec, c.op, show(c.before.doc), show(c.after.doc))
		}
		if want := c.op == changelog.Insert || c.op == changelog.Replace || c.op == changelog.Update && images; want != (len(rec.Doc) > 0) ||
			want && !bytes.Equal(rec.Doc, c.after.doc) {
			w.t.Fatalf("%v %s is logged with document %s", c.op, show(c.after.doc), show(rec.Doc))
		}
		if c.op == changelog.Insert {
			continue
		}
		if images != (len(rec.Pre) > 0) || images == (len(rec.Undo) > 0) {
			w.t.Fatalf("images %t: %d bytes of the document before, %d of the way back", images, len(rec.Pre), len(rec.Undo))
		}
		before, err := rec.Before(nil, c.after.doc)
		if err != nil || !bytes.Equal(before, c.before.doc) {
			w.t.Fatalf("the way back from %s leads to %s, %v; want %s", show(c.after.doc), show(before), err, show(c.before.doc))
		}
		if id := rec.Key.Get("_id"); !id.Identical(c.before.doc.Get("_id")) {
			w.t.Fatalf("the document's key is logged as %s", show(rec.Key))
		}
		if w.coll.Sharded() && !rec.Key.Get("a").Identical(c.before.doc.Get("a")) {
			w.t.Fatalf("the document's key %s lacks the shard key", show(rec.Key))
		}
	}
}

// TestWritesWhileSplitting runs, in each round, a transaction that began with the shard map from before a split or a
// merge, and one with the new map, which commits first. Whether the older transaction then conflicts or not, no entry
// may be lost, duplicated or left over, and no unique value may occur twice.
func TestWritesWhileSplitting(t *testing.T) {
	const seed = 32
	t.Logf("seed %d", seed)
	for i, key := range []string{`{a: "hashed"}`, `{a: 1}`} {
		t.Run(key, func(t *testing.T) {
			m := maker{rand.New(rand.NewPCG(seed, uint64(i))), 5, 3}
			r := newRoom(t, `{}`, key, slices.Concat(plain, unique)...)
			conflicts, both := 0, 0
			for range 100 {
				r.env.NowMillis = 1_000_000 + m.Int64N(1_000_000)
				slow := r.writer()
				for range 1 + m.IntN(3) {
					m.write(slow)
				}
				m.changeMap(r)
				fast := r.writer()
				for range 1 + m.IntN(3) {
					m.write(fast)
				}
				fast.commit(false)
				if slow.commit(true) {
					both++
				} else {
					conflicts++
				}
				checkUnique(r)
				r.checkStore()
				if m.IntN(3) == 0 {
					settle(r)
					r.checkStore()
				}
			}
			if conflicts < 10 || both < 10 {
				t.Errorf("%d conflicts and %d times none show nothing", conflicts, both)
			}
		})
	}
}

// changeMap splits a shard or merges two.
func (m maker) changeMap(r *room) {
	r.t.Helper()
	shards := r.coll.Map.Shards()
	next, i := r.coll.Map, m.IntN(len(shards))
	if len(shards) < 4 {
		at, err := r.coll.Key.AppendPosition(nil, bsontest.Doc(r.t, fmt.Sprintf(`{a: %d}`, m.IntN(m.keys))))
		bsontest.Must(r.t, err)
		d := next.FindPosition(at)
		if bytes.Equal(d.Lo, at) || len(d.Partitions) > 4 {
			return
		}
		next, err = next.Split(d.ID, at)
		bsontest.Must(r.t, err)
	} else if i > 0 && len(shards[i-1].Partitions)+len(shards[i].Partitions) < 6 {
		var err error
		next, err = next.Merge(shards[i-1].ID, shards[i].ID)
		bsontest.Must(r.t, err)
	}
	r.coll = r.coll.With(func(c *catalog.Collection) { c.Map = next })
}

// settle moves all index entries to the newest index partition of their shards, as the background job does once no
// writer uses an older map.
func settle(r *room) {
	r.t.Helper()
	txn := r.begin()
	for _, s := range r.model {
		d := r.coll.Home(s.doc, s.h)
		for _, ix := range r.coll.Indexes {
			for _, e := range r.entries(ix, s) {
				for _, p := range d.Partitions {
					key, value := r.place(ix, e, s, p)
					ok, err := txn.Has(r.env.Context(), []byte(key))
					bsontest.Must(r.t, err)
					if ok && p != d.Newest() {
						bsontest.Must(r.t, txn.Delete([]byte(key)))
						key, _ = r.place(ix, e, s, d.Newest())
						bsontest.Must(r.t, txn.Set([]byte(key), []byte(value)))
					}
				}
			}
		}
	}
	_, err := txn.Commit(r.env.Context(), storage.Synced)
	bsontest.Must(r.t, err)
	next := r.coll.Map
	for _, d := range next.Shards() {
		next, err = next.Settle(d.ID)
		bsontest.Must(r.t, err)
	}
	r.coll = r.coll.With(func(c *catalog.Collection) { c.Map = next })
}

// checkUnique fails if two documents have the same unique values.
func checkUnique(r *room) {
	r.t.Helper()
	for _, ix := range r.coll.Indexes {
		if !ix.Unique && !ix.PrepareUnique {
			continue
		}
		met := map[string]bson.Raw{}
		for _, s := range r.model {
			for _, e := range r.entries(ix, s) {
				if other := met[string(e.values)]; other != nil {
					r.t.Fatalf("index %s has the same values of %s and %s", ix.Name, show(other), show(s.doc))
				}
				met[string(e.values)] = s.doc
			}
		}
	}
}

// TestEraseRestore erases all documents in a transaction and restores them: nothing may be left in between, everything
// must be as before afterwards except the times of last writes, which begin anew, and nothing may be counted or logged.
func TestEraseRestore(t *testing.T) {
	const seed = 33
	t.Logf("seed %d", seed)
	m := maker{rand.New(rand.NewPCG(seed, 1)), 10, 6}
	r := newRoom(t, `{}`, `{a: "hashed"}`, slices.Concat(plain, unique)...)
	w := r.writer()
	for range 40 {
		m.write(w)
	}
	w.commit(false)
	if len(r.model) < 5 {
		t.Fatalf("%d documents show nothing", len(r.model))
	}
	at := r.store.Latest()
	txn := r.begin()
	each := func(fn func(s stored) error) {
		t.Helper()
		for _, s := range r.model {
			bsontest.Must(t, fn(s))
		}
	}
	var counted int64
	each(func(s stored) error {
		tg := r.target(txn, r.coll, s.doc, s.h)
		defer func() { counted += tg.Docs + tg.Bytes }()
		return tg.Erase(r.env, s.doc, s.h)
	})
	r.check(txn, map[string]stored{})
	each(func(s stored) error {
		tg := r.target(txn, r.coll, s.doc, s.h)
		defer func() { counted += tg.Docs + tg.Bytes }()
		return tg.Restore(r.env, s.doc, s.h)
	})
	for key, s := range r.model {
		s.written = r.env.NowMillis // the times of the last write are restarted
		r.model[key] = s
	}
	r.check(txn, r.model)
	_, err := txn.Commit(r.env.Context(), storage.Synced)
	bsontest.Must(t, err)
	if n := len(r.log(at)); n > 0 || counted != 0 {
		t.Errorf("%d log records, %d counted", n, counted)
	}
}

// TestPartitions checks, after a split, in which index partition the entries of documents are. The right shard reads
// the old partition and a new one: an entry that an update does not change stays in the old one, a new or changed one
// goes to the new one.
func TestPartitions(t *testing.T) {
	r := newRoom(t, `{}`, `{a: 1}`, `{key: {c: 1}, name: "c"}`, `{key: {a: 1, u: 1}, name: "u", unique: true}`)
	put := func(op changelog.Op, before stored, text string) stored {
		t.Helper()
		doc := bsontest.Doc(t, text)
		w := r.writer()
		s := stored{doc, r.position(doc), 0}
		if !w.run(change{op, before, s}) {
			t.Fatalf("%s is a duplicate", text)
		}
		w.commit(false)
		return s
	}
	lies := func(s stored, name string, want keyspace.PartitionID) {
		t.Helper()
		ix := r.coll.Index(name)
		snap, err := r.store.Snapshot(r.env.Context(), 0)
		bsontest.Must(t, err)
		defer snap.Close()
		have := r.contents(snap)
		for p := range keyspace.PartitionID(3) {
			key, value := r.place(ix, r.entries(ix, s)[0], s, p)
			if got, ok := have[key]; ok != (p == want) || ok && got != value {
				t.Fatalf("%s: entry of index %s in partition %d: %t; it should lie in %d", show(s.doc), name, p, ok, want)
			}
		}
	}
	old := put(changelog.Insert, stored{}, `{_id: 1, a: 7, c: 1, u: 1}`)
	lies(old, "c", 0)
	at, err := r.coll.Key.AppendPosition(nil, bsontest.Doc(t, `{a: 5}`))
	bsontest.Must(t, err)
	next, err := r.coll.Map.Split(0, at)
	bsontest.Must(t, err)
	r.coll = r.coll.With(func(c *catalog.Collection) { c.Map = next })
	right, left := put(changelog.Insert, stored{}, `{_id: 2, a: 8, c: 1, u: 1}`), put(changelog.Insert, stored{}, `{_id: 3, a: 2, c: 1, u: 1}`)
	lies(right, "c", 1)
	lies(right, "u", 1)
	lies(left, "c", 0)

	same := put(changelog.Update, old, `{_id: 1, a: 7, c: 1, u: 1, x: 1}`)
	lies(same, "c", 0) // an unchanged entry stays
	lies(same, "u", 0)
	bits := put(changelog.Update, same, `{_id: 1, a: 7, c: {"$numberDouble":"1.0"}, u: {"$numberLong":"1"}, x: 1}`)
	lies(bits, "c", 1) // an equal value of another type
	lies(bits, "u", 1)
	moved := put(changelog.Update, bits, `{_id: 1, a: 7, c: 2, u: 2}`)
	lies(moved, "c", 1)
	r.checkStore()
}
