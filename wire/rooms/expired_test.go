package rooms

import (
	"testing"
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/wire/command"
)

// At the Cosmos address, an expired document is in no result and blocks no insert, even before the
// job that deletes it has run; at the other address, it exists until it is deleted.
// Source: Azure Cosmos DB, "time-to-live". Manual: core/index-ttl.
func TestExpiredDocuments(t *testing.T) {
	for name, asked := range map[string]string{
		"find":               `{find: "c"}`,
		"point read":         `{find: "c", filter: {_id: 1}}`,
		"by an index":        `{find: "c", filter: {a: 1}}`,
		"covered":            `{find: "c", filter: {a: 1}, projection: {_id: 0, a: 1}, hint: {a: 1}}`,
		"aggregate":          `{aggregate: "c", pipeline: [{$match: {a: {$gte: 0}}}], cursor: {}}`,
		"lookup":             `{aggregate: "one", pipeline: [{$lookup: {from: "c", localField: "k", foreignField: "a", as: "x"}}, {$unwind: "$x"}], cursor: {}}`,
		"in a transaction":   `{find: "c", ` + lsid + `, txnNumber: {$numberLong: "1"}, startTransaction: true, autocommit: false}`,
		"counted":            `{count: "c"}`,
		"counted by a query": `{count: "c", query: {a: 1}}`,
		"counted documents":  `{aggregate: "c", pipeline: [{$group: {_id: 1, n: {$sum: 1}}}], cursor: {}}`,
		"distinct":           `{distinct: "c", key: "a"}`,
		"update":             `{update: "c", updates: [{q: {a: 1}, u: {$set: {b: 1}}}]}`,
		"delete":             `{delete: "c", deletes: [{q: {_id: 1}, limit: 1}]}`,
		"findAndModify":      `{findAndModify: "c", query: {_id: 1}, update: {$set: {b: 1}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			w, clock := clockWorld(t, nil)
			c, relaxed := w.dialAs(command.TagCosmos), w.dial()
			c.ok(`{create: "c"}`)
			c.ok(`{createIndexes: "c", indexes: [{key: {_ts: 1}, name: "ts", expireAfterSeconds: 100}, {key: {a: 1}, name: "a"}, {key: {u: 1}, name: "u", unique: true}]}`)
			c.ok(`{insert: "c", documents: [{_id: 1, a: 1, u: 1, ttl: 2}]}`)
			c.ok(`{insert: "one", documents: [{_id: 1, k: 1}]}`)
			met := func() bool {
				r := c.ok(asked)
				for _, path := range []string{"cursor.firstBatch.0", "values.0", "value._id"} {
					if !missing(r, path) {
						return true
					}
				}
				return number(r.Get("n")) > 0
			}
			clock.Advance(1900 * time.Millisecond)
			if name != "update" && name != "findAndModify" && name != "delete" && name != "in a transaction" && !met() {
				t.Error("it has not expired yet and is not met")
			}
			clock.Advance(200 * time.Millisecond)
			if r := relaxed.ok(`{find: "c"}`); missing(r, "cursor.firstBatch.0") {
				t.Errorf("at the other address: %v", r)
			}
			if met() {
				t.Error("it has expired and is met")
			}
			if name == "in a transaction" {
				return
			}
			if r := c.ok(`{insert: "c", documents: [{_id: 1, u: 1}]}`); number(r.Get("n")) != 1 {
				t.Errorf("again: %v", r)
			}
		})
	}
}

// At the Cosmos address, an expired document blocks no insert, neither by its _id nor by a unique index, and an upsert
// that would match it inserts a new document.
func TestExpiredValues(t *testing.T) {
	for _, again := range []string{
		`{insert: "c", documents: [{_id: 1, u: 2}]}`,
		`{insert: "c", documents: [{_id: 2, u: 1}]}`,
		`{update: "c", updates: [{q: {_id: 1}, u: {$set: {u: 1}}, upsert: true}]}`,
	} {
		w, clock := clockWorld(t, nil)
		c := w.dialAs(command.TagCosmos)
		c.ok(`{create: "c"}`)
		c.ok(`{createIndexes: "c", indexes: [{key: {_ts: 1}, name: "ts", expireAfterSeconds: 5}, {key: {u: 1}, name: "u", unique: true}]}`)
		c.ok(`{insert: "c", documents: [{_id: 1, u: 1, old: true}]}`)
		clock.Advance(5100 * time.Millisecond)
		if r := c.ok(again); number(r.Get("n")) != 1 || !r.Get("writeErrors").IsMissing() {
			t.Errorf("%s: %v", again, r)
		}
		if r := c.ok(`{find: "c"}`); missing(r, "cursor.firstBatch.0") || !missing(r, "cursor.firstBatch.1") || at(r, "cursor.firstBatch.0.old").Truthy() {
			t.Errorf("after %s: %v", again, r)
		}
	}
}

// At the Cosmos address, expired documents use no request units of clients: with a small budget, reads do not return
// them, and none of these reads is throttled.
func TestExpiredCostsNothing(t *testing.T) {
	w, clock := clockWorld(t, nil)
	c := w.dialAs(command.TagCosmos)
	c.ok(`{customAction: "CreateCollection", collection: "c", offerThroughput: 400}`)
	c.ok(`{createIndexes: "c", indexes: [{key: {_ts: 1}, name: "ts", expireAfterSeconds: 60}]}`)
	for i := 0; i < 10; i++ {
		clock.Advance(time.Second)
		c.ok(`{insert: "c", documents: [{}, {}, {}, {}, {}, {}, {}, {}, {}, {}]}`)
	}
	clock.Advance(time.Minute + time.Second)
	if r := c.ok(`{count: "c", query: {x: 1}}`); number(r.Get("n")) != 0 {
		t.Errorf("%v", r)
	}
	for range 30 {
		c.ok(`{find: "c"}`) // 2.5 RU each of 400
	}
	if r := c.ok(`{find: "c"}`); !missing(r, "cursor.firstBatch.0") {
		t.Errorf("%v", r)
	}
}

// missing reports whether a reply has nothing at a path.
func missing(r bson.Raw, path string) bool { return at(r, path).IsMissing() }
