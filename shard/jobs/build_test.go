package jobs_test

import (
	"maps"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/shard/ddl"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/keyspace"
)

func TestBuildWhileInUse(t *testing.T) {
	engines(t, func(t *testing.T, make func() storage.Store) {
		n := open(t, make)
		n.must(n.ShardCollection(n.op(), shop, ddl.ShardOptions{Key: bsontest.Doc(t, `{k: "hashed"}`), Shards: 3}))
		n.fill(0, 1500)
		var stop atomic.Bool
		var wg sync.WaitGroup
		for w := range 3 {
			wg.Add(1)
			go func() {
				defer wg.Done()
				n.writer(w, map[int]bool{}, &stop)
			}()
		}
		r, err := n.index(`{key: {a: 1}, name: "a"}`, `{key: {k: 1, u: 1}, name: "u", unique: true}`, `{key: {tags: 1, a: -1}, name: "tags"}`,
			`{key: {u: 1}, name: "partial", partialFilterExpression: {a: {$gt: 3}}}`)
		stop.Store(true)
		wg.Wait()
		n.must(err)
		if r.Before != 1 || r.After != 5 || r.Created || r.Note != "" {
			t.Fatalf("%+v", r)
		}
		n.check(`{}`)
		n.exact()
		want, err := n.ids(n.op(), `{a: {$gt: 3}}`, "")
		n.must(err)
		got, err := n.ids(n.op(), `{a: {$gt: 3}}`, "partial")
		if err != nil || !maps.Equal(got, want) {
			t.Fatal(len(got), len(want), err)
		}
		if r, err = n.index(`{key: {a: 1}, name: "a"}`); err != nil || r.Note == "" || r.Before != 5 || r.After != 5 {
			t.Fatalf("%+v, %v", r, err)
		}
		if len(n.jobs.InProgress()) != 0 {
			t.Fatal("a finished build is listed")
		}
	})
}

// If createIndexes of two indexes finds duplicates for the unique one, neither index stays, nor an entry of them.
func TestUniqueBuildFails(t *testing.T) {
	engines(t, func(t *testing.T, make func() storage.Store) {
		n := open(t, make)
		n.fill(0, 600)
		_, err := n.index(`{key: {b: 1}, name: "b"}`, `{key: {a: 1}, name: "a", unique: true}`)
		if mongoerr.CodeOf(err) != 11000 {
			t.Fatal(err)
		}
		if len(n.coll().Indexes) != 1 {
			t.Fatal("indexes stayed")
		}
		n.must(n.jobs.DeleteRecorded(t.Context()))
		if k := n.keys(keyspace.CollectionIndexRange(n.coll().ID)); k != 0 {
			t.Fatalf("%d entries stayed", k)
		}
		if _, err := n.index(`{key: {u: 1}, name: "u", unique: true}`); err != nil {
			t.Fatal(err)
		}
		n.check(`{}`)
		_, errs, err := n.Insert(n.op(), shop, rawDocs(t, `{u: 5}`), true)
		if err != nil || len(errs) != 1 || errs[0].Err.Code != 11000 {
			t.Fatal(errs, err)
		}
	})
}

// One of two documents with equal values is deleted after a unique index was published and before it is built: the
// other document gets its entry in the index.
func TestUniqueBuildWhileDuplicatesGo(t *testing.T) {
	engines(t, func(t *testing.T, make func() storage.Store) {
		n := open(t, make)
		n.fill(0, 20)
		n.insert(`{_id: "dup", u: 7}`)
		c := n.coll()
		n.must(n.jobs.Catalog.Change(t.Context(), func(m *catalog.Mutation) error {
			return m.Put(withIndex(t, c, `{key: {u: 1}, name: "u", unique: true}`))
		}))
		ix := n.coll().Index("u")
		// Writers maintain an index that is being built: removing one of two documents with an equal value must not
		// remove the entry of the other.
		n.remove(`{_id: "dup"}`, false)
		unlock, err := n.jobs.Lock(t.Context(), c.ID)
		n.must(err)
		n.must(n.jobs.BuildIndexes(t.Context(), buildOf(c, ix)))
		unlock()
		n.check(`{}`)
	})
}

// Indexes that were published, and not built when their process ended, are built by Resume in the next one.
func TestBuildResumes(t *testing.T) {
	engines(t, func(t *testing.T, make func() storage.Store) {
		n := open(t, make)
		n.fill(0, 700)
		c := n.coll()
		n.must(n.jobs.Catalog.Change(t.Context(), func(m *catalog.Mutation) error {
			return m.Put(withIndex(t, withIndex(t, c, `{key: {u: 1}, name: "u", unique: true}`), `{key: {a: 1}, name: "a"}`))
		}))
		n.fill(700, 750)
		n = n.reopen()
		n.must(n.jobs.Resume(t.Context()))
		if n.coll().Index("u").State != catalog.IndexReady {
			t.Fatal("not ready")
		}
		n.check(`{}`)
	})
}

func TestDropIsFinished(t *testing.T) {
	virtually(t, func(t *testing.T, make func() storage.Store) {
		n := open(t, make)
		n.fill(200, 300)
		n.fill(0, 200)
		_, err := n.index(`{key: {a: 1}, name: "a"}`)
		n.must(err)
		id := n.coll().ID
		if k := n.keys(keyspace.InsertionRange(id)); k != 400 {
			t.Errorf("%d keys of the insertion order, want two for each document that came later with a lower _id", k)
		}
		if ok, err := n.Drop(n.op(), shop); !ok || err != nil {
			t.Fatal(ok, err)
		}
		n.fill(0, 10)
		n = n.reopen() // before anything was removed
		n.jobs.Start(t.Context())
		synctest.Wait()
		n.must(n.jobs.Stop())
		if k := n.keys(keyspace.RecordRange(id)) + n.keys(keyspace.CollectionIndexRange(id)) + n.keys(keyspace.MetaRange(keyspace.MetaJob)); k > 0 {
			t.Errorf("%d keys are left", k)
		}
		if n.check(`{}`) != 10 {
			t.Fatal("the new collection lost documents")
		}
	})
}
