package rooms

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cantledb/cantle/ratelimit"
)

// The error of a request that a budget refused contains the limit, the collection with its partition, its RU/s, what is
// left of them, and the shard key value with the highest charges. In a batch, only the first error contains the value.
func TestThrottleInfo(t *testing.T) {
	w, clock := clockWorld(t, nil)
	c := w.dial()
	pad := strings.Repeat("x", 900)
	exhaust := func(coll, extra string) string {
		for range 200 {
			r := c.run(fmt.Sprintf(`{insert: "%s", documents: [{k: 7, pad: "%s"}]%s}`, coll, pad, extra))
			if info := at(r, "errInfo.throttle"); !info.IsMissing() {
				if number(at(r, "errInfo.throttle.retryAfterMs")) != number(r.Get("retryAfterMs")) || number(at(r, "errInfo.throttle.ruLeft")) > 400 {
					t.Errorf("%s%s: %v", coll, extra, r)
				}
				return fmt.Sprint(text(at(r, "errInfo.throttle.limit")), " ", text(at(r, "errInfo.throttle.ns")), " ", text(at(r, "errInfo.throttle.partition")), " ",
					at(r, "errInfo.throttle.ruPerSecond"), " ", at(r, "errInfo.throttle.hottest"))
			}
		}
		return "none"
	}
	c.ok(`{customAction: "CreateCollection", collection: "c", shardKey: "k", offerThroughput: 400}`)
	c.ok(`{customAction: "CreateCollection", collection: "b", shardKey: "k", offerThroughput: 400, throughputBuckets: [{id: 1, maxThroughputPercentage: 10}]}`)
	c.ok(`{customAction: "CreateCollection", collection: "t", shardKey: "k", offerThroughput: 400, tenants: {shardKeyPrefix: ["k"], maxThroughputPercentage: 10}}`)
	c.ok(`{customAction: "CreateDatabase", $db: "shared", offerThroughput: 400}`)
	for _, x := range []struct{ coll, extra, want string }{
		{"c", "", `partition test.c 0 400.0 { k: 7 }`},
		{"b", `, comment: {bucket: 1}`, `bucket test.b 0 40.0 { k: 7 }`},
		{"b", `, comment: {priority: "low"}`, `priority test.b 0 400.0 { k: 7 }`},
		{"t", ``, `tenant test.t 0 40.0 { k: 7 }`},
		{"s", `, $db: "shared"`, `database shared.s 0 400.0 missing`},
	} {
		if got := exhaust(x.coll, x.extra); got != x.want {
			t.Errorf("%s%s: %s, want %s", x.coll, x.extra, got, x.want)
		}
	}
	clock.Advance(1e9)
	w.Cluster.Budgets.SetMetadataRate(clock.Now(), 10)
	for i := range 40 {
		if r := c.run(fmt.Sprintf(`{create: "m%d"}`, i)); !at(r, "errInfo").IsMissing() && text(at(r, "errInfo.throttle.limit")) != string(ratelimit.MetadataLimit) {
			t.Errorf("a metadata command: %v", r)
		} else if i == 39 && at(r, "errInfo").IsMissing() {
			t.Errorf("no metadata command was refused: %v", r)
		}
	}
	w.Cluster.Budgets.SetMetadataRate(clock.Now(), 0)
	c.ok(`{customAction: "InjectThrottle", collection: "c", kind: "write", nth: 2, count: -1}`)
	r := c.ok(`{insert: "c", documents: [{k: 1}, {k: 2}, {k: 3}], ordered: false}`)
	if text(at(r, "writeErrors.0.errInfo.throttle.limit")) != "injected" || at(r, "writeErrors.0.errInfo.throttle.hottest").IsMissing() || !at(r, "writeErrors.1.errInfo.throttle.hottest").IsMissing() {
		t.Errorf("a batch: %v", r)
	}
	for i, l := range ratelimit.Limits {
		if n := w.Stats.Refused[i].Load(); n == 0 != (l == ratelimit.QueueLimit) || l == ratelimit.InjectedLimit && n != 2 {
			t.Errorf("%d refusals by the limit %s are counted", n, l)
		}
	}
	r = c.ok(`{customAction: "GetRequestReport", $db: "admin"}`)
	if by := fmt.Sprint(at(r, "throttledBy")); by != `{ partition: 1, database: 1, bucket: 1, priority: 1, injected: 2, tenant: 1 }` {
		t.Errorf("the report: %s", by)
	}
	c.ok(`{customAction: "InjectThrottle", collection: "c", kind: "write", nth: 2, count: -1}`)
	r = c.ok(`{bulkWrite: 1, $db: "admin", ordered: false, nsInfo: [{ns: "test.c"}], ops: [{update: 0, filter: {k: 1}, updateMods: {$set: {a: 1}}}, {insert: 0, document: {k: 2}}]}`)
	if text(at(r, "cursor.firstBatch.1.errInfo.throttle.limit")) != "injected" {
		t.Errorf("bulkWrite: %v", r)
	}
}
