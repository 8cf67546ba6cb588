package rooms

import (
	"strings"
	"testing"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/ejson"
)

// TestStrictSort checks that, at the Cosmos address, a sort succeeds only if a single-field, composite or wildcard
// index serves it, and otherwise fails with the text of Azure Cosmos DB. At the other address the same sorts of a find
// succeed.
func TestStrictSort(t *testing.T) {
	w := newWorld(t, nil)
	c, relaxed := w.dialAs("cosmos"), w.dial()
	c.ok(`{insert: "c", documents: [{_id: 1, a: 2, b: 1, d: {e: 1}}, {_id: 2, a: 1, b: 1}]}`)
	const excluded = "The index path corresponding to the specified order-by item is excluded."
	const composite = "The order by query does not have a corresponding composite index that it can be served from."
	expect := func(sort, want string) {
		t.Helper()
		find := `{find: "c", sort: ` + sort + `}`
		for _, cmd := range []string{
			find,
			`{aggregate: "c", pipeline: [{$sort: ` + sort + `}], cursor: {}}`,
			`{findAndModify: "c", query: {}, sort: ` + sort + `, update: {$set: {x: 1}}}`,
		} {
			if strings.HasPrefix(cmd, "{findAndModify") && strings.Contains(sort, ",") {
				if got := c.code(cmd); got != 115 {
					t.Errorf("%s: %d, want 115", cmd, got)
				}
				continue
			}
			r := c.run(cmd)
			if want == "" {
				if !r.Get("ok").Truthy() {
					t.Errorf("%s: %v", cmd, r)
				}
				continue
			}
			if got := text(r.Get("errmsg")); number(r.Get("code")) != 2 || !strings.HasPrefix(got, want) || !strings.Contains(got, "createIndex({") {
				t.Errorf("%s: %v", cmd, r)
			}
		}
		relaxed.ok(find)
	}
	expect(`{_id: -1}`, "")
	expect(`{a: 1}`, excluded)
	expect(`{"d.e": 1}`, excluded)
	expect(`{a: 1, b: 1}`, composite)
	c.ok(`{createIndexes: "c", indexes: [{key: {a: 1}, name: "a"}]}`)
	expect(`{a: -1}`, "")
	expect(`{a: 1, b: 1}`, composite)
	c.ok(`{createIndexes: "c", indexes: [{key: {a: 1, b: -1}, name: "ab"}]}`)
	expect(`{a: 1, b: -1}`, "")
	expect(`{a: -1, b: 1}`, "")
	expect(`{a: 1, b: 1}`, composite)
	expect(`{b: -1, a: 1}`, composite)
	c.ok(`{createIndexes: "c", indexes: [{key: {"d.$**": 1}, name: "d"}]}`)
	expect(`{"d.e": 1}`, "")
	expect(`{b: 1}`, excluded)
	c.ok(`{createIndexes: "c", indexes: [{key: {"$**": 1}, name: "all"}]}`)
	expect(`{b: 1}`, "")
	if got := c.code(`{createIndexes: "c", indexes: [{key: {b: 1, "d.$**": 1}, name: "x"}]}`); got != 67 {
		t.Errorf("a compound wildcard index: %d", got)
	}
}

// At the Cosmos address, a write of a single document must fix one value of each field of the shard key. The error
// for a document with an array at a field of the shard key names this field. Source: Azure Cosmos DB,
// "partitioning-overview".
func TestStrictSingleShardKey(t *testing.T) {
	w := newWorld(t, nil)
	c, relaxed := w.dialAs("cosmos"), w.dial()
	c.ok(`{shardCollection: "test.c", key: {a: "hashed", "b.x": "hashed"}}`)
	c.ok(`{insert: "c", documents: [{_id: 1, a: 1, b: {x: 1}}, {_id: 2, a: 2, b: {x: null}}]}`)
	for filter, want := range map[string]int64{
		`{a: 1, "b.x": 1}`:                               0,
		`{a: {$in: [1]}, "b.x": {$eq: 1}, _id: 1}`:       0,
		`{a: 2, "b.x": null}`:                            0,
		`{a: 1, "b.x": {$in: [1, 2]}}`:                   61,
		`{a: {$in: [1, 2]}, "b.x": 1, _id: 1}`:           61,
		`{$or: [{a: 1, "b.x": 1}, {a: 2, "b.x": null}]}`: 61,
		`{a: 1}`:                  61,
		`{a: 1, "b.x": {$gt: 0}}`: 61,
		`{a: 1, b: {x: 1}}`:       61,
		`{_id: 1}`:                61,
	} {
		for _, command := range []string{
			`{update: "c", updates: [{q: ` + filter + `, u: {$set: {y: 1}}}]}`,
			`{delete: "c", deletes: [{q: {$and: [` + filter + `, {none: 1}]}, limit: 1}]}`,
			`{findAndModify: "c", query: ` + filter + `, update: {$inc: {z: 1}}}`,
		} {
			r := c.run(command)
			got := number(r.Get("code"))
			if e := at(r, "writeErrors.0.code"); !e.IsMissing() {
				got = number(e)
			}
			if got != want {
				t.Errorf("%s: %v", command, r)
			}
			relaxed.ok(command)
		}
	}
	r := c.run(`{insert: "c", documents: [{a: 1, b: [{x: 1}]}]}`)
	if got := text(at(r, "writeErrors.0.errmsg")); got != "The document does not contain shard key at 'b.x'" {
		t.Error(got)
	}
}

// TestStrictShardKey checks the documents that Azure Cosmos DB for MongoDB refuses because of their shard key, and
// what happens to them at other addresses.
func TestStrictShardKey(t *testing.T) {
	w := newWorld(t, nil)
	strict, relaxed := w.dialAs("cosmos"), w.dial()
	for name, key := range map[string]string{"hashed": `{"k.a": "hashed"}`, "ranged": `{"k.a": 1}`} {
		relaxed.ok(`{shardCollection: "test.` + name + `", key: ` + key + `}`)
		for _, c := range []struct {
			k               string
			strict, relaxed int64
		}{
			{`{a: 1}`, 0, 0},
			{`{a: null}`, 0, 0},
			{`{b: 1}`, 61, 0},
			{`5`, 61, 0},
			{`{a: [1]}`, 61, 61},
			{`[{a: 1}]`, 61, 61},
			{`{a: "` + strings.Repeat("x", 2000) + `"}`, 0, 0},
			{`{a: "` + strings.Repeat("x", 3000) + `"}`, 2, 0},
		} {
			for i, conn := range []*client{strict, relaxed} {
				insert := conn.run(`{insert: "` + name + `", documents: [{k: ` + c.k + `}]}`)
				upsert := conn.run(`{update: "` + name + `", updates: [{q: {"k.a": 7, _id: "up"}, u: {_id: "up", k: ` + c.k + `}, upsert: true}]}`)
				want := []int64{c.strict, c.relaxed}[i]
				for what, r := range map[string]bson.Raw{"insert": insert, "upsert": upsert} {
					got := int64(0)
					if list, ok := r.Get("writeErrors").Array(); ok {
						for v := range list.Values() {
							d, _ := v.Doc()
							got = number(d.Get("code"))
						}
					}
					if got != want {
						t.Errorf("%s, connection %d, %s of %.40s: %d, want %d", name, i, what, c.k, got, want)
					}
				}
				relaxed.ok(`{delete: "` + name + `", deletes: [{q: {}, limit: 0}]}`)
			}
		}
	}
}

// listed returns the indexes of a collection from listIndexes.
func (c *client) listed(coll string) bson.Value {
	cursor, _ := c.ok(`{listIndexes: "` + coll + `"}`).Get("cursor").Doc()
	return cursor.Get("firstBatch")
}

// At the Cosmos address an index is listed in the form of accounts, version 1 with the name of the collection, and a
// wildcard, compound, unique, 2dsphere and TTL index can be created in this form. At the other address the same indexes
// have MongoDB's form.
// Source: Azure Cosmos DB for MongoDB, "indexing", "time-to-live".
func TestStrictIndexForm(t *testing.T) {
	w := newWorld(t, nil)
	c, relaxed := w.dialAs("cosmos"), w.dial()
	const account = `[ { v: 1, key: { _id: 1 }, name: "_id_", ns: "test.c" }, { v: 1, key: { $**: 1 }, name: "all", ns: "test.c" }, ` +
		`{ v: 1, key: { a: 1, b: -1 }, name: "ab", ns: "test.c" }, { v: 1, key: { u: 1 }, name: "u", ns: "test.c", unique: true }, ` +
		`{ v: 1, key: { p: "2dsphere" }, name: "p", ns: "test.c", 2dsphereIndexVersion: 3 }, { v: 1, key: { _ts: 1 }, name: "ts", ns: "test.c", expireAfterSeconds: -1 } ]`
	c.ok(`{createIndexes: "c", indexes: [{v: 1, key: {"$**": 1}, name: "all"}, {v: 1, key: {a: 1, b: -1}, name: "ab"}, {v: 1, key: {u: 1}, name: "u", unique: true},
		{v: 1, key: {p: "2dsphere"}, name: "p"}, {v: 1, key: {_ts: 1}, name: "ts", expireAfterSeconds: -1}]}`)
	if got := c.listed("c").String(); got != account {
		t.Errorf("listIndexes: %s", got)
	}
	if got := c.ok(`{customAction: "GetCollection", collection: "c", showIndexes: true}`).Get("indexes").String(); got != account {
		t.Errorf("GetCollection: %s", got)
	}
	listed := relaxed.listed("c").String()
	if want := `[ { v: 2, key: { _id: 1 }, name: "_id_" }, { v: 2, key: { $**: 1 }, name: "all" }, { v: 2, key: { a: 1, b: -1 }, name: "ab" }, ` +
		`{ v: 2, key: { u: 1 }, name: "u", unique: true }, { v: 2, key: { p: "2dsphere" }, name: "p", 2dsphereIndexVersion: 3 }, ` +
		`{ v: 2, key: { _ts: 1 }, name: "ts", expireAfterSeconds: 2147483647 } ]`; listed != want {
		t.Errorf("listIndexes with MongoDB's rules: %s", listed)
	}
	for _, c := range []*client{c, relaxed} { // the listed indexes exist already
		b := bson.NewBuilder(nil)
		b.String("createIndexes", "c")
		b.Value("indexes", c.listed("c"))
		if r := c.ok(ejson.Canonical(b.Doc())); text(r.Get("note")) != "all indexes already exist" {
			t.Errorf("the listed indexes again: %v", r)
		}
	}
	if got := relaxed.code(`{createIndexes: "d", indexes: [{v: 1, key: {"$**": 1}, name: "all"}]}`); got != 67 {
		t.Errorf("a wildcard index of version 1 with MongoDB's rules: %d", got)
	}
}
