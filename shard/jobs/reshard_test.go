package jobs_test

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/plan"
	"github.com/cantledb/cantle/shard/ddl"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/keyspace"
)

// A collection with documents gets a shard key while it is written to: writers wait and lose nothing, and a
// cursor continues.
func TestReshard(t *testing.T) {
	engines(t, func(t *testing.T, make func() storage.Store) {
		n := open(t, make)
		n.fill(0, 800)
		n.insert(`{_id: "tags", tags: [1, 2], k: 1}`)
		_, err := n.index(`{key: {a: 1}, name: "a"}`, `{key: {k: 1, u: 1}, name: "u", unique: true}`, `{key: {tags: 1}, name: "tags"}`)
		n.must(err)
		old := n.coll()
		o := n.op()
		cursor, err := n.Find(o, shop, plan.Find{})
		n.must(err)
		if _, err := cursor.Next(o.Env); err != nil {
			t.Fatal(err)
		}
		var stop atomic.Bool
		var wg sync.WaitGroup
		models := [2]map[int]bool{{}, {}}
		for w := range models {
			wg.Add(1)
			go func() {
				defer wg.Done()
				n.writer(w, models[w], &stop)
			}()
		}
		n.must(n.ShardCollection(n.op(), shop, ddl.ShardOptions{Key: bsontest.Doc(t, `{k: "hashed"}`), Shards: 3}))
		stop.Store(true)
		wg.Wait()
		now := n.coll()
		if !now.Sharded() || now.Frozen || now.UUID != old.UUID || now.ID == old.ID || now.Map.Len() != 3 || !now.Index("tags").Multikey.Any() {
			t.Fatalf("%+v", now)
		}
		if got := n.check(`{}`); got != 801+len(models[0])+len(models[1]) {
			t.Fatalf("%d documents", got)
		}
		n.exact()
		n.must(n.jobs.DeleteRecorded(t.Context()))
		if k := n.keys(keyspace.RecordRange(old.ID)) + n.keys(keyspace.CollectionIndexRange(old.ID)); k > 0 {
			t.Fatalf("%d old keys are left", k)
		}
		left := 1
		for row, err := cursor.Next(o.Env); row != nil || err != nil; row, err = cursor.Next(o.Env) {
			n.must(err)
			left++
		}
		cursor.Close()
		if left < 801 {
			t.Fatalf("the cursor found %d documents", left)
		}
		n.fill(1000, 1100)
		n.must(n.jobs.Checkpoint(t.Context()))
		n = n.reopen()
		n.exact()
		// The same key again is not an error; another key is.
		n.must(n.ShardCollection(n.op(), shop, ddl.ShardOptions{Key: bsontest.Doc(t, `{k: "hashed"}`)}))
		if err := n.ShardCollection(n.op(), shop, ddl.ShardOptions{Key: bsontest.Doc(t, `{a: "hashed"}`)}); mongoerr.CodeOf(err) != 23 {
			t.Fatal(err)
		}
	})
}

// If a document has an array in the key, shardCollection fails with 61 and leaves the collection unchanged, without
// keys of a copy; if a unique index does not begin with the key, it fails with 72.
func TestReshardFails(t *testing.T) {
	engines(t, func(t *testing.T, make func() storage.Store) {
		n := open(t, make)
		n.fill(0, 400)
		n.insert(`{_id: 10000, k: [1]}`)
		old := n.coll()
		if err := n.ShardCollection(n.op(), shop, ddl.ShardOptions{Key: bsontest.Doc(t, `{k: "hashed"}`)}); mongoerr.CodeOf(err) != 61 {
			t.Fatal(err)
		}
		if now := n.coll(); now.ID != old.ID || now.Frozen || now.Sharded() {
			t.Fatalf("%+v", now)
		}
		n.fill(500, 510)
		n.exact()
		n.must(n.jobs.DeleteRecorded(t.Context()))
		for id := keyspace.CollectionID(1); id < 10; id++ {
			if k := n.keys(keyspace.RecordRange(id)); (k > 0) != (id == old.ID) {
				t.Fatalf("collection %d has %d keys", id, k)
			}
		}
		_, err := n.index(`{key: {u: 1}, name: "u", unique: true}`)
		n.must(err)
		if err := n.ShardCollection(n.op(), shop, ddl.ShardOptions{Key: bsontest.Doc(t, `{a: "hashed"}`)}); mongoerr.CodeOf(err) != 72 {
			t.Fatal(err)
		}
	})
}

// With a shard key of several fields, a filter on its first fields finds all matches, and documents are found by _id.
func TestShardedByHierarchy(t *testing.T) {
	engines(t, func(t *testing.T, make func() storage.Store) {
		n := open(t, make)
		n.fill(0, 300)
		n.must(n.ShardCollection(n.op(), shop, ddl.ShardOptions{Key: bsontest.Doc(t, `{a: "hashed", k: "hashed"}`), Shards: 4}))
		n.check(`{}`)
		for a := range 7 {
			want := 0
			for i := range 300 {
				if i%7 == a {
					want++
				}
			}
			if got := n.check(fmt.Sprintf(`{a: %d}`, a)); got != want {
				t.Fatal(a, got, want)
			}
		}
		got, err := n.ids(n.op(), `{_id: 17}`, "_id_")
		if err != nil || len(got) != 1 {
			t.Fatal(got, err)
		}
		_, errs, err := n.Insert(n.op(), shop, []bson.Raw{bsontest.Doc(t, `{_id: 17, k: 17, a: 3}`)}, true)
		if err != nil || len(errs) != 1 {
			t.Fatal(errs, err)
		}
	})
}

// A transaction that began before its collection was frozen, as a rewriting does at its end, fails with a conflict
// while the collection is frozen; other writers wait. The test only sets Frozen.
func TestReshardOvertakesTransaction(t *testing.T) {
	engines(t, func(t *testing.T, make func() storage.Store) {
		n := open(t, make)
		n.fill(0, 10)
		o := n.op()
		txn, err := n.BeginTxn(o)
		n.must(err)
		o.Txn = txn
		_, errs, err := n.Insert(o, shop, rawDocs(t, `{_id: "late", k: 1}`), true)
		if err != nil || len(errs) > 0 {
			t.Fatal(err, errs)
		}
		freeze := func(frozen bool) {
			n.must(n.jobs.Catalog.Change(t.Context(), func(m *catalog.Mutation) error {
				return m.Put(m.Snapshot().Collection(shop).With(func(c *catalog.Collection) { c.Frozen = frozen }))
			}))
		}
		freeze(true)
		if _, err := txn.Store.Commit(t.Context(), storage.Buffered); !errors.Is(err, storage.ErrConflict) {
			t.Fatal(err)
		}
		waiting := background(func() { n.fill(10, 11) })
		select {
		case <-waiting:
			t.Fatal("a writer did not wait")
		case <-time.After(20 * time.Millisecond):
		}
		freeze(false)
		<-waiting
		if n.check(`{}`) != 11 {
			t.Fatal("wrong number of documents")
		}
	})
}
