package write_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"testing"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/bson/ejson"
	"github.com/cantledb/cantle/bson/keystring"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/changelog"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/index"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/collection/release"
	"github.com/cantledb/cantle/collection/shard"
	"github.com/cantledb/cantle/collection/write"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/keyspace"
	"github.com/cantledb/cantle/storage/memkv"
)

// stored is a document in the model.
type stored struct {
	doc     bson.Raw
	h       keyspace.Hash
	written int64 // time of its last write in milliseconds
}

// room is one collection of a test in a store, with a model of the collection's expected contents: documents by
// record key.
type room struct {
	t     testing.TB
	env   *mql.Env
	store storage.Store
	coll  *catalog.Collection
	model map[string]stored
	spare []*write.Target // for reuse
	next  keyspace.Hash   // positions of capped collections
	known map[indexed][]entry
}

// indexed identifies a document in an index. It is the key of a map, so that the document's entries are computed
// once.
type indexed struct {
	ix  *catalog.Index
	doc string
}

// newRoom returns an empty collection in a new store, with the given options, shard key ("" for none) and indexes
// besides _id_.
func newRoom(t testing.TB, options, key string, indexes ...string) *room {
	t.Helper()
	r := &room{t: t, store: memkv.Open(memkv.Options{}), model: map[string]stored{}, known: map[indexed][]entry{}}
	t.Cleanup(func() { bsontest.Must(t, r.store.Close()) })
	r.env = mql.NewEnv(context.Background())
	r.env.Meter = &ratelimit.Meter{}
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
		r.coll = r.coll.With(func(c *catalog.Collection) { c.Key, c.Map = k.WithSeed(9), m })
	}
	for _, text := range indexes {
		r.index(text, catalog.IndexReady)
	}
	return r
}

// index adds an index, without entries of existing documents.
func (r *room) index(text string, state catalog.IndexState) *catalog.Index {
	r.t.Helper()
	spec, err := index.ParseSpec(r.env, bsontest.Doc(r.t, text))
	bsontest.Must(r.t, err)
	ix := &catalog.Index{Spec: spec, ID: keyspace.IndexID(len(r.coll.Indexes) + 1), State: state}
	r.coll = r.coll.WithIndex(ix)
	return ix
}

func (r *room) begin() storage.Txn {
	r.t.Helper()
	txn, err := r.store.Begin(r.env.Context(), storage.TxnOptions{})
	bsontest.Must(r.t, err)
	return txn
}

// target returns a write.Target for a document in a transaction, with any version coll of the catalog entry.
// Multikey marks take effect immediately.
func (r *room) target(txn storage.Txn, coll *catalog.Collection, doc bson.Raw, h keyspace.Hash) *write.Target {
	if len(r.spare) == 0 {
		r.spare = append(r.spare, &write.Target{Multikey: func(ix *catalog.Index, paths index.MultikeyPaths) error {
			ix.Multikey = ix.Multikey.Union(paths)
			return nil
		}})
	}
	w := r.spare[len(r.spare)-1]
	r.spare = r.spare[:len(r.spare)-1]
	w.Reset()
	w.Coll, w.Txn, w.Shard = coll, txn, coll.Home(doc, h)
	return w
}

// position returns the position of a new document.
func (r *room) position(doc bson.Raw) keyspace.Hash {
	r.t.Helper()
	if r.coll.Options.Capped {
		r.next++
		return r.next
	}
	h, err := r.coll.Position(doc)
	bsontest.Must(r.t, err)
	return h
}

func (r *room) key(doc bson.Raw, h keyspace.Hash) string {
	return string(keyspace.AppendRecord(nil, r.coll.ID, h, r.coll.AppendID(nil, doc)))
}

// entry is one index entry of a document in the model.
type entry struct{ values, bits []byte }

// maintained reports whether an index has entries.
func maintained(coll *catalog.Collection, ix *catalog.Index) bool {
	return ix.State != catalog.IndexDropping && (ix.ID != 1 || coll.Sharded() || coll.Options.OwnOrder())
}

// entries returns the expected entries of a document in an index.
func (r *room) entries(ix *catalog.Index, s stored) (out []entry) {
	r.t.Helper()
	if ix.LastWrite {
		due := bson.NewBuilder(nil)
		switch ttl, ok := s.doc.Get("ttl").Int64(); {
		case !ok:
			due.DateTime("", s.written)
		case ttl < 0:
			return []entry{{keystring.Append(nil, bson.Null, keystring.Ascending, nil, nil), nil}}
		default:
			due.Int64("", s.written+1000*ttl)
		}
		key := keystring.Append(nil, due.Doc().Get(""), keystring.Ascending, nil, nil)
		return []entry{{keystring.Append(nil, bson.Null, keystring.Ascending, nil, nil), key}, {key, nil}}
	}
	at := indexed{ix, string(s.doc)}
	if out, ok := r.known[at]; ok {
		return out
	}
	_, err := ix.Keys(r.env, s.doc, &expr.Scratch{}, func(values, bits []byte) error {
		out = append(out, entry{bytes.Clone(values), bytes.Clone(bits)})
		return nil
	})
	bsontest.Must(r.t, err)
	r.known[at] = out
	return out
}

// place returns the store key and the stored value of an index entry of the document s in an index partition.
func (r *room) place(ix *catalog.Index, e entry, s stored, p keyspace.PartitionID) (key, value string) {
	id := r.coll.AppendID(nil, s.doc)
	if ix.Unique {
		return string(keyspace.AppendUnique(nil, r.coll.ID, ix.ID, p, e.values)), string(keyspace.AppendUniqueValue(nil, s.h, id, e.bits))
	}
	return string(keyspace.AppendEntry(nil, r.coll.ID, ix.ID, p, e.values, s.h, id)), string(keyspace.AppendEntryValue(nil, e.bits))
}

// clash reports whether another document of the model has an entry of s in a unique index.
func (r *room) clash(model map[string]stored, s stored) bool {
	own := r.key(s.doc, s.h)
	for _, ix := range r.coll.Indexes {
		if !maintained(r.coll, ix) || !ix.Unique && !ix.PrepareUnique {
			continue
		}
		for _, e := range r.entries(ix, s) {
			for key, other := range model {
				for _, o := range r.entries(ix, other) {
					if key != own && bytes.Equal(o.values, e.values) {
						return true
					}
				}
			}
		}
	}
	return false
}

// contents returns all records and index entries of the collection that a reader has, as values by key.
func (r *room) contents(from storage.Reader) map[string]string {
	r.t.Helper()
	out := map[string]string{}
	for _, span := range []storage.Range{keyspace.RecordRange(r.coll.ID), keyspace.CollectionIndexRange(r.coll.ID)} {
		it, err := from.Iter(r.env.Context(), span, storage.IterOptions{})
		bsontest.Must(r.t, err)
		for it.Next() {
			out[string(it.Key())] = string(it.Value())
		}
		bsontest.Must(r.t, it.Err())
		it.Close()
	}
	return out
}

// check compares everything that a reader returns with a model: the documents, each index entry in exactly one of
// the index partitions of the document's shard, and nothing else.
func (r *room) check(from storage.Reader, model map[string]stored) {
	r.t.Helper()
	have := r.contents(from)
	take := func(key, value, what string) bool {
		r.t.Helper()
		got, ok := have[key]
		if ok && got != value {
			r.t.Fatalf("%s of %s is stored as %x, want %x", keyspace.Pretty([]byte(key)), what, got, value)
		}
		delete(have, key)
		return ok
	}
	for key, s := range model {
		what := ejson.String(s.doc)
		if !take(key, string(s.doc), what) {
			r.t.Fatalf("%s is missing", what)
		}
		d := r.coll.Home(s.doc, s.h)
		for _, ix := range r.coll.Indexes {
			if !maintained(r.coll, ix) {
				continue
			}
			for _, e := range r.entries(ix, s) {
				found := 0
				for _, p := range d.Partitions {
					if k, v := r.place(ix, e, s, p); take(k, v, what) {
						found++
					}
				}
				if found != 1 {
					r.t.Fatalf("index %s has entry %x of %s in %d of the partitions %v", ix.Name, e.values, what, found, d.Partitions)
				}
			}
		}
	}
	for key := range have {
		r.t.Fatalf("%s is left over", keyspace.Pretty([]byte(key)))
	}
}

// checkStore compares the newest state with the model.
func (r *room) checkStore() {
	r.t.Helper()
	snap, err := r.store.Snapshot(r.env.Context(), 0)
	bsontest.Must(r.t, err)
	defer snap.Close()
	r.check(snap, r.model)
}

// change is one document before and after a write; an empty doc in either means that it does not exist then.
type change struct {
	op            changelog.Op
	before, after stored
}

// writer is a transaction of a test with its own version of the catalog entry and of the model.
type writer struct {
	*room
	txn         storage.Txn
	coll        *catalog.Collection
	model       map[string]stored
	changes     []change
	docs, bytes int64
}

func (r *room) writer() *writer {
	return &writer{room: r, txn: r.begin(), coll: r.coll, model: maps.Clone(r.model)}
}

// run executes one write of the transaction and reports whether it succeeded. An error must be a duplicate in the
// model too; the write is then rolled back, like a statement of a transaction.
func (w *writer) run(c change) bool {
	w.t.Helper()
	s := c.after
	if c.op == changelog.Delete {
		s = c.before
	}
	key := w.key(s.doc, s.h)
	t := w.target(w.txn, w.coll, s.doc, s.h)
	defer func() { w.spare = append(w.spare, t) }()
	sp := w.txn.Savepoint()
	clash := false
	var err error
	switch c.op {
	case changelog.Insert:
		_, taken := w.model[key]
		clash = taken || w.clash(w.model, s)
		err = t.Insert(w.env, s.doc, s.h)
	case changelog.Delete:
		err = t.Delete(w.env, s.doc, s.h)
	default:
		clash = w.clash(w.model, s)
		err = t.Update(w.env, c.before.doc, s.doc, s.h, c.op, bsontest.Doc(w.t, `{updatedFields: {}}`))
	}
	switch {
	case clash && mongoerr.CodeOf(err) == mongoerr.DuplicateKey:
		w.txn.RollbackTo(sp)
		if t.Docs != 0 || t.Bytes != 0 {
			w.t.Fatalf("a refused write is counted as %d documents, %d bytes", t.Docs, t.Bytes)
		}
		return false
	case clash || err != nil:
		w.t.Fatalf("%v %s -> %s: clash %t, error %v", c.op, ejson.String(c.before.doc), ejson.String(c.after.doc), clash, err)
	}
	if c.op == changelog.Delete {
		delete(w.model, key)
	} else {
		w.model[key] = s
	}
	w.docs, w.bytes = w.docs+t.Docs, w.bytes+t.Bytes
	w.changes = append(w.changes, c)
	return true
}

// commit commits the transaction, makes its changes in the room's model, and reports whether it succeeded. A conflict
// is allowed only if another transaction has committed since its beginning (mayConflict).
func (w *writer) commit(mayConflict bool) bool {
	w.t.Helper()
	_, err := w.txn.Commit(w.env.Context(), storage.Synced)
	if mayConflict && errors.Is(err, storage.ErrConflict) {
		return false
	}
	bsontest.Must(w.t, err)
	docs, size := 0, 0
	for _, c := range w.changes {
		if c.op == changelog.Insert {
			docs++
		} else if c.op == changelog.Delete {
			docs--
		}
		size += len(c.after.doc) - len(c.before.doc)
		if c.op == changelog.Delete {
			delete(w.room.model, w.key(c.before.doc, c.before.h))
		} else {
			w.room.model[w.key(c.after.doc, c.after.h)] = c.after
		}
	}
	if w.docs != int64(docs) || w.bytes != int64(size) {
		w.t.Fatalf("counted %d documents and %d bytes, want %d and %d", w.docs, w.bytes, docs, size)
	}
	return true
}

// log reads the records after a timestamp.
func (r *room) log(after storage.Timestamp) (out []changelog.Record) {
	r.t.Helper()
	_, err := r.store.ReadLog(r.env.Context(), changelog.Stream, after, func(_, _ storage.Timestamp, rec []byte) bool {
		d, err := changelog.Decode(bytes.Clone(rec))
		bsontest.Must(r.t, err)
		out = append(out, d)
		return true
	})
	bsontest.Must(r.t, err)
	return out
}

// show prints a document or its absence.
func show(doc bson.Raw) string {
	if len(doc) == 0 {
		return "none"
	}
	return fmt.Sprint(ejson.String(doc))
}
