package rewind_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/changelog"
	"github.com/cantledb/cantle/collection/index"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/collection/release"
	"github.com/cantledb/cantle/collection/rewind"
	"github.com/cantledb/cantle/collection/shard"
	"github.com/cantledb/cantle/collection/write"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/keyspace"
	"github.com/cantledb/cantle/storage/memkv"
)

// room is one collection over a store.
type room struct {
	t      testing.TB
	env    *mql.Env
	store  storage.Store
	coll   *catalog.Collection
	memory *ratelimit.Memory
}

func newRoom(t testing.TB, options, key string, indexes ...string) *room {
	t.Helper()
	r := &room{t: t, store: memkv.Open(memkv.Options{}), env: mql.NewEnv(context.Background()), memory: ratelimit.NewMemory(64 << 20)}
	t.Cleanup(func() { bsontest.Must(t, r.store.Close()) }) // this fails if a state left its snapshot open
	cat, err := catalog.Open(r.env.Context(), r.store, release.Default)
	bsontest.Must(t, err)
	bsontest.Must(t, cat.Change(r.env.Context(), func(m *catalog.Mutation) error {
		r.coll, err = m.NewCollection(r.env, collection.Namespace{DB: "shop", Coll: "c"}, bsontest.Doc(t, options))
		return err
	}))
	if key != "" {
		k, err := shard.ParseKeyPattern(bsontest.Doc(t, key))
		bsontest.Must(t, err)
		m, err := shard.NewMap(k.Kind(), 1, 1)
		bsontest.Must(t, err)
		at, err := k.AppendPosition(nil, bsontest.Doc(t, `{a: 2}`))
		bsontest.Must(t, err)
		m, err = m.Split(0, at)
		bsontest.Must(t, err)
		for _, d := range m.Shards() {
			m, err = m.Settle(d.ID)
			bsontest.Must(t, err)
		}
		r.coll = r.coll.With(func(c *catalog.Collection) { c.Key, c.Map = k, m })
	}
	for _, text := range indexes {
		r.index(text)
	}
	return r
}

func (r *room) index(text string) *catalog.Index {
	r.t.Helper()
	spec, err := index.ParseSpec(r.env, bsontest.Doc(r.t, text))
	bsontest.Must(r.t, err)
	ix := &catalog.Index{Spec: spec, ID: keyspace.IndexID(len(r.coll.Indexes) + 1), State: catalog.IndexReady}
	r.coll = r.coll.WithIndex(ix)
	return ix
}

func (r *room) begin() storage.Txn {
	r.t.Helper()
	txn, err := r.store.Begin(r.env.Context(), storage.TxnOptions{})
	bsontest.Must(r.t, err)
	return txn
}

func (r *room) commit(txn storage.Txn) storage.Timestamp {
	r.t.Helper()
	ts, err := txn.Commit(r.env.Context(), storage.Synced)
	bsontest.Must(r.t, err)
	return ts
}

// target returns a write.Target for a document, and the document's position.
func (r *room) target(txn storage.Txn, doc bson.Raw) (*write.Target, keyspace.Hash) {
	r.t.Helper()
	h, err := r.coll.Position(doc)
	bsontest.Must(r.t, err)
	return &write.Target{Coll: r.coll, Shard: r.coll.Home(doc, h), Txn: txn, Multikey: func(ix *catalog.Index, paths index.MultikeyPaths) error {
		ix.Multikey = ix.Multikey.Union(paths)
		return nil
	}}, h
}

// write replaces the document old with doc in a transaction; both have the same record key. If old is empty, it inserts
// doc; if doc is empty, it deletes old.
func (r *room) write(txn storage.Txn, old, doc bson.Raw) error {
	r.t.Helper()
	switch {
	case len(old) == 0:
		w, h := r.target(txn, doc)
		return w.Insert(r.env, doc, h)
	case len(doc) == 0:
		w, h := r.target(txn, old)
		return w.Delete(r.env, old, h)
	}
	w, h := r.target(txn, old)
	return w.Update(r.env, old, doc, h, changelog.Update, bsontest.Doc(r.t, `{}`))
}

// put commits one write given as text.
func (r *room) put(old, doc string) storage.Timestamp {
	r.t.Helper()
	parse := func(s string) bson.Raw {
		if s == "" {
			return nil
		}
		return bsontest.Doc(r.t, s)
	}
	txn := r.begin()
	bsontest.Must(r.t, r.write(txn, parse(old), parse(doc)))
	return r.commit(txn)
}

// spans returns the ranges of the collection's records and index entries.
func (r *room) spans() []storage.Range {
	return []storage.Range{keyspace.RecordRange(r.coll.ID), keyspace.CollectionIndexRange(r.coll.ID)}
}

// contents returns all keys of the collection that a reader returns, with their values, read in one direction.
func (r *room) contents(from storage.Reader, reverse bool) map[string]string {
	r.t.Helper()
	out := map[string]string{}
	for _, span := range r.spans() {
		it, err := from.Iter(r.env.Context(), span, storage.IterOptions{Reverse: reverse})
		bsontest.Must(r.t, err)
		last := ""
		for it.Next() {
			key := string(it.Key())
			if last != "" && (key > last) == reverse {
				r.t.Fatalf("reverse %t: %s follows %s", reverse, keyspace.Pretty(it.Key()), keyspace.Pretty([]byte(last)))
			}
			out[key], last = string(it.Value()), key
		}
		bsontest.Must(r.t, it.Err())
		it.Close()
	}
	return out
}

func (r *room) newest() map[string]string {
	r.t.Helper()
	snap, err := r.store.Snapshot(r.env.Context(), 0)
	bsontest.Must(r.t, err)
	defer snap.Close()
	return r.contents(snap, false)
}

// same requires that a reader, by every way of reading, returns the expected keys and values. others are further keys
// to look up, which must be absent unless expected.
func (r *room) same(from storage.Reader, want map[string]string, others map[string]bool) {
	r.t.Helper()
	ctx := r.env.Context()
	for _, reverse := range []bool{false, true} {
		got := r.contents(from, reverse)
		for key := range want {
			if got[key] != want[key] {
				r.t.Fatalf("at %v, reverse %t: %s is %x, was %x", from.ReadTimestamp(), reverse, keyspace.Pretty([]byte(key)), got[key], want[key])
			}
			delete(got, key)
		}
		for key := range got {
			r.t.Fatalf("at %v, reverse %t: %s was not there", from.ReadTimestamp(), reverse, keyspace.Pretty([]byte(key)))
		}
	}
	var keys [][]byte
	for key := range others {
		keys = append(keys, []byte(key))
		value, exists := want[key]
		got, err := from.Get(ctx, []byte(key), []byte("x"))
		if exists && (err != nil || string(got) != "x"+value) || !exists && (!errors.Is(err, storage.ErrNotFound) || string(got) != "x") {
			r.t.Fatalf("at %v: Get of %s: %x, %v; was %x", from.ReadTimestamp(), keyspace.Pretty([]byte(key)), got, err, value)
		}
		if has, err := from.Has(ctx, []byte(key)); has != exists || err != nil {
			r.t.Fatalf("at %v: Has of %s: %t, %v", from.ReadTimestamp(), keyspace.Pretty([]byte(key)), has, err)
		}
	}
	asked := 0
	bsontest.Must(r.t, from.GetMany(ctx, keys, func(i int, value []byte) error {
		if asked++; string(value) != want[string(keys[i])] {
			r.t.Fatalf("at %v: GetMany of %s: %x", from.ReadTimestamp(), keyspace.Pretty(keys[i]), value)
		}
		return nil
	}))
	if asked != len(keys) {
		r.t.Fatalf("GetMany gave %d of %d", asked, len(keys))
	}
}

var indexes = []string{
	`{key: {b: 1}, name: "b"}`, `{key: {a: 1, u: 1}, name: "u", unique: true, sparse: true}`, `{key: {c: -1}, name: "c", sparse: true}`,
	`{key: {b: 1, c: 1}, name: "partial", partialFilterExpression: {c: {$gt: 1}}}`,
}

// TestEveryMoment writes random documents and keeps a copy of everything stored after each commit. Then it reads
// each of these moments again, through a reader and through a transaction, and requires that everything equals the
// copy, index entries included.
func TestEveryMoment(t *testing.T) {
	const seed = 41
	t.Logf("seed %d", seed)
	for i, c := range []struct{ name, options, key string }{
		{"unsharded", `{}`, ""}, {"images", `{changeStreamPreAndPostImages: {enabled: true}}`, ""},
		{"hashed", `{}`, `{a: "hashed"}`}, {"ranged", `{}`, `{a: 1}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := rand.New(rand.NewPCG(seed, uint64(i)))
			r := newRoom(t, c.options, c.key, indexes...)
			docs := map[string]bson.Raw{} // by _id and a
			type moment struct {
				at  storage.Timestamp
				all map[string]string
			}
			moments, met := []moment{}, map[string]bool{}
			for range 40 {
				txn := r.begin()
				for range 1 + m.IntN(4) {
					id, a := m.IntN(8), m.IntN(4)
					key := fmt.Sprint(id, a)
					if r.coll.Key.IsZero() {
						key = fmt.Sprint(id)
					}
					doc := randomDoc(t, m, id, a)
					if m.IntN(4) == 0 {
						doc = nil
					}
					if doc == nil && docs[key] == nil {
						continue
					}
					sp := txn.Savepoint()
					if err := r.write(txn, docs[key], doc); err != nil {
						var e *mongoerr.Error
						if !errors.As(err, &e) || e.Code != mongoerr.DuplicateKey {
							t.Fatal(err)
						}
						txn.RollbackTo(sp)
						continue
					}
					if docs[key] = doc; doc == nil {
						delete(docs, key)
					}
				}
				now := moment{r.commit(txn), r.newest()}
				moments = append(moments, now)
				for key := range now.all {
					met[key] = true
				}
			}
			m.Shuffle(len(moments), func(i, j int) { moments[i], moments[j] = moments[j], moments[i] })
			for _, at := range moments {
				s, err := rewind.Open(r.env.Context(), r.store, at.at, 0, r.memory)
				bsontest.Must(t, err)
				bsontest.Must(t, s.Load(r.env, r.coll))
				reader := s.Reader(nil)
				if reader.ReadTimestamp() != at.at || s.At() != at.at || s.Base() != r.store.Latest() {
					t.Fatalf("the state at %v says %v over %v", at.at, s.At(), s.Base())
				}
				r.same(reader, at.all, met)
				reader.Close()
				s.Close()
				if s.Bytes() != 0 {
					t.Fatalf("a closed state holds %d bytes", s.Bytes())
				}
				txn, err := rewind.Begin(r.env.Context(), r.store, at.at, 0, r.memory)
				bsontest.Must(t, err)
				bsontest.Must(t, txn.State().Load(r.env, r.coll))
				r.same(txn, at.all, met)
				txn.Close()
			}
		})
	}
}

func randomDoc(t testing.TB, m *rand.Rand, id, a int) bson.Raw {
	fields := []string{fmt.Sprintf("_id: %d, a: %d", id, a)}
	for _, f := range [][]string{
		{"b: 1", `b: {"$numberDouble":"1.0"}`, "b: [1, 2]", "b: [2, [3]]", "b: null"},
		{"c: 1", "c: 2", `c: {"$numberLong":"2"}`}, {"u: 1", "u: 2", "u: 3", "u: 4"}, {"x: 1", "x: {y: [1]}"},
	} {
		if i := m.IntN(len(f) + 1); i < len(f) {
			fields = append(fields, f[i])
		}
	}
	return bsontest.Doc(t, "{"+strings.Join(fields, ", ")+"}")
}

// TestUniqueValueMoved reads a time before changes that moved the unique values of three documents around in a circle:
// on the way back no value may be a duplicate.
func TestUniqueValueMoved(t *testing.T) {
	r := newRoom(t, `{}`, "", indexes...)
	r.put("", `{_id: 1, a: 1, u: 1}`)
	r.put("", `{_id: 2, a: 1, u: 2}`)
	at := r.put("", `{_id: 3, a: 1, u: 3}`)
	was := r.newest()
	r.put(`{_id: 1, a: 1, u: 1}`, "")
	r.put(`{_id: 2, a: 1, u: 2}`, `{_id: 2, a: 1, u: 1}`)
	r.put(`{_id: 3, a: 1, u: 3}`, `{_id: 3, a: 1, u: 2}`)
	r.put("", `{_id: 1, a: 1, u: 3}`)
	s, err := rewind.Open(r.env.Context(), r.store, at, 0, r.memory)
	bsontest.Must(t, err)
	defer s.Close()
	bsontest.Must(t, s.Load(r.env, r.coll))
	r.same(s.Reader(nil), was, nil)
}

// TestTxn writes in transactions that read the past: keys that have not changed since can be written, all others
// conflict, including their index entries.
func TestTxn(t *testing.T) {
	r := newRoom(t, `{}`, "", indexes...)
	r.put("", `{_id: 1, a: 1, u: 1}`)
	at := r.put("", `{_id: 2, a: 1, u: 2}`)
	r.put(`{_id: 2, a: 1, u: 2}`, `{_id: 2, a: 1, u: 3}`)
	begin := func() *rewind.Txn {
		t.Helper()
		txn, err := rewind.Begin(r.env.Context(), r.store, at, 0, r.memory)
		bsontest.Must(t, err)
		bsontest.Must(t, txn.State().Load(r.env, r.coll))
		return txn
	}
	for _, c := range []struct {
		old, doc string
		want     error
	}{
		{`{_id: 1, a: 1, u: 1}`, `{_id: 1, a: 1, u: 9}`, nil},
		{"", `{_id: 7, a: 1, u: 7}`, nil},
		{`{_id: 2, a: 1, u: 2}`, `{_id: 2, a: 1, u: 4}`, storage.ErrConflict},
		{"", `{_id: 8, a: 1, u: 3}`, storage.ErrConflict}, // a value that another document has taken since
	} {
		txn := begin()
		var old bson.Raw
		if c.old != "" {
			old = bsontest.Doc(t, c.old)
		}
		if err := r.write(txn, old, bsontest.Doc(t, c.doc)); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.doc, err, c.want)
		}
		if c.want == nil {
			h, err := r.coll.Position(bsontest.Doc(t, c.doc))
			bsontest.Must(t, err)
			key := keyspace.AppendRecord(nil, r.coll.ID, h, r.coll.AppendID(nil, bsontest.Doc(t, c.doc)))
			if got, err := txn.Get(r.env.Context(), key, nil); err != nil || string(got) != string(bsontest.Doc(t, c.doc)) {
				t.Errorf("%s: the transaction reads %x, %v of its own", c.doc, got, err)
			}
		}
		txn.Close()
	}
	h := keyspace.HashMin
	key := func(text string) []byte {
		return keyspace.AppendRecord(nil, r.coll.ID, h, r.coll.AppendID(nil, bsontest.Doc(t, text)))
	}
	txn := begin()
	if err := txn.Claim(r.env.Context(), key(`{_id: 1}`)); err != nil {
		t.Errorf("Claim of an untouched key: %v", err)
	}
	if err := txn.Claim(r.env.Context(), key(`{_id: 1}`), key(`{_id: 2}`)); !errors.Is(err, storage.ErrConflict) {
		t.Errorf("Claim: %v", err)
	}
	if err := txn.Lock(r.env.Context(), key(`{_id: 1}`), key(`{_id: 2}`)); !errors.Is(err, storage.ErrConflict) {
		t.Errorf("Lock: %v", err)
	}
	if err := txn.Delete(key(`{_id: 2}`)); !errors.Is(err, storage.ErrConflict) {
		t.Errorf("Delete: %v", err)
	}
	bsontest.Must(t, txn.Delete(key(`{_id: 1}`)))
	_, err := txn.Commit(r.env.Context(), storage.Synced)
	bsontest.Must(t, err)
	if txn.State().Bytes() != 0 {
		t.Error("a committed transaction holds its state")
	}
}

// TestRefusals reads states that do not exist.
func TestRefusals(t *testing.T) {
	ctx := context.Background()
	r := newRoom(t, `{}`, "")
	at := r.put("", `{_id: 1}`)
	r.put("", `{_id: 2, b: [1]}`)
	last := r.put(`{_id: 2, b: [1]}`, "")
	state := func(at, since storage.Timestamp) (*rewind.State, error) {
		return rewind.Open(ctx, r.store, at, since, r.memory)
	}

	s, err := state(at, 0)
	bsontest.Must(t, err)
	if _, err := s.Reader(nil).Get(ctx, keyspace.AppendRecord(nil, r.coll.ID, 0, []byte("x")), nil); err == nil || !strings.Contains(err.Error(), "BUG") {
		t.Errorf("a collection that was not loaded can be read: %v", err)
	}
	if _, err := s.Reader(nil).Iter(ctx, keyspace.RecordRange(r.coll.ID), storage.IterOptions{}); err == nil {
		t.Error("a collection that was not loaded can be walked")
	}
	released := 0
	reader := s.Reader(func() { released++ })
	reader.Close()
	reader.Close()
	if released != 1 {
		t.Errorf("released %d times", released)
	}
	s.Close()

	ample := r.memory
	r.memory = ratelimit.NewMemory(1 << 10)
	s, err = state(at, 0)
	bsontest.Must(t, err)
	if err := s.Load(r.env, r.coll); !errors.Is(err, rewind.ErrTooMuch) || s.Bytes() != 0 {
		t.Errorf("without memory: %v, %d bytes held", err, s.Bytes())
	}
	s.Close()
	r.memory = ample

	middle, err := state(at+1, 0)
	bsontest.Must(t, err)
	r.index(`{key: {b: 1}, name: "later"}`)
	if err := middle.Load(r.env, r.coll); !errors.Is(err, rewind.ErrMultikey) || middle.Bytes() != 0 {
		t.Errorf("an index that has met no arrays: %v, %d bytes held", err, middle.Bytes())
	}
	middle.Close()

	for _, c := range []struct {
		at, since storage.Timestamp
		want      error
	}{
		{at, at, nil}, {at, at + 1, nil}, // the newest state until the next commit
		{at, last, storage.ErrSnapshotTooOld},
		{last, last + 100, nil},
	} {
		s, err := state(c.at, c.since)
		if !errors.Is(err, c.want) {
			t.Errorf("at %v, newest since %v: %v, want %v", c.at, c.since, err, c.want)
		}
		if err == nil {
			s.Close()
		}
	}

	bsontest.Must(t, r.store.TruncateLog(ctx, changelog.Stream, last-1))
	if _, err := state(at, 0); !errors.Is(err, storage.ErrSnapshotTooOld) {
		t.Errorf("the log does not reach back: %v", err)
	}
}

// TestOtherCollections writes to another collection, and then reads a state before these writes: it holds nothing of
// them.
func TestOtherCollections(t *testing.T) {
	r := newRoom(t, `{}`, "", indexes...)
	at := r.put("", `{_id: 1, a: 1, u: 1}`)
	was := r.newest()
	own := r.coll
	r.coll = own.With(func(c *catalog.Collection) { c.ID++ })
	for i := range 20 {
		r.put("", fmt.Sprintf(`{_id: %d, a: 1, u: %d}`, i, i))
	}
	r.coll = own
	s, err := rewind.Open(r.env.Context(), r.store, at, 0, r.memory)
	bsontest.Must(t, err)
	defer s.Close()
	bsontest.Must(t, s.Load(r.env, own))
	if s.Bytes() != 0 {
		t.Errorf("%d bytes are held of a collection that nobody wrote to", s.Bytes())
	}
	bsontest.Must(t, s.Load(r.env, own))
	r.same(s.Reader(nil), was, nil)
	if keys := slices.Sorted(maps.Keys(r.newest())); len(keys) != len(was) {
		t.Errorf("%d keys", len(keys))
	}
}
