package rooms

import (
	"testing"
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/wire"
)

// BenchmarkRefused measures the cost of refusing a throttled command, because one client can cause thousands of
// refusals per second.
func BenchmarkRefused(b *testing.B) {
	for name, text := range map[string]string{
		"insert": `{insert: "c", documents: [{_id: 1, k: 7, pad: "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"}], $db: "test"}`,
		"read":   `{find: "c", filter: {_id: 1, k: 7}, $db: "test"}`,
		"update": `{update: "c", updates: [{q: {_id: 1, k: 7}, u: {$set: {a: 1}}}], $db: "test"}`,
	} {
		b.Run(name, func(b *testing.B) {
			clock := ratelimit.NewVirtualClock(time.Unix(1_800_000_000, 0))
			w := newWorldAt(b, nil, clock.Now, &ratelimit.Budgets{Clock: clock})
			c := w.dial()
			c.ok(`{customAction: "CreateCollection", collection: "c", shardKey: "k", offerThroughput: 400}`)
			coll := w.Cluster.Catalog().Collections("test")[0]
			w.Cluster.Budgets.ChargeAt(clock.Now(), ratelimit.Class{}, ratelimit.ShardID{Collection: uint64(coll.ID)}, 1e6*ratelimit.RU)
			answer(b, w, c, text, func(reply bson.Raw) {
				if code, _ := reply.Get("code").Int32(); code != ratelimit.CodeThrottled {
					b.Fatalf("not refused: %v", reply)
				}
			})
		})
	}
}

// BenchmarkMetering measures a point read with and without metering, both without a network; the difference is the
// cost of metering.
func BenchmarkMetering(b *testing.B) {
	for _, name := range []string{"with", "without", "with", "without"} {
		b.Run(name, func(b *testing.B) {
			w := newWorld(b, nil)
			c := w.dial()
			c.ok(`{insert: "c", documents: [{_id: 1, pad: "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"}]}`)
			w.Unmetered.Store(name == "without")
			answer(b, w, c, `{find: "c", filter: {_id: 1}, limit: 1, singleBatch: true, lsid: {id: {$binary: {base64: "AAAAAAAAAAAAAAAAAAAAAA==", subType: "04"}}}, $db: "test"}`, func(bson.Raw) {})
		})
	}
}

// answer runs one command repeatedly, without a network.
func answer(b *testing.B, w *world, c *client, text string, check func(reply bson.Raw)) {
	b.Helper()
	doc := bsontest.Doc(b, text)
	m := wire.Message{Header: wire.Header{OpCode: wire.OpMsg, RequestID: 1}, Body: doc}
	out := wire.NewReply(&c.pool)
	b.ReportAllocs()
	for b.Loop() {
		out.Start(&m)
		if err := w.Handle(b.Context(), c, &m, out); err != nil {
			b.Fatal(err)
		}
		raw, err := out.Finish(1, 1)
		if err != nil {
			b.Fatal(err)
		}
		check(bson.Raw(raw[wire.HeaderSize+5:]))
	}
}
