package rooms

import (
	"fmt"
	"testing"

	"github.com/cantledb/cantle/bson"
)

// named connects a client of an application.
func (w *world) named(app string) *client {
	c := w.dial()
	c.ok(fmt.Sprintf(`{hello: 1, client: {application: {name: %q}, driver: {name: "d", version: "1"}, os: {type: "Linux"}}, $db: "admin"}`, app))
	return c
}

// TestCallers checks that the request report has the applications from which the load of a shape and of a collection
// comes, and GetPartitions those of a partition and of a hot value; the idle connections of $currentOp have their users.
func TestCallers(t *testing.T) {
	w := newWorld(t, nil)
	shop, batch := w.named("shop"), w.named("batch")
	shop.ok(`{shardCollection: "test.c", key: {k: "hashed"}, numInitialChunks: 2, $db: "admin"}`)
	shop.ok(`{insert: "c", documents: [{_id: 1, k: 1}, {_id: 2, k: 2}]}`)
	for range 9 {
		shop.ok(`{find: "c", filter: {k: 1}}`)
	}
	batch.ok(`{find: "c", filter: {k: 1}}`)
	callers := func(list bson.Value) (text string) {
		a, _ := list.Array()
		for v := range a.Values() {
			d, _ := v.Doc()
			percent, _ := d.Get("ruPercent").AsFloat()
			text += fmt.Sprintf("%s %s %.0f%% ", d.Get("ns"), d.Get("appName"), percent)
		}
		return text
	}
	d := shop.reported("find", "{k: ?}")
	if got := callers(d.Get("callers")); got != `missing "shop" 90% missing "batch" 10% ` {
		t.Errorf("the shape: %s in %v", got, d)
	}
	r := shop.ok(`{customAction: "GetRequestReport", collection: "c"}`)
	if got := callers(r.Get("callers")); got != `"test.c" "shop" 93% "test.c" "batch" 7% ` {
		t.Errorf("the collection: %s in %v", got, r)
	}
	r = shop.ok(`{customAction: "GetPartitions", collection: "c"}`)
	parts, _ := r.Get("partitions").Array()
	found, byPartition := "", ""
	for v := range parts.Values() {
		p, _ := v.Doc()
		hot, _ := p.Get("hottestByRU").Array()
		for x := range hot.Values() {
			h, _ := x.Doc()
			if key, _ := h.Get("key").Doc(); number(key.Get("k")) == 1 {
				found = callers(h.Get("callers"))
				list, _ := p.Get("callers").Array()
				for x := range list.Values() {
					u, _ := x.Doc()
					byPartition += fmt.Sprintf("%s over 90%%: %t ", u.Get("appName"), number(u.Get("recentPercent")) > 90)
				}
			}
		}
	}
	if found != `missing "shop" 92% missing "batch" 8% ` {
		t.Errorf("the hot value: %s in %v", found, r)
	}
	if byPartition != `"shop" over 90%: true "batch" over 90%: false ` { // with k: 2 or without, which the hash decides
		t.Errorf("the partition of the hot value: %s in %v", byPartition, r)
	}
	r = shop.ok(`{aggregate: 1, pipeline: [{$currentOp: {allUsers: true, idleConnections: true}}, {$match: {appName: "batch"}}], cursor: {}, $db: "admin"}`)
	if fmt.Sprint(at(r, "cursor.firstBatch.0.effectiveUsers")) != "[]" {
		t.Errorf("an idle connection: %v", r)
	}
}
