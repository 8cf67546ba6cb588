package rooms

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/memkv"
	"github.com/cantledb/cantle/wire/command"
)

// clockWorld returns a world whose clock only the test advances.
func clockWorld(t *testing.T, store storage.Store) (*world, *ratelimit.VirtualClock) {
	clock := ratelimit.NewVirtualClock(time.Unix(1_800_000_000, 0))
	return newWorldAt(t, store, clock.Now, &ratelimit.Budgets{Clock: clock}), clock
}

// throttled inserts n documents of 1 KB, one by one, and returns how many are refused for lack of throughput. extra
// is further fields of the command.
func (c *client) throttled(coll, extra string, n int) (refused int) {
	for range n {
		r := c.run(fmt.Sprintf(`{insert: "%s", documents: [{k: 1, pad: "%s"}]%s}`, coll, strings.Repeat("x", 900), extra))
		if v := r.Get("code"); !v.IsMissing() {
			if number(v) != ratelimit.CodeThrottled || !strings.Contains(r.String(), "SystemOverloadedError") {
				c.w.t.Fatalf("%v", r)
			}
			refused++
		}
	}
	return refused
}

// With burst capacity, the units that an idle collection did not use can be used in a later second.
func TestBurstSwitch(t *testing.T) {
	w, clock := clockWorld(t, nil)
	c := w.dial()
	for name, extra := range map[string]string{"plain": "", "burst": ", burst: true"} {
		c.ok(fmt.Sprintf(`{customAction: "CreateCollection", collection: "%s", shardKey: "k", offerThroughput: 400%s}`, name, extra))
	}
	clock.Advance(300 * time.Second)
	plain, burst := c.throttled("plain", "", 300), c.throttled("burst", "", 300)
	if plain < 200 || burst != 0 {
		t.Errorf("of 300 inserts %d were refused without and %d with burst capacity", plain, burst)
	}
}

// A request belongs to a throughput bucket by its comment or by its client's appName. The bucket limits the RU/s of
// its requests; other requests are not affected.
func TestThroughputBuckets(t *testing.T) {
	w, _ := clockWorld(t, nil)
	c := w.dial()
	c.ok(`{customAction: "CreateCollection", collection: "c", shardKey: "k", offerThroughput: 1000, throughputBuckets: [
		{id: 1, maxThroughputPercentage: 10}, {id: 2, maxThroughputPercentage: 10, appName: "reports"}]}`)
	if n := c.throttled("c", `, comment: {bucket: 1}`, 60); n < 30 {
		t.Errorf("a bucket of 100 RU/s let %d of 60 inserts through", 60-n)
	}
	reports := w.dial()
	reports.ok(`{hello: 1, client: {application: {name: "reports"}, driver: {name: "x", version: "1"}, os: {type: "x"}}}`)
	if n := reports.throttled("c", "", 60); n < 30 {
		t.Errorf("the bucket of an appName let %d of 60 inserts through", 60-n)
	}
	if n := c.throttled("c", "", 60); n != 0 {
		t.Errorf("%d inserts outside of the buckets were refused", n)
	}
	r := c.ok(`{customAction: "GetCollection", collection: "c"}`)
	if s, _ := at(r, "throughputBuckets.1.appName").Str(); s != "reports" {
		t.Errorf("GetCollection: %v", r)
	}
	c.ok(`{customAction: "UpdateCollection", collection: "c", throughputBuckets: []}`)
	if r = c.ok(`{customAction: "GetCollection", collection: "c"}`); !r.Get("throughputBuckets").IsMissing() {
		t.Errorf("buckets are still there: %v", r)
	}
}

// Requests to which their comment gives a low priority leave the last fifth of each second's budget to requests of high
// priority.
func TestPriority(t *testing.T) {
	w, _ := clockWorld(t, nil)
	c := w.dial()
	c.ok(`{customAction: "CreateCollection", collection: "c", shardKey: "k", offerThroughput: 1000}`)
	if n := c.throttled("c", "", 130); n != 0 { // 700 of 1000 RU
		t.Fatalf("%d refused", n)
	}
	if n := c.throttled("c", `, comment: {priority: "low"}`, 40); n < 10 {
		t.Errorf("low priority: %d of 40 refused", n)
	}
	if n := c.throttled("c", "", 10); n != 0 {
		t.Errorf("high priority: %d of 10 refused", n)
	}
	if n := c.code(`{find: "c", comment: {priority: 5, bucket: "seven"}}`); n != 0 {
		t.Errorf("a comment of another meaning: code %d", n)
	}
}

// With server-side retry, a throttled request waits instead of being refused, and the statistics, the profiler and
// explain show the wait.
func TestServerSideRetry(t *testing.T) {
	w, clock := clockWorld(t, nil)
	c := w.dial()
	c.ok(`{customAction: "CreateCollection", collection: "c", shardKey: "k", offerThroughput: 400}`)
	c.ok(`{customAction: "UpdateCollection", collection: "c", serverSideRetry: true}`)
	start := clock.Now()
	if n := c.throttled("c", "", 400); n != 0 { // some 2400 RU
		t.Errorf("%d inserts were refused", n)
	}
	if took := clock.Now().Sub(start); took < 4*time.Second || took > 8*time.Second {
		t.Errorf("took %v", took)
	}
	c.ok(`{profile: 2}`)
	retried := int64(0)
	for range 80 {
		c.ok(`{insert: "c", documents: [{k: 1}]}`)
		r := c.ok(`{getLastRequestStatistics: 1}`)
		ms := number(r.Get("EstimatedDelayFromRateLimitingInMilliseconds"))
		if r.Get("RetriedDueToRateLimiting").Truthy() != (ms > 0) || number(r.Get("RequestDurationInMilliSeconds")) < ms {
			t.Errorf("statistics: %v", r)
		}
		retried += ms
	}
	if retried == 0 {
		t.Error("the statistics show no wait")
	}
	c.ok(`{profile: 0}`)
	r := c.ok(`{find: "system.profile", filter: {estimatedDelayFromRateLimitingInMilliseconds: {$gt: 0}}}`)
	if ms, ok := at(r, "cursor.firstBatch.0.estimatedDelayFromRateLimitingInMilliseconds").Double(); !ok || ms > 1000 {
		t.Errorf("the profiler tells of no wait: %v", r)
	}
	strict := w.dialAs(command.TagCosmos)
	explain := `{explain: {find: "c", filter: {k: 1}}, verbosity: "executionStats"}`
	waits := 0.0
	for range 300 {
		ms, _ := strict.ok(explain).Get("estimatedDelayFromRateLimitingInMilliseconds").Double()
		waits += ms
	}
	if waits < 1000 {
		t.Errorf("300 explains waited %v ms", waits)
	}
	c.ok(`{customAction: "UpdateCollection", collection: "c", serverSideRetry: false}`)
	if n := c.throttled("c", "", 100); n == 0 {
		t.Error("nothing was refused after it was switched off")
	}
	if r := c.ok(`{customAction: "GetCollection", collection: "c"}`); at(r, "serverSideRetry").Truthy() {
		t.Errorf("GetCollection: %v", r)
	}
}

// Switches and redistributed shares survive a restart.
func TestThroughputRestart(t *testing.T) {
	store := memkv.Open(memkv.Options{})
	t.Cleanup(func() { store.Close() })
	w, _ := clockWorld(t, store)
	c := w.dial()
	c.ok(`{customAction: "CreateCollection", collection: "c", shardKey: "k", offerThroughput: 12000, serverSideRetry: true}`)
	c.ok(`{customAction: "RedistributeThroughput", collection: "c", targets: [{id: "1", throughput: 9000}], sources: ["0"]}`)
	shares := func(w *world) string {
		coll := w.Cluster.Catalog().Collections("test")[0]
		pool := w.Cluster.Budgets.Collection(uint64(coll.ID))
		return fmt.Sprint(pool.Shares(), pool.Options().ServerSideRetry)
	}
	before := shares(w)
	again, _ := clockWorld(t, store)
	if after := shares(again); after != before || before != "[{0 3000} {1 9000}] true" {
		t.Errorf("before %s, after the restart %s", before, after)
	}
	again.dial().ok(`{customAction: "UpdateCollection", collection: "c", offerThroughput: 12200}`)
	if got := shares(again); got != "[{0 6100} {1 6100}] true" {
		t.Errorf("after a new amount: %s", got)
	}
}

// customAction InjectThrottle refuses exactly the statements that its arguments select, and exists only with test
// commands.
func TestInjectThrottle(t *testing.T) {
	w, _ := clockWorld(t, nil)
	c := w.dial()
	c.ok(`{create: "c"}`)
	c.ok(`{customAction: "InjectThrottle", collection: "c", kind: "write", nth: 3, count: 2, retryAfterMs: 250}`)
	var got []int64
	for i := range 6 {
		r := c.run(fmt.Sprintf(`{insert: "c", documents: [{_id: %d}]}`, i))
		got = append(got, number(r.Get("code")))
		if c.code(`{find: "c"}`) != 0 {
			t.Error("a read was refused")
		}
	}
	if fmt.Sprint(got) != "[0 0 16500 16500 0 0]" {
		t.Errorf("codes %v", got)
	}
	c.ok(`{customAction: "InjectThrottle", kind: "read", nth: 1, count: -1, retryAfterMs: 250}`)
	r := c.run(`{find: "c"}`)
	if ms, _ := r.Get("retryAfterMs").TruncInt64(); ms != 250 || !strings.Contains(r.String(), "SystemOverloadedError") {
		t.Errorf("refused find: %v", r)
	}
	c.ok(`{customAction: "InjectThrottle", off: true}`)
	c.ok(`{find: "c"}`)
	w.TestCommands = false
	if n := c.code(`{customAction: "InjectThrottle", nth: 1}`); n != 59 {
		t.Errorf("without test commands: code %d", n)
	}
}

// customAction InjectThrottle refuses the writes that it selects even if server-side retry would make throttled writes
// wait.
func TestInjectThrottleWhereWritesWait(t *testing.T) {
	w, _ := clockWorld(t, nil)
	c := w.dial()
	c.ok(`{customAction: "CreateCollection", collection: "c", shardKey: "k", offerThroughput: 400, serverSideRetry: true}`)
	c.ok(`{customAction: "InjectThrottle", collection: "c", kind: "write", nth: 2, count: 1}`)
	var got []int64
	for i := range 3 {
		got = append(got, number(c.run(fmt.Sprintf(`{insert: "c", documents: [{_id: %d, k: 1}]}`, i)).Get("code")))
	}
	if fmt.Sprint(got) != "[0 16500 0]" {
		t.Errorf("codes %v", got)
	}
}

// Commands on the catalog, here create, are paid from a budget of their own; when it is used up, inserts still succeed.
// Source: Azure Cosmos DB, "concepts-limits" (metadata requests).
func TestMetadataBudget(t *testing.T) {
	w, clock := clockWorld(t, nil)
	c := w.dial()
	w.Cluster.Budgets.SetMetadataRate(clock.Now(), ratelimit.MetadataRate)
	refused := 0
	for i := range 300 {
		if c.code(fmt.Sprintf(`{create: "c%d"}`, i)) == ratelimit.CodeThrottled {
			refused++
		}
	}
	if refused != 60 {
		t.Errorf("%d of 300 were refused, want 60", refused)
	}
	c.ok(`{insert: "c1", documents: [{}]}`)
	clock.Advance(time.Second)
	c.ok(`{create: "late"}`)
}

// The reply to a throttled bulk write shows which documents were written and which were refused. Only a bulk write
// that wrote nothing fails as a whole, with the error labels on which drivers retry.
func TestThrottledBulk(t *testing.T) {
	w, _ := clockWorld(t, nil)
	c := w.dial()
	c.ok(`{create: "c"}`)
	bulk := func(ordered bool) bson.Raw {
		c.ok(`{delete: "c", deletes: [{q: {}, limit: 0}]}`)
		c.ok(`{customAction: "CreateCollection", collection: "t", offerThroughput: 400}`)
		c.ok(`{customAction: "InjectThrottle", collection: "t", kind: "write", nth: 3, count: 2}`)
		r := c.ok(fmt.Sprintf(`{insert: "t", documents: [{_id: 1}, {_id: 2}, {_id: 3}, {_id: 4}, {_id: 5}], ordered: %v}`, ordered))
		c.ok(`{customAction: "InjectThrottle", off: true}`)
		there := number(c.ok(`{count: "t", query: {_id: {$gt: 0}}}`).Get("n"))
		if there != number(r.Get("n")) || strings.Contains(r.String(), "SystemOverloadedError") {
			t.Errorf("ordered %v: %d documents are there: %v", ordered, there, r)
		}
		c.ok(`{drop: "t"}`)
		return r
	}
	if r := bulk(true); number(r.Get("n")) != 2 || number(at(r, "writeErrors.0.index")) != 2 || !at(r, "writeErrors.1").IsMissing() {
		t.Errorf("ordered: %v", r)
	}
	r := bulk(false)
	if number(r.Get("n")) != 3 || number(at(r, "writeErrors.0.index")) != 2 || number(at(r, "writeErrors.1.index")) != 3 || number(at(r, "writeErrors.1.code")) != ratelimit.CodeThrottled {
		t.Errorf("unordered: %v", r)
	}
	c.ok(`{customAction: "InjectThrottle", collection: "c", kind: "write", nth: 1, count: -1}`)
	for _, command := range []string{
		`{insert: "c", documents: [{_id: 1}, {_id: 2}]}`,
		`{insert: "c", documents: [{_id: 1}, {_id: 2}], ordered: false}`,
		`{update: "c", updates: [{q: {_id: 1}, u: {$set: {a: 1}}}]}`,
		`{delete: "c", deletes: [{q: {_id: 1}, limit: 1}]}`,
	} {
		if r := c.run(command); number(r.Get("code")) != ratelimit.CodeThrottled || !strings.Contains(r.Get("errorLabels").String(), "RetryableError") {
			t.Errorf("%s: %v", command, r)
		}
	}
	for _, ops := range []string{
		`{insert: 0, document: {_id: 1}}, {insert: 0, document: {_id: 2}}`,
		`{update: 0, filter: {_id: 1}, updateMods: {$set: {a: 1}}}, {insert: 0, document: {_id: 2}}`,
		`{delete: 0, filter: {_id: 1}}`,
	} {
		for _, ordered := range []bool{true, false} {
			r := c.run(fmt.Sprintf(`{bulkWrite: 1, $db: "admin", ordered: %v, nsInfo: [{ns: "test.c"}], ops: [%s]}`, ordered, ops))
			if number(r.Get("code")) != ratelimit.CodeThrottled || !strings.Contains(r.Get("errorLabels").String(), "RetryableError") {
				t.Errorf("bulkWrite of %s: %v", ops, r)
			}
		}
	}
	c.ok(`{customAction: "InjectThrottle", collection: "c", kind: "write", nth: 2, count: -1}`)
	r = c.ok(`{bulkWrite: 1, $db: "admin", ordered: false, nsInfo: [{ns: "test.c"}], ops: [{update: 0, filter: {_id: 1}, updateMods: {$set: {a: 1}}},
		{insert: 0, document: {_id: 2}}, {delete: 0, filter: {_id: 1}}]}`)
	if number(r.Get("nErrors")) != 2 || number(at(r, "cursor.firstBatch.1.code")) != ratelimit.CodeThrottled || strings.Contains(r.String(), "RetryableError") {
		t.Errorf("bulkWrite refused from its second operation on: %v", r)
	}
}

// At the Cosmos address, the error of a throttled request has the form of the service: no error labels, and the wait
// and the partition are no fields of their own; writes have it in writeErrors. Source: the replies quoted in
// MicrosoftDocs/azure-docs#69351.
func TestThrottledAsOnCosmos(t *testing.T) {
	w, _ := clockWorld(t, nil)
	c := w.dialAs(command.TagCosmos)
	c.ok(`{create: "c"}`)
	c.ok(`{customAction: "InjectThrottle", collection: "c", nth: 1, count: -1, retryAfterMs: 250}`)
	for _, command := range []string{`{find: "c"}`, `{aggregate: "c", pipeline: [{$match: {a: 1}}], cursor: {}}`, `{count: "c", query: {a: 1}}`,
		`{findAndModify: "c", query: {_id: 1}, update: {$set: {a: 1}}}`} {
		r := c.run(command)
		if number(r.Get("code")) != ratelimit.CodeThrottled || !strings.HasPrefix(text(r.Get("errmsg")), "Error=16500, RetryAfterMs=250, Details='") {
			t.Errorf("%s: %v", command, r)
		}
		for _, field := range []string{"errorLabels", "baseBackoffMS", "retryAfterMs", "partition"} {
			if !r.Get(field).IsMissing() {
				t.Errorf("%s has %s: %v", command, field, r)
			}
		}
	}
	for _, command := range []string{`{insert: "c", documents: [{_id: 1}]}`, `{update: "c", updates: [{q: {_id: 1}, u: {$set: {a: 1}}}]}`, `{delete: "c", deletes: [{q: {_id: 1}, limit: 1}]}`} {
		r := c.ok(command)
		if number(at(r, "writeErrors.0.code")) != ratelimit.CodeThrottled || !strings.Contains(text(at(r, "writeErrors.0.errmsg")), `{ "Errors": [ "Request rate is large.`) {
			t.Errorf("%s: %v", command, r)
		}
	}
}

// If the server charges strong reads, those with read concern majority or linearizable cost twice as much. Source: the
// price list, rule R11.
func TestStrongReads(t *testing.T) {
	w, _ := clockWorld(t, nil)
	c := w.dial()
	c.ok(`{insert: "c", documents: [{_id: 1}]}`)
	charge := func(level string) float64 {
		c.ok(fmt.Sprintf(`{find: "c", filter: {_id: 1}, readConcern: {level: "%s"}}`, level))
		ru, _ := c.ok(`{getLastRequestStatistics: 1}`).Get("RequestCharge").AsFloat()
		return ru
	}
	if ru := charge("majority"); ru != 1 {
		t.Errorf("not configured: %v RU", ru)
	}
	w.ChargeStrongReads = true
	for level, want := range map[string]float64{"local": 1, "majority": 2, "linearizable": 2} {
		if ru := charge(level); ru != want {
			t.Errorf("%s: %v RU, want %v", level, ru, want)
		}
	}
}

// MergePartitions joins neighbouring partitions with little load as far as their RU/s allow. With whatIf it returns
// the same result and changes nothing.
func TestMergePartitions(t *testing.T) {
	w, _ := clockWorld(t, nil)
	c := w.dial()
	c.ok(`{customAction: "CreateCollection", collection: "c", shardKey: "k", offerThroughput: 42000}`)
	for i := range 40 {
		c.ok(fmt.Sprintf(`{insert: "c", documents: [{_id: %d, k: %d}]}`, i, i))
	}
	partitions := func() int { return w.Cluster.Catalog().Collections("test")[0].Map.Len() }
	if n := partitions(); n != 7 {
		t.Fatalf("%d partitions", n)
	}
	whatIf := c.ok(`{customAction: "MergePartitions", collection: "c", whatIf: true}`)
	if partitions() != 7 {
		t.Fatal("whatIf changed something")
	}
	done := c.ok(`{customAction: "MergePartitions", collection: "c"}`)
	for _, field := range []string{"before", "after", "merges"} {
		if a, b := whatIf.Get(field).String(), done.Get(field).String(); a != b {
			t.Errorf("%s: whatIf says %s, the merge %s", field, a, b)
		}
	}
	if n := partitions(); n != 5 { // 42000 RU/s need five partitions
		t.Errorf("%d partitions after it", n)
	}
	c.ok(`{create: "plain"}`)
	if n := c.code(`{customAction: "MergePartitions", collection: "plain"}`); n != 2 {
		t.Errorf("merge of what has no shard key: code %d", n)
	}
	if n, _ := c.ok(`{count: "c", query: {k: {$gte: 0}}}`).Get("n").TruncInt64(); n != 40 {
		t.Errorf("%d documents after it", n)
	}
	for i := range 40 {
		if r := c.ok(fmt.Sprintf(`{find: "c", filter: {k: %d}}`, i)); at(r, "cursor.firstBatch.0").IsMissing() {
			t.Errorf("document %d is lost", i)
		}
	}
}

// While a change stream is throttled, it returns empty batches instead of failing, and it loses no events. Source:
// Azure Cosmos DB for MongoDB, "change-streams".
func TestThrottledChangeStream(t *testing.T) {
	w, clock := clockWorld(t, nil)
	c := w.dial()
	c.ok(`{customAction: "CreateCollection", collection: "c", shardKey: "k", offerThroughput: 400}`)
	r := c.ok(`{aggregate: "c", pipeline: [{$changeStream: {}}], cursor: {}}`)
	more := fmt.Sprintf(`{getMore: {$numberLong: "%d"}, collection: "c", maxTimeMS: 5}`, number(at(r, "cursor.id")))
	c.ok(`{insert: "c", documents: [{_id: 1, k: 1}]}`)
	if n := c.throttled("c", "", 100); n == 0 {
		t.Fatal("nothing was refused")
	}
	r = c.ok(more)
	if batch, _ := at(r, "cursor.nextBatch").Array(); batch.Len() != 0 || at(r, "cursor.postBatchResumeToken").IsMissing() {
		t.Errorf("while it is throttled: %v", r)
	}
	late := c.ok(`{aggregate: "c", pipeline: [{$changeStream: {}}], cursor: {}}`)
	if at(late, "cursor.postBatchResumeToken").IsMissing() || number(at(late, "cursor.id")) == 0 {
		t.Errorf("one opened while it is throttled: %v", late)
	}
	clock.Advance(3 * time.Second)
	r = c.ok(more)
	if id := number(at(r, "cursor.nextBatch.0.documentKey._id")); id != 1 {
		t.Errorf("afterwards: %v", r)
	}
	c.ok(`{insert: "c", documents: [{_id: 2, k: 1}]}`)
	late = c.ok(fmt.Sprintf(`{getMore: {$numberLong: "%d"}, collection: "c", maxTimeMS: 5}`, number(at(late, "cursor.id"))))
	if id := number(at(late, "cursor.nextBatch.0.documentKey._id")); id != 2 {
		t.Errorf("the late one afterwards: %v", late)
	}
	c.ok(`{customAction: "InjectThrottle", collection: "c", kind: "read", nth: 1}`)
	start := fmt.Sprintf(`{aggregate: "c", pipeline: [{$changeStream: {resumeAfter: %v}}], cursor: {}}`, at(r, "cursor.nextBatch.0._id"))
	if r = c.ok(start); !at(r, "cursor.firstBatch.0").IsMissing() {
		t.Errorf("the first page of a refused one: %v", r)
	}
	if r = c.ok(start); at(r, "cursor.firstBatch.0").IsMissing() {
		t.Errorf("the first page: %v", r)
	}
}

// A reply contains the charge of its command if the server parameter for it is set, if the comment of the command
// requests it, and always at the Cosmos address.
func TestReplyCharge(t *testing.T) {
	w, _ := clockWorld(t, nil)
	c := w.dial()
	c.ok(`{insert: "c", documents: [{_id: 1}]}`)
	charge := func(command string) bson.Value { return c.run(command).Get("requestCharge") }
	find, fail := `{find: "c", filter: {_id: 1}}`, `{insert: "c", documents: 5}`
	if v := charge(find); !v.IsMissing() {
		t.Errorf("not asked for: %v", v)
	}
	if v, _ := charge(`{find: "c", filter: {_id: 1}, comment: {requestCharge: true}}`).Double(); v != 1 {
		t.Errorf("a comment asks: %v", v)
	}
	c.ok(`{setParameter: 1, replyCharge: true, $db: "admin"}`)
	if v, _ := charge(find).Double(); v != 1 || charge(fail).IsMissing() {
		t.Errorf("switched on: %v, %v", v, charge(fail))
	}
	if r := c.ok(`{getParameter: 1, replyCharge: 1, $db: "admin"}`); !r.Get("replyCharge").Truthy() {
		t.Errorf("%v", r)
	}
	c.ok(`{setParameter: 1, replyCharge: false, $db: "admin"}`)
	if v := charge(find); !v.IsMissing() {
		t.Errorf("switched off: %v", v)
	}
	if r := w.dialAs(command.TagCosmos).ok(find); r.Get("requestCharge").IsMissing() {
		t.Errorf("on the Cosmos address: %v", r)
	}
}

// MigrateThroughput changes a collection or a database between manual throughput and autoscale, which an update of
// the throughput cannot do. Source: Azure Cosmos DB, "autoscale-faq".
func TestMigrateThroughput(t *testing.T) {
	w, _ := clockWorld(t, nil)
	c := w.dial()
	c.ok(`{customAction: "CreateCollection", collection: "c", shardKey: "k", offerThroughput: 4300}`)
	c.ok(`{customAction: "CreateDatabase", $db: "d", offerThroughput: 400}`)
	for _, x := range []struct{ command, shown string }{
		{`{customAction: "UpdateCollection", collection: "c", autoScaleSettings: {maxThroughput: 5000}}`, "2"},
		{`{customAction: "MigrateThroughput", collection: "c", throughputType: "autoscale"}`, "500 5000"},
		{`{customAction: "GetCollection", collection: "c"}`, "500 5000"},
		{`{customAction: "MigrateThroughput", collection: "c", throughputType: "autoscale"}`, "500 5000"},
		{`{customAction: "UpdateCollection", collection: "c", autoScaleSettings: {maxThroughput: 90000}}`, "0 0"},
		{`{customAction: "UpdateCollection", collection: "c", autoScaleSettings: {maxThroughput: 9000}}`, "0 0"},
		{`{customAction: "MigrateThroughput", collection: "c", throughputType: "manual"}`, "9000 0"},
		{`{customAction: "UpdateCollection", collection: "c", offerThroughput: 900}`, "0 0"},
		{`{customAction: "MigrateThroughput", collection: "c", throughputType: "autoscale"}`, "900 9000"}, // a tenth of the highest
		{`{customAction: "MigrateThroughput", $db: "d", throughputType: "autoscale"}`, "100 1000"},
		{`{customAction: "GetDatabase", $db: "d"}`, "100 1000"},
		{`{customAction: "MigrateThroughput", $db: "d", throughputType: "manual"}`, "1000 0"},
		{`{customAction: "MigrateThroughput", throughputType: "manual"}`, "2"}, // the database test has no throughput
		{`{customAction: "MigrateThroughput", collection: "none", throughputType: "manual"}`, "26"},
		{`{customAction: "MigrateThroughput", collection: "c", throughputType: "serverless"}`, "2"},
		{`{customAction: "MigrateThroughput", collection: "c"}`, "40414"},
	} {
		r := c.run(x.command)
		shown := fmt.Sprint(number(r.Get("provisionedThroughput")), " ", number(at(r, "autoScaleSettings.maxThroughput")))
		if !r.Get("ok").Truthy() {
			shown = fmt.Sprint(number(r.Get("code")))
		}
		if shown != x.shown {
			t.Errorf("%s: %s, want %s: %v", x.command, shown, x.shown, r)
		}
	}
}

// If the test of an application stops the server's clock (customAction Clock), the number of refused requests does not
// depend on their speed, and a second passes only when the test advances the clock.
func TestClock(t *testing.T) {
	clock := ratelimit.FollowClock(time.Now)
	w := newWorldAt(t, nil, clock.Now, &ratelimit.Budgets{Clock: clock})
	c := w.dial()
	c.ok(`{customAction: "CreateCollection", collection: "c", shardKey: "k", offerThroughput: 400}`)
	c.ok(`{customAction: "Clock", stop: true}`)
	for round := range 3 {
		c.ok(`{customAction: "Clock", advanceMs: 5000}`)
		if n := c.throttled("c", "", 100); n != 31 { // 5.8 RU each: 69 reach 400
			t.Errorf("round %d: %d of 100 were refused", round, n)
		}
	}
	r := c.run(`{insert: "c", documents: [{k: 1}]}`)
	c.ok(fmt.Sprintf(`{customAction: "Clock", advanceMs: %d}`, number(r.Get("retryAfterMs"))))
	c.ok(`{insert: "c", documents: [{k: 1}]}`)
	if r = c.ok(`{customAction: "Clock", run: true}`); r.Get("stopped").Truthy() || r.Get("now").IsMissing() {
		t.Errorf("%v", r)
	}
	for _, command := range []string{`{customAction: "Clock", stop: true, run: true}`, `{customAction: "Clock", advanceMs: -1}`} {
		if n := c.code(command); n != 2 {
			t.Errorf("%s: code %d", command, n)
		}
	}
	w.TestCommands = false
	if n := c.code(`{customAction: "Clock", stop: true}`); n != 59 {
		t.Errorf("without test commands: code %d", n)
	}
}

// With the add-on of request units per minute, a request that exceeds the budget of its second uses the units of the
// minute, unless it declines them. Source: Azure Cosmos DB, "request-units-per-minute" (2017).
func TestPerMinute(t *testing.T) {
	w, clock := clockWorld(t, nil)
	c := w.dial()
	c.ok(`{customAction: "CreateCollection", collection: "c", shardKey: "k", offerThroughput: 400, ruPerMinute: true}`)
	if n := c.throttled("c", `, comment: {ruPerMinute: false}`, 100); n < 25 {
		t.Errorf("without the add-on %d of 100 were refused", n)
	}
	if n := c.throttled("c", "", 800); n < 90 || n > 150 { // 4000 RU
		t.Errorf("with it %d of 800 were refused", n)
	}
	clock.Advance(2 * time.Second)
	if n := c.throttled("c", "", 100); n < 25 {
		t.Errorf("later in the minute %d of 100 were refused", n)
	}
	clock.Advance(time.Minute)
	if n := c.throttled("c", "", 700); n != 0 {
		t.Errorf("in the next minute %d of 700 were refused", n)
	}
}

// At the Cosmos address, no database or collection can be made when the account has 500 of both together; at the other
// address it can. Source: Azure Cosmos DB, "concepts-limits".
func TestAccountLimit(t *testing.T) {
	w, _ := clockWorld(t, nil)
	c := w.dial()
	for i := range 499 { // besides their database
		c.ok(fmt.Sprintf(`{create: "c%d"}`, i))
	}
	strict := w.dialAs(command.TagCosmos)
	for _, command := range []string{`{create: "d"}`, `{insert: "d", documents: [{a: 1}]}`, `{customAction: "CreateDatabase", $db: "other"}`} {
		if n := strict.code(command); n != 2 {
			t.Errorf("%s: code %d", command, n)
		}
	}
	c.ok(`{create: "d"}`)
	strict.ok(`{insert: "c1", documents: [{a: 1}]}`)
}
