package jobs_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/index"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/shard/ddl"
	"github.com/cantledb/cantle/shard/jobs"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/keyspace"
)

func rawDocs(t testing.TB, docs ...string) (out []bson.Raw) {
	for _, d := range docs {
		out = append(out, bsontest.Doc(t, d))
	}
	return out
}

// withIndex returns an entry with one more index, in state Building.
func withIndex(t testing.TB, c *catalog.Collection, spec string) *catalog.Collection {
	t.Helper()
	s, err := index.ParseSpec(mql.NewEnv(t.Context()), bsontest.Doc(t, spec))
	if err != nil {
		t.Fatal(err)
	}
	d := c.WithIndex(&catalog.Index{Spec: s, ID: c.NextIndex, State: catalog.IndexBuilding})
	d.NextIndex++
	return d
}

func buildOf(c *catalog.Collection, ix *catalog.Index) *jobs.Build {
	return &jobs.Build{Collection: c.ID, Namespace: c.Namespace, Indexes: []keyspace.IndexID{ix.ID}}
}

func TestExpire(t *testing.T) {
	engines(t, func(t *testing.T, make func() storage.Store) {
		for _, dir := range []int{1, -1} {
			n := open(t, make)
			n.must(n.ShardCollection(n.op(), shop, ddl.ShardOptions{Key: bsontest.Doc(t, `{k: "hashed"}`), Shards: 2}))
			_, err := n.index(fmt.Sprintf(`{key: {at: %d}, name: "at", expireAfterSeconds: 100}`, dir))
			n.must(err)
			now := time.Now().Unix() * 1000
			at := func(sec int) string { return fmt.Sprintf(`{$date: {$numberLong: "%d"}}`, now+int64(sec)*1000) }
			for i := range 300 {
				n.insert(fmt.Sprintf(`{_id: %d, k: %d, at: %s}`, i, i, at(-200)))
			}
			n.insert(`{_id: "fresh", k: 1, at: `+at(0)+`}`, `{_id: "none", k: 2}`, `{_id: "number", k: 3, at: 5}`, `{_id: "text", k: 4, at: "2001"}`,
				`{_id: "array", k: 5, at: [`+at(1000)+`, `+at(-1000)+`, `+at(-900)+`]}`, `{_id: "old", k: 6, at: {$date: {$numberLong: "-5"}}}`,
				`{_id: "stamp", k: 7, at: {$timestamp: {t: 1, i: 1}}}`)
			deleted, err := n.jobs.Expire(t.Context())
			if err != nil || deleted != 302 {
				t.Fatal(deleted, err)
			}
			if n.check(`{}`) != 5 {
				t.Fatal("wrong documents left")
			}
			n.exact()
			n.clock.Store(150)
			if deleted, err := n.jobs.Expire(t.Context()); err != nil || deleted != 1 {
				t.Fatal(deleted, err)
			}
			if p, d := n.jobs.Expired(); p != 2 || d != 303 {
				t.Fatal(p, d)
			}
			n.Drop(n.op(), shop)
		}
	})
}

// The loop of the TTL deleter deletes expired documents without a call, and only while it is switched on.
func TestExpireLoop(t *testing.T) {
	virtually(t, func(t *testing.T, make func() storage.Store) {
		n := open(t, make)
		_, err := n.index(`{key: {at: 1}, name: "at", expireAfterSeconds: 0}`)
		n.must(err)
		n.jobs.SetExpire(false)
		n.jobs.Start(t.Context())
		n.insert(`{_id: 1, at: {$date: "1999-01-01T00:00:00Z"}}`)
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		if n.check(`{}`) != 1 {
			t.Fatal("deleted while off")
		}
		n.jobs.SetExpire(true)
		synctest.Wait()
		if n.check(`{}`) != 0 {
			t.Fatal("not deleted while on")
		}
		n.must(n.jobs.Stop())
	})
}
