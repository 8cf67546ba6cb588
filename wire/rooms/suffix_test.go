package rooms

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/ejson"
	"github.com/cantledb/cantle/shard/balance"
	"github.com/cantledb/cantle/storage/memkv"
)

// trips creates a collection sharded by day, with a suffix of four buckets computed from vin, and inserts documents
// of two days.
func trips(c *client, partitions int) {
	c.ok(fmt.Sprintf(`{shardCollection: "test.c", key: {day: "hashed"}, suffix: {from: "vin", buckets: 4}, numInitialChunks: %d}`, partitions))
	var docs []string
	for i := range 100 {
		docs = append(docs, fmt.Sprintf(`{_id: %d, day: "d%d", vin: "v%d", n: %d}`, i, i%2, i, i))
	}
	c.ok(`{insert: "c", documents: [` + strings.Join(docs, ", ") + `]}`)
}

// A statement that fixes day and vin visits one partition, one that fixes only the day, or several days, those of the
// four buckets of each day, and one that fixes no day visits all; explain shows the visited partitions.
func TestSuffixTargets(t *testing.T) {
	for _, partitions := range []int{1, 8} {
		c := newWorld(t, nil).dial()
		trips(c, partitions)
		for filter, most := range map[string]int{
			`{day: "d1", vin: "v3"}`:                       1,
			`{day: "d1", vin: "v3", n: {$gt: 1}}`:          1,
			`{day: "d1", vin: "v3", _id: 3}`:               1,
			`{day: {$eq: "d1"}, vin: {$in: ["v3"]}}`:       1,
			`{day: "d1", vin: null}`:                       1,
			`{day: "d1"}`:                                  4,
			`{day: "d1", vin: {$gt: "v3"}}`:                4,
			`{day: "d1", _id: 3}`:                          4,
			`{$or: [{day: "d1"}, {day: "d1", vin: "v3"}]}`: 4,
			`{$and: [{day: "d1"}, {n: 3}]}`:                4,
			`{day: {$in: ["d0", "d1"]}}`:                   8,
			`{vin: "v3"}`:                                  8,
			`{_id: 3}`:                                     8,
			`{day: {$gt: "d0"}, vin: "v3"}`:                8,
			`{day: {$exists: true}}`:                       8,
			`{$or: [{day: "d1", vin: "v3"}, {vin: "v3"}]}`: 8,
			`{}`: 8,
		} {
			for _, command := range []string{
				`{find: "c", filter: %s}`, `{find: "c", filter: %s, sort: {n: -1}, limit: 3}`,
				`{count: "c", query: %s}`, `{distinct: "c", key: "n", query: %s}`,
				`{aggregate: "c", pipeline: [{$match: %s}, {$group: {_id: "$day", n: {$sum: 1}}}], cursor: {}}`,
				`{update: "c", updates: [{q: %s, u: {$set: {x: 1}}}]}`, `{update: "c", updates: [{q: %s, u: {$set: {x: 1}}, multi: true}]}`,
				`{delete: "c", deletes: [{q: %s, limit: 1}]}`, `{delete: "c", deletes: [{q: %s, limit: 0}]}`,
				`{findAndModify: "c", query: %s, update: {$set: {x: 1}}}`,
			} {
				r := c.ok(`{explain: ` + fmt.Sprintf(command, filter) + `, verbosity: "executionStats"}`)
				visited, _ := r.Get("shardInformation").Array()
				n := 0
				for range visited.Values() {
					n++
				}
				want := min(most, partitions)
				// By chance, some buckets of the two days may be on the same partitions.
				if n != want && (!strings.Contains(filter, "d0") || n < 4 || n > want) {
					t.Errorf("%d partitions: %s visits %d, want %d", partitions, fmt.Sprintf(command, filter), n, want)
				}
			}
		}
	}
}

// Values that fall into the same bucket of the suffix have the same position; a read by key still distinguishes
// them.
func TestSuffixPointReads(t *testing.T) {
	c := newWorld(t, nil).dial()
	c.ok(`{shardCollection: "test.c", key: {day: "hashed"}, suffix: {from: "vin", buckets: 2}}`)
	c.ok(`{insert: "c", documents: [{_id: 1, day: "d", vin: 0}, {_id: 2, day: "d"}, {_id: 3, vin: 0}]}`)
	for vin := range 20 {
		for what, command := range map[string]string{
			"find":          `{find: "c", filter: {day: "d", vin: %d, _id: 1}}`,
			"count":         `{count: "c", query: {day: "d", vin: %d, _id: 1}}`,
			"update":        `{update: "c", updates: [{q: {day: "d", vin: %d, _id: 1}, u: {$set: {x: 1}}}]}`,
			"findAndModify": `{findAndModify: "c", query: {day: "d", vin: %d, _id: 1}, update: {$inc: {x: 1}}}`,
		} {
			r := c.ok(fmt.Sprintf(command, vin))
			found := number(r.Get("n")) > 0 || !at(r, "cursor.firstBatch.0").IsMissing() || at(r, "value").Type == bson.TypeDocument
			if found != (vin == 0) {
				t.Errorf("%s of vin %d: %v", what, vin, r)
			}
		}
		if r := c.ok(fmt.Sprintf(`{delete: "c", deletes: [{q: {day: "d", vin: %d, _id: 1}, limit: 1}]}`, vin+1)); number(r.Get("n")) != 0 {
			t.Errorf("a document of another vin was deleted: %v", r)
		}
	}
	for filter, want := range map[string]int64{`{day: "d", vin: null, _id: 2}`: 1, `{day: null, vin: 0, _id: 3}`: 1, `{day: null, vin: 1, _id: 3}`: 0, `{day: null}`: 1, `{vin: null}`: 1} {
		if n := number(c.ok(`{count: "c", query: ` + filter + `}`).Get("n")); n != want {
			t.Errorf("%s: %d, want %d", filter, n, want)
		}
	}
}

// A random suffix is computed from the _id. A statement that fixes the shard key and _id visits one partition; one that
// fixes only the shard key visits the partitions of all its buckets, and one that fixes only _id visits several too.
func TestRandomSuffixTargets(t *testing.T) {
	c := newWorld(t, nil).dial()
	c.ok(`{shardCollection: "test.c", key: {day: "hashed"}, suffix: {random: true, buckets: 400}, numInitialChunks: 8}`)
	for i := range 800 {
		c.ok(fmt.Sprintf(`{insert: "c", documents: [{_id: %d, day: "today"}]}`, i))
	}
	list, _ := c.ok(`{customAction: "GetPartitions", collection: "c"}`).Get("partitions").Array()
	for v := range list.Values() {
		p, _ := v.Doc()
		if n := number(p.Get("documents")); n < 60 || n > 140 {
			t.Errorf("a partition has %d of 800 documents of one day", n)
		}
	}
	for filter, want := range map[string]string{`{day: "today", _id: 5}`: "EXPRESS_IXSCAN", `{day: "today"}`: "SHARD_MERGE", `{_id: 5}`: "SHARD_MERGE"} {
		r := c.ok(`{explain: {find: "c", filter: ` + filter + `}, verbosity: "queryPlanner"}`)
		if got := at(r, "queryPlanner.winningPlan").String(); !strings.Contains(got, want) {
			t.Errorf("%s: %s", filter, got)
		}
	}
	if n := number(c.ok(`{count: "c", query: {day: "today"}}`).Get("n")); n != 800 {
		t.Errorf("%d documents of the day", n)
	}
}

// GetRequestReport distinguishes statements that fan out to the buckets of one shard key value from statements that
// do not use the key.
func TestSuffixReport(t *testing.T) {
	c := newWorld(t, nil).dial()
	trips(c, 8)
	c.ok(`{find: "c", filter: {day: "d1"}}`)
	c.ok(`{find: "c", filter: {vin: "v1"}}`)
	c.ok(`{find: "c", filter: {day: "d1", vin: "v1"}}`)
	list, _ := c.ok(`{customAction: "GetRequestReport", collection: "c"}`).Get("requests").Array()
	told := 0
	for v := range list.Values() {
		shape, _ := v.Doc()
		want, known := map[string]string{`{day: ?}`: "with vin in the filter one partition would suffice", `{vin: ?}`: "does not specify the shard key field day. ", `{day: ?, vin: ?}`: "[]"}[text(shape.Get("filter"))]
		if got := shape.Get("warnings").String(); known && !strings.Contains(got, want) {
			t.Errorf("%v: %s", shape.Get("filter"), got)
		}
		if known {
			told++
		}
	}
	if told != 3 {
		t.Errorf("%d of 3 shapes: %s", told, list)
	}
}

// Events of change streams identify a document by its shard key, the field of the suffix, and _id, each once. If an
// update keeps the document in its bucket, the event is an update; if it changes the bucket, the document moves, which
// is a delete and an insert.
// Manual: core/sharding-change-shard-key-value, reference/change-events
func TestSuffixEvents(t *testing.T) {
	for key, want := range map[string]string{
		`key: {day: "hashed"}, suffix: {from: "vin", buckets: 4}`:              `{"day":"d","vin":"v","_id":1}`,
		`key: {day: "hashed"}, suffix: {random: true, buckets: 4}`:             `{"day":"d","_id":1}`,
		`key: {t: "hashed", day: "hashed"}, suffix: {from: "a.b", buckets: 4}`: `{"t":null,"day":"d","a.b":null,"_id":1}`,
		`key: {_id: 1, day: 1}`: `{"_id":1,"day":"d"}`,
		`key: {_id: "hashed"}`:  `{"_id":1}`,
		`key: {day: 1}`:         `{"day":"d","_id":1}`,
	} {
		c := newWorld(t, nil).dial()
		c.ok(`{shardCollection: "test.c", ` + key + `}`)
		stream := number(at(c.ok(`{aggregate: "c", pipeline: [{$changeStream: {}}], cursor: {batchSize: 0}}`), "cursor.id"))
		c.ok(`{insert: "c", documents: [{_id: 1, day: "d", vin: "v"}]}`)
		c.ok(`{update: "c", updates: [{q: {_id: 1}, u: {$set: {n: 1}}}]}`)
		c.ok(`{delete: "c", deletes: [{q: {_id: 1}, limit: 1}]}`)
		var kinds []string
		for _, e := range events(c, stream, 3) {
			kinds = append(kinds, text(e.Get("operationType")))
			if got, _ := e.Get("documentKey").Doc(); ejson.String(got) != want {
				t.Errorf("%s, %s: %s, want %s", key, kinds[len(kinds)-1], got, want)
			}
		}
		if strings.Join(kinds, " ") != "insert update delete" {
			t.Errorf("%s: %v", key, kinds)
		}
	}

	c := newWorld(t, nil).dial()
	c.ok(`{shardCollection: "test.c", key: {day: "hashed"}, suffix: {from: "vin", buckets: 2}, numInitialChunks: 2}`)
	stream := number(at(c.ok(`{aggregate: "c", pipeline: [{$changeStream: {}}], cursor: {batchSize: 0}}`), "cursor.id"))
	c.ok(`{insert: "c", documents: [{_id: 1, day: "d", vin: 0}]}`)
	for n := 1; n <= 20; n++ {
		c.ok(fmt.Sprintf(`{update: "c", updates: [{q: {day: "d", vin: %d}, u: {$set: {vin: %d}}}]}`, n-1, n))
	}
	met := map[string]int{}
	seen := 0
	for _, e := range events(c, stream, 22) { // including at least one move
		met[text(e.Get("operationType"))]++
		seen++
	}
	if met["update"] == 0 || met["delete"] == 0 || met["insert"] != met["delete"]+1 && met["insert"] != met["delete"] {
		t.Errorf("of %d events: %v", seen, met)
	}
	if n := number(c.ok(`{count: "c", query: {day: "d", vin: 20}}`).Get("n")); n != 1 {
		t.Errorf("%d documents after all", n)
	}
}

// events reads n events of a stream.
func events(c *client, stream int64, n int) (out []bson.Raw) {
	c.w.t.Helper()
	for range 100 {
		list, _ := at(c.ok(fmt.Sprintf(`{getMore: NumberLong("%d"), collection: "c", maxTimeMS: 100}`, stream)), "cursor.nextBatch").Array()
		for v := range list.Values() {
			d, _ := v.Doc()
			out = append(out, d.Clone())
		}
		if len(out) >= n {
			return out[:n]
		}
	}
	c.w.t.Fatalf("%d of %d events", len(out), n)
	return nil
}

// Under the rules of Azure Cosmos DB, the field of the suffix belongs to the shard key: a document must have it, a
// write of a single document must fix it, and it cannot be changed so that the document moves to another partition.
// Source: Azure Cosmos DB, "partitioning-overview", "synthetic-partition-keys"
func TestSuffixStrict(t *testing.T) {
	w := newWorld(t, nil)
	c, relaxed := w.dialAs("cosmos"), w.dial()
	c.ok(`{customAction: "CreateCollection", collection: "c", shardKey: "day", suffix: {from: "vin", buckets: 2}, offerThroughput: 20000}`)
	refused := func(command string, code int64, message string) {
		t.Helper()
		r := c.run(command)
		if e := at(r, "writeErrors.0"); !e.IsMissing() {
			r, _ = e.Doc()
		}
		if number(r.Get("code")) != code || !strings.Contains(text(r.Get("errmsg")), message) {
			t.Errorf("%s: %v", command, r)
		}
	}
	refused(`{insert: "c", documents: [{_id: 1, day: "d"}]}`, 61, "does not contain shard key at 'vin'")
	refused(`{insert: "c", documents: [{_id: 1, vin: "d"}]}`, 61, "does not contain shard key at 'day'")
	refused(`{insert: "c", documents: [{_id: 1, day: "d", vin: [1]}]}`, 61, "")
	c.ok(`{insert: "c", documents: [{_id: 1, day: "d", vin: 0}]}`)
	refused(`{update: "c", updates: [{q: {_id: 1}, u: {$set: {x: 1}}}]}`, 61, "must target a single shard key")
	refused(`{update: "c", updates: [{q: {_id: 1, day: "d"}, u: {$set: {x: 1}}}]}`, 61, `add the shard key { day: "hashed", vin: { buckets: 2 } } of test.c`)
	refused(`{delete: "c", deletes: [{q: {day: "d"}, limit: 1}]}`, 61, "must target a single shard key")
	refused(`{update: "c", updates: [{q: {day: "d", vin: 0}, u: {$set: {day: "e"}}}]}`, 66, "'day'")
	moves, stays := 0, 0
	for n := 1; n < 20; n++ {
		r := c.run(fmt.Sprintf(`{update: "c", updates: [{q: {day: "d", vin: 0}, u: {$set: {vin: %d}}}]}`, n))
		if number(at(r, "writeErrors.0.code")) == 66 && strings.Contains(text(at(r, "writeErrors.0.errmsg")), "'vin'") {
			moves++
			continue
		}
		if stays++; number(r.Get("n")) != 1 {
			t.Fatalf("to %d: %v", n, r)
		}
		relaxed.ok(`{update: "c", updates: [{q: {_id: 1}, u: {$set: {vin: 0}}}]}`)
	}
	if moves == 0 || stays == 0 {
		t.Errorf("%d changes were refused and %d not", moves, stays)
	}
	c.ok(`{customAction: "CreateCollection", collection: "r", shardKey: "day", suffix: {random: true, buckets: 8}, offerThroughput: 20000}`)
	c.ok(`{insert: "r", documents: [{_id: 1, day: "d"}]}`)
	refused(`{update: "r", updates: [{q: {day: "d"}, u: {$set: {x: 1}}}]}`, 61, "must target a single shard key")
	if r := c.ok(`{update: "r", updates: [{q: {day: "d", _id: 1}, u: {$set: {x: 1}}}]}`); number(r.Get("nModified")) != 1 {
		t.Error(r)
	}
	if r := c.ok(`{shardCollection: "test.s", key: {day: "hashed"}, suffix: {random: true, buckets: 8}}`); text(r.Get("collectionsharded")) != "test.s" {
		t.Error(r)
	}
}

// The limit of a logical partition applies to each bucket.
func TestSuffixLogicalPartitionLimit(t *testing.T) {
	w, _ := clockWorld(t, nil)
	c := w.dial()
	b, log := w.withBalancer(balance.Policy{LogicalBytes: 64 * kb})
	c.ok(`{customAction: "CreateCollection", collection: "c", shardKey: "day", suffix: {from: "vin", buckets: 4}, offerThroughput: 10000}`)
	one := func(i int, vin int) bson.Raw {
		r := c.run(fmt.Sprintf(`{insert: "c", documents: [%s]}`, sized(t, kb, fmt.Sprintf(`day: 1, vin: %d, _id: "%d"`, vin, i))))
		b.Pass(t.Context())
		return r
	}
	n := 0
	for ; n < 100; n++ { // to all buckets: more than one bucket may hold
		if r := one(n, n); number(r.Get("n")) != 1 {
			t.Fatalf("document %d: %v", n, r)
		}
	}
	for ; n < 200; n++ { // all into one bucket
		r := one(n, 5)
		if v := at(r, "writeErrors.0.code"); !v.IsMissing() {
			if message := text(at(r, "writeErrors.0.errmsg")); number(v) != 1014 || !strings.Contains(message, "{ day: 1, vin: { bucket: ") {
				t.Errorf("document %d: %v", n, r)
			}
			break
		}
	}
	if n < 120 || n > 160 {
		t.Errorf("refused at document %d", n)
	}
	if !strings.Contains(log.String(), `{\"day\":1,\"vin\":{\"bucket\":`) {
		t.Errorf("warnings: %s", log)
	}
	r := c.ok(`{customAction: "GetPartitions", collection: "c"}`)
	if at(r, "largestValues.0.key.vin.bucket").IsMissing() || number(at(r, "largestValues.0.percentOfLimit")) < 90 {
		t.Errorf("largest: %v", r.Get("largestValues"))
	}
}

// If all writes have one date, the partition of this date refuses at least a third of them. If the key has a suffix,
// the same writes are spread over all partitions and within their budget.
func TestSuffixSpreadsRequestUnits(t *testing.T) {
	refused := func(suffix string) (n int64) {
		w, clock := clockWorld(t, nil)
		c := w.dial()
		c.ok(`{customAction: "CreateCollection", collection: "c", shardKey: "day", offerThroughput: 24000` + suffix + `}`)
		for second := range 3 {
			var docs []string
			for i := range 2000 {
				docs = append(docs, fmt.Sprintf(`{_id: %d, day: "2026-11-22", vin: "v%d"}`, second*2000+i, i))
			}
			r := c.run(`{insert: "c", documents: [` + strings.Join(docs, ", ") + `], ordered: false}`)
			clock.Advance(time.Second)
			n += 2000 - number(r.Get("n"))
		}
		list, _ := c.ok(`{customAction: "GetPartitions", collection: "c"}`).Get("partitions").Array()
		var throttled int64
		for v := range list.Values() {
			p, _ := v.Doc()
			throttled += number(p.Get("throttled"))
		}
		if (throttled > 0) != (n > 0) {
			t.Errorf("%d documents refused, %d counted", n, throttled)
		}
		return n
	}
	if hot := refused(""); hot < 2000 {
		t.Errorf("one partition took all but %d of 6000 documents", hot)
	}
	for _, suffix := range []string{`, suffix: {from: "vin", buckets: 400}`, `, suffix: {random: true, buckets: 400}`} {
		if n := refused(suffix); n > 0 {
			t.Errorf("%s: %d documents were refused", suffix, n)
		}
	}
}

// Documents of a collection with a suffix are found by their day and vin after splits, and again by a new server over
// the same store.
func TestSuffixRestart(t *testing.T) {
	store := memkv.Open(memkv.Options{})
	defer store.Close()
	w := newWorld(t, store)
	c := w.dial()
	trips(c, 2)
	for range 2 {
		for _, at := range []string{"-5000000000000000000", "5000000000000000000"} {
			c.run(`{split: "test.c", middle: {day: NumberLong("` + at + `")}, $db: "admin"}`)
		}
		if n := number(c.ok(`{count: "chunks", $db: "config"}`).Get("n")); n != 4 {
			t.Errorf("%d partitions", n)
		}
		for i := range 100 {
			if n := number(c.ok(fmt.Sprintf(`{count: "c", query: {day: "d%d", vin: "v%d"}}`, i%2, i)).Get("n")); n != 1 {
				t.Fatalf("document %d: found %d times", i, n)
			}
		}
		if n := number(c.ok(`{count: "c", query: {day: "d1"}}`).Get("n")); n != 50 {
			t.Errorf("%d documents of a day", n)
		}
		if r := c.ok(`{validate: "c"}`); !r.Get("valid").Truthy() {
			t.Error(r)
		}
		if got := at(c.ok(`{find: "collections", $db: "config"}`), "cursor.firstBatch.0.key"); got.String() != `{ day: "hashed", vin: { buckets: 4 } }` {
			t.Error(got)
		}
		c = newWorld(t, store).dial()
	}
}
