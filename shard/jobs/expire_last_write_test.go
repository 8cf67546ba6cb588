package jobs_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/collection/cosmos"
	"github.com/cantledb/cantle/shard/ddl"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/keyspace"
	"github.com/cantledb/cantle/storage/memkv"
)

// With an index on _ts that a client of the Cosmos address makes, documents expire 100 seconds after their last write,
// or by their own ttl; also after updates and a split, and if they were inserted before the index was made.
// Source: Azure Cosmos DB for MongoDB, "time-to-live".
func TestExpireLastWrite(t *testing.T) {
	engines(t, func(t *testing.T, make func() storage.Store) {
		n := open(t, make)
		n.sharded(2)
		n.insert(`{_id: "before", k: 50, _ts: {$date: {$numberLong: "1"}}}`)
		o := n.op()
		o.Env.Cosmos = cosmos.NewAccount().Client()
		_, err := n.CreateIndexes(o, shop, []bson.Raw{bsontest.Doc(t, `{key: {_ts: 1}, name: "ts", expireAfterSeconds: 100}`)})
		n.must(err)
		for i := range 40 {
			n.insert(fmt.Sprintf(`{_id: %d, k: %d}`, i, i))
		}
		n.insert(`{_id: "short", k: 60, ttl: 10}`, `{_id: "long", k: 61, ttl: {$numberDouble: "1000.0"}}`, `{_id: "ever", k: 62, ttl: -1}`,
			`{_id: "text", k: 63, ttl: "5"}`, `{_id: "half", k: 64, ttl: 5.5}`, `{_id: "zero", k: 65, ttl: 0}`)
		expire := func(at, want int64) {
			t.Helper()
			n.clock.Store(at)
			if deleted, err := n.jobs.Expire(t.Context()); err != nil || deleted != want {
				t.Fatal("at", at, "deleted", deleted, err)
			}
			n.exact()
		}
		expire(5, 0)
		expire(50, 1) // short
		for _, f := range []string{`{_id: {$lt: 10}}`, `{_id: 5}`} {
			m, err := n.set(f, `{$set: {a: 1}}`, true)
			n.must(err)
			if m.Matched == 0 {
				t.Fatal("nothing matched")
			}
		}
		n.remove(`{_id: 39}`, false)
		n.must(n.splitMiddle(n.coll().Map.Shards()[0].ID))
		if _, err := n.set(`{_id: 11}`, `{$set: {ttl: -1}}`, false); err != nil {
			t.Fatal(err)
		}
		expire(110, 28+4) // 12 to 38 and 10, before, text, half and zero
		_, err = n.set(`{_id: 11}`, `{$set: {ttl: 5}}`, false)
		n.must(err)
		expire(111, 0)
		expire(120, 1)
		expire(160, 10) // 0 to 9, from their last write
		expire(1100, 1) // long
		v, err := n.Validate(n.op(), shop)
		n.must(err)
		for i := range v.Indexes {
			if v.Records != 1 || !v.Indexes[i].Valid() {
				t.Fatalf("%+v", v)
			}
		}
		coll := n.coll()
		if left := n.keys(keyspace.IndexRange(coll.ID, coll.Index("ts").ID)); left != 1 {
			t.Fatal(left, "entries for one document that never ends")
		}
	})
}

// If the index for the expiry after the last write has expireAfterSeconds -1, only documents with a ttl of their own
// expire. A query that names this index in its hint fails, and wrong specs of such an index are refused.
func TestExpireOwnOnly(t *testing.T) {
	n := open(t, func() storage.Store { return memkv.Open(memkv.Options{Clock: time.Now}) })
	n.insert(`{_id: 0, ttl: 20, _ts: 7}`, `{_id: 1, _ts: 7}`)
	for _, bad := range []string{
		`{key: {_ts: 1}, name: "ts", expireAfterSeconds: -1}`,
		`{key: {_ts: -1}, name: "ts", expireAfterSeconds: 1, expireAfterLastWrite: true}`,
		`{key: {a: 1}, name: "ts", expireAfterSeconds: 1, expireAfterLastWrite: true}`,
		`{key: {_ts: 1}, name: "ts", expireAfterLastWrite: true}`,
		`{key: {_ts: 1}, name: "ts", expireAfterSeconds: 1, unique: true, expireAfterLastWrite: true}`,
	} {
		if _, err := n.index(bad); err == nil {
			t.Error(bad, "is accepted")
		}
	}
	_, err := n.index(`{key: {_ts: 1}, name: "ts", expireAfterSeconds: -1, expireAfterLastWrite: true}`)
	n.must(err)
	found, err := n.ids(n.op(), `{_ts: 7}`, "")
	n.must(err)
	if _, err := n.ids(n.op(), `{_ts: 7}`, "ts"); err == nil || len(found) != 2 {
		t.Error("the index serves a query", found)
	}
	n.must(n.ShardCollection(n.op(), shop, ddl.ShardOptions{Key: bsontest.Doc(t, `{k: "hashed"}`), Shards: 2}))
	n = n.reopen()
	n.clock.Store(1000)
	if deleted, err := n.jobs.Expire(t.Context()); err != nil || deleted != 1 {
		t.Fatal(deleted, err)
	}
}
