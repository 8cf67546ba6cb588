package rooms

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/shard/balance"
	"github.com/cantledb/cantle/shard/tally"
)

// withBalancer adds to a test server a balancer that runs only when the test calls it, and returns the balancer and
// its log.
func (w *world) withBalancer(p balance.Policy) (*balance.Balancer, *bytes.Buffer) {
	var log bytes.Buffer
	cl := w.Cluster
	b := balance.New(balance.Config{Catalog: w.Jobs.Catalog, Tally: w.Jobs.Tally, Budgets: cl.Budgets, Runner: w.Jobs, Now: cl.Now, Policy: p, Every: time.Hour, Log: zerolog.New(&log)})
	cl.LogicalKeyBytes, w.DDL.Limits.ShardRU = p.LogicalBytes, p.ShardRU
	w.DDL.Busy = b.Busy
	return b, &log
}

// insertInto inserts documents of 1 KB with the shard key value k, until one is refused or a maximum number is
// inserted. It returns the number of inserted documents, and the code and text of the error.
func (c *client) insertInto(coll string, k, most int) (n int, code int64, message string) {
	for ; n < most; n++ {
		r := c.run(fmt.Sprintf(`{insert: "%s", documents: [%s]}`, coll, sized(c.w.t, kb, fmt.Sprintf(`k: %d, _id: "%d-%d"`, k, k, n))))
		if v := at(r, "writeErrors.0.code"); !v.IsMissing() {
			return n, number(v), text(at(r, "writeErrors.0.errmsg"))
		}
	}
	return n, 0, ""
}

// The documents of one shard key value have a limit on their size, if the collection has provisioned throughput: at
// 80 % of it there is a warning, and at the limit an error that names the value. Deleting documents makes room;
// other values are not affected. Source: Azure Cosmos DB, "concepts-limits" (logical partition).
func TestLogicalPartitionLimit(t *testing.T) {
	w, clock := clockWorld(t, nil)
	c := w.dial()
	b, log := w.withBalancer(balance.Policy{LogicalBytes: 64 * kb})
	c.ok(`{customAction: "CreateCollection", collection: "c", shardKey: "k", offerThroughput: 10000}`)
	for i := range 40 {
		c.ok(fmt.Sprintf(`{insert: "c", documents: [%s]}`, sized(t, kb, fmt.Sprintf(`k: 1, _id: "1-%d"`, i))))
		clock.Advance(10 * time.Millisecond)
		b.Pass(t.Context())
	}
	if strings.Contains(log.String(), "80%") {
		t.Fatalf("warned too early: %s", log)
	}
	r := c.ok(`{customAction: "GetPartitions", collection: "c"}`)
	if number(at(r, "largestValues.0.percentOfLimit")) != 62 || number(at(r, "largestValues.0.key.k")) != 1 {
		t.Errorf("at 40 of 64: %v", r.Get("largestValues"))
	}
	for i := 40; i < 55; i++ {
		c.ok(fmt.Sprintf(`{insert: "c", documents: [%s]}`, sized(t, kb, fmt.Sprintf(`k: 1, _id: "1-%d"`, i))))
	}
	b.Pass(t.Context())
	b.Pass(t.Context())
	if n := strings.Count(log.String(), "80%"); n != 1 || !strings.Contains(log.String(), `{\"k\":1}`) {
		t.Errorf("%d warnings: %s", n, log)
	}
	if r = c.ok(`{customAction: "GetPartitions", collection: "c"}`); !strings.Contains(r.Get("warnings").String(), "85%") {
		t.Errorf("warnings: %v", r.Get("warnings"))
	}
	w.RequireAuth = true
	keeper := w.dialWith(t, []string{"test.: collStats"}) // may not read documents
	r = keeper.ok(`{customAction: "GetPartitions", collection: "c"}`)
	if v := at(r, "largestValues.0.key"); !v.IsMissing() || number(at(r, "largestValues.0.percentOfLimit")) != 85 {
		t.Errorf("largest to others: %v", r.Get("largestValues"))
	}
	if s := r.Get("warnings").String(); !strings.Contains(s, "a shard key value of partition ") || !strings.Contains(s, "uses 85%") {
		t.Errorf("warnings to others: %s", s)
	}
	w.RequireAuth = false
	n := 55
	var code int64
	var message string
	for ; n < 70 && code == 0; n++ {
		r := c.run(fmt.Sprintf(`{insert: "c", documents: [%s]}`, sized(t, kb, fmt.Sprintf(`k: 1, _id: "1-%d"`, n))))
		code, message = number(at(r, "writeErrors.0.code")), text(at(r, "writeErrors.0.errmsg"))
	}
	if n != 65 || code != 1014 || !strings.HasPrefix(message, `Partition key reached maximum size of 65536 bytes: { k: 1 } of test.c.`) {
		t.Errorf("document %d: code %d, %s", n, code, message)
	}
	if r := c.run(`{update: "c", updates: [{q: {_id: "1-3", k: 1}, u: {$set: {more: "` + strings.Repeat("x", 500) + `"}}}]}`); number(at(r, "writeErrors.0.code")) != 1014 {
		t.Errorf("an update that grows: %v", r)
	}
	c.ok(`{insert: "c", documents: [{k: 2}]}`)
	c.ok(`{delete: "c", deletes: [{q: {_id: "1-3", k: 1}, limit: 1}]}`)
	if r := c.ok(fmt.Sprintf(`{insert: "c", documents: [%s]}`, sized(t, kb, `k: 1, _id: "again"`))); number(r.Get("n")) != 1 {
		t.Errorf("after a delete: %v", r)
	}
	c.ok(`{shardCollection: "test.free", key: {k: "hashed"}, $db: "admin"}`)
	if n, code, _ := c.insertInto("free", 1, 100); n != 100 {
		t.Errorf("without throughput: %d, code %d", n, code)
	}
}

// A collection without a shard key is one logical partition, so the limit of a shard key value applies to the whole
// collection.
func TestFixedCollectionLimit(t *testing.T) {
	w, clock := clockWorld(t, nil)
	c := w.dial()
	b, log := w.withBalancer(balance.Policy{LogicalBytes: 32 * kb})
	c.ok(`{customAction: "CreateCollection", collection: "c", offerThroughput: 10000}`)
	n, code, message := c.insertInto("c", 1, 100)
	clock.Advance(time.Second)
	if n != 32 || code != 1014 || !strings.Contains(message, "test.c has reached its maximum size") {
		t.Errorf("%d documents, then code %d: %s", n, code, message)
	}
	b.Pass(t.Context())
	b.Pass(t.Context())
	if n := strings.Count(log.String(), "80%"); n != 1 {
		t.Errorf("%d warnings: %s", n, log)
	}
	if r := c.ok(`{customAction: "GetPartitions", collection: "c"}`); number(r.Get("percentOfLimit")) != 100 {
		t.Errorf("%v", r)
	}
	if code := c.code(`{customAction: "UpdateCollection", collection: "c", offerThroughput: 10100}`); code != 2 {
		t.Errorf("more than one partition carries: code %d", code)
	}
}

// Collections that share the throughput of their database have the limit of a shard key value only if they have a shard
// key, and capped collections never have it. GetPartitions reports the limit only where writes are refused.
func TestSharedThroughputLimit(t *testing.T) {
	w, clock := clockWorld(t, nil)
	c := w.dial()
	b, log := w.withBalancer(balance.Policy{LogicalBytes: 32 * kb})
	c.ok(`{customAction: "CreateDatabase", offerThroughput: 10000}`)
	c.ok(`{customAction: "CreateCollection", collection: "plain"}`)
	c.ok(`{customAction: "CreateCollection", collection: "sharded", shardKey: "k"}`)
	c.ok(`{create: "ring", capped: true, size: 1048576}`)
	c.ok(`{customAction: "UpdateCollection", collection: "ring", offerThroughput: 10000}`)
	for _, test := range []struct {
		coll     string
		inserted int
		reported bool
	}{{"plain", 40, false}, {"ring", 40, false}, {"sharded", 32, true}} {
		inserted := 0
		for i := range 40 {
			r := c.ok(fmt.Sprintf(`{insert: "%s", documents: [%s]}`, test.coll, sized(t, kb, fmt.Sprintf(`k: 1, _id: %d`, i))))
			inserted += int(number(r.Get("n")))
			clock.Advance(10 * time.Millisecond)
			b.Pass(t.Context())
		}
		r := c.ok(fmt.Sprintf(`{customAction: "GetPartitions", collection: "%s"}`, test.coll))
		if inserted != test.inserted || strings.Contains(log.String(), "test."+test.coll+`"`) != test.reported {
			t.Errorf("%s: %d inserted, log: %s", test.coll, inserted, log)
		}
		for _, field := range []string{"logicalPartitionLimit", "warnings.0"} {
			if at(r, field).IsMissing() == test.reported {
				t.Errorf("%s: %s in %v", test.coll, field, r)
			}
		}
		if !r.Get("percentOfLimit").IsMissing() {
			t.Errorf("%s: percentOfLimit in %v", test.coll, r)
		}
	}
}

// If the set throughput is more than the present partitions can serve, it becomes usable as they split; until then
// the next change is refused. A lower throughput takes effect at once. Source: Azure Cosmos DB,
// "scaling-provisioned-throughput-best-practices".
func TestScaling(t *testing.T) {
	w, clock := clockWorld(t, nil)
	c := w.dial()
	w.Jobs.Pools.ShardMax = 10_000
	b, _ := w.withBalancer(balance.Policy{ShardRU: 10_000})
	wake := func() { b.Wake(collection.Namespace{DB: "test", Coll: "c"}) }
	w.DDL.Changed = func(collection.Namespace) { wake() }
	c.ok(`{customAction: "CreateCollection", collection: "c", shardKey: "k", offerThroughput: 9000}`)
	share := func() (sum int64) {
		coll := w.Cluster.Catalog().Collections("test")[0]
		for _, s := range w.Cluster.Budgets.Collection(uint64(coll.ID)).Shares() {
			sum += s.RUs
		}
		return sum
	}
	c.ok(`{customAction: "UpdateCollection", collection: "c", offerThroughput: 10000}`)
	if share() != 10_000 {
		t.Errorf("%d RU/s at once, want 10000", share())
	}
	b.Pass(t.Context())
	c.ok(`{customAction: "UpdateCollection", collection: "c", offerThroughput: 35000}`)
	r := c.ok(`{customAction: "GetCollection", collection: "c"}`)
	if share() != 10_000 || number(at(r, "scaling.partitions")) != 1 || number(at(r, "scaling.needed")) != 4 || number(r.Get("provisionedThroughput")) != 35000 {
		t.Errorf("%d RU/s before the splits: %v", share(), r)
	}
	r = c.run(`{customAction: "UpdateCollection", collection: "c", offerThroughput: 12000}`)
	if number(r.Get("code")) != 117 || !strings.Contains(text(r.Get("errmsg")), "another scaling operation is in progress") {
		t.Errorf("a change during another: %v", r)
	}
	b.Pass(t.Context())
	if r = c.ok(`{customAction: "GetCollection", collection: "c"}`); share() != 35_000 || !r.Get("scaling").IsMissing() {
		t.Errorf("%d RU/s after the splits: %v", share(), r)
	}
	clock.Advance(time.Second)
	c.ok(`{customAction: "UpdateCollection", collection: "c", offerThroughput: 400}`)
	if share() > 400 || w.Cluster.Catalog().Collections("test")[0].Map.Len() != 4 {
		t.Errorf("%d RU/s after lowering them; partitions stay until they are merged", share())
	}
}

// A serverless collection of one partition has fixed limits, 5,000 RU/s and 1 TB, and is not created with an amount of
// its own. Source: Azure Cosmos DB, "serverless-performance".
func TestServerless(t *testing.T) {
	w, clock := clockWorld(t, nil)
	c := w.dial()
	c.ok(`{customAction: "CreateCollection", collection: "c", shardKey: "k", serverless: true}`)
	if r := c.ok(`{customAction: "GetCollection", collection: "c"}`); !r.Get("serverless").Truthy() || !r.Get("provisionedThroughput").IsMissing() {
		t.Errorf("%v", r)
	}
	if n := c.throttled("c", "", 1200); n < 200 || n > 400 { // 5.8 RU each
		t.Errorf("%d of 1200 inserts were refused", n)
	}
	clock.Advance(time.Second)
	coll := w.Cluster.Catalog().Collections("test")[0]
	size := w.Cluster.Counts(coll.ID).Shard(coll.Map.Shards()[0].ID)
	size.Add(0, tally.Count{Bytes: 1<<40 - 5*kb - size.Get().Bytes})
	if n, code, message := c.insertInto("c", 1, 10); n != 5 || code != 1014 || !strings.Contains(message, "maximum size of 1024 GB") {
		t.Errorf("near 1 TB: %d documents, then code %d: %s", n, code, message)
	}
	c.ok(`{delete: "c", deletes: [{q: {_id: "1-0", k: 1}, limit: 1}]}`)
	if n, _, _ := c.insertInto("c", 2, 1); n != 1 {
		t.Error("deleting made no room")
	}
	if code := c.code(`{customAction: "CreateCollection", collection: "d", serverless: true, offerThroughput: 400}`); code != 2 {
		t.Errorf("with an amount: code %d", code)
	}
}

// The autoscale maximum of a collection or database grows with its data, so that a tenth of its RU/s, read as GB, holds
// the data. Source: Azure Cosmos DB, "concepts-limits" (autoscale storage).
func TestAutoscaleForStorage(t *testing.T) {
	w, _ := clockWorld(t, nil)
	c := w.dial()
	b, _ := w.withBalancer(balance.Policy{})
	c.ok(`{customAction: "CreateCollection", collection: "c", shardKey: "k", autoScaleSettings: {maxThroughput: 1000}}`)
	c.ok(`{customAction: "CreateDatabase", $db: "pool", autoScaleSettings: {maxThroughput: 2000}}`)
	c.ok(`{customAction: "CreateCollection", $db: "pool", collection: "c", shardKey: "k"}`)
	for _, coll := range w.Cluster.Catalog().Collections("") {
		w.Cluster.Counts(coll.ID).Shard(coll.Map.Shards()[0].ID).Add(0, tally.Count{Docs: 1, Bytes: 100 << 30})
	}
	b.Pass(t.Context())
	most := func(command string) int64 { return number(at(c.ok(command), "autoScaleSettings.maxThroughput")) }
	coll, db := `{customAction: "GetCollection", collection: "c"}`, `{customAction: "GetDatabase", $db: "pool"}`
	if most(coll) != 1000 || most(db) != 2000 {
		t.Errorf("at 100 GB: %d, %d", most(coll), most(db))
	}
	for _, coll := range w.Cluster.Catalog().Collections("") {
		w.Cluster.Counts(coll.ID).Shard(coll.Map.Shards()[0].ID).Add(0, tally.Count{Bytes: 150 << 30})
	}
	b.Pass(t.Context())
	if most(coll) != 3000 || most(db) != 3000 {
		t.Errorf("at 250 GB: %d, %d, want 3000 each", most(coll), most(db))
	}
	if code := c.code(`{customAction: "UpdateCollection", collection: "c", autoScaleSettings: {maxThroughput: 2000}}`); code != 2 {
		t.Errorf("lower than the data allow: code %d", code)
	}
}
