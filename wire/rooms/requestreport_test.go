package rooms

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cantledb/cantle/bson"
)

// reported returns the line of GetRequestReport for a command with a filter, given as the shape of the query.
func (c *client) reported(command, filter string) bson.Raw {
	c.w.t.Helper()
	r := c.ok(`{customAction: "GetRequestReport", top: 1000}`)
	list, _ := r.Get("requests").Array()
	for it := list.Iter(); it.Next(); {
		d, _ := it.Value.Doc()
		if text(d.Get("command")) == command && text(d.Get("filter")) == filter {
			return d
		}
	}
	c.w.t.Fatalf("%s %s is not in the report %v", command, filter, r)
	return nil
}

// GetRequestReport sums up commands by their shape, whatever values they contain; the getMores of a cursor count for
// the command that opened it.
func TestRequestReport(t *testing.T) {
	w := newWorld(t, nil)
	c := w.dial()
	c.ok(`{shardCollection: "test.c", key: {k: "hashed"}, numInitialChunks: 4, $db: "admin"}`)
	for i := range 20 {
		c.ok(fmt.Sprintf(`{insert: "c", documents: [{_id: %d, k: %d, a: %d, b: "x"}]}`, i, i, i))
	}
	sum := 0.0
	for i := range 10 {
		c.ok(fmt.Sprintf(`{find: "c", filter: {k: %d, a: {$gt: %d}}, sort: {a: -1}}`, i%5, i))
		sum += c.charge()
	}
	d := c.reported("find", "{k: ?, a: {$gt: ?}}")
	if number(d.Get("count")) != 10 || text(d.Get("sort")) != "{a: -1}" || number(d.Get("fanOuts")) != 0 {
		t.Errorf("targeted: %v", d)
	}
	if ru, _ := d.Get("ru").AsFloat(); ru < sum-0.1 || ru > sum+0.1 {
		t.Errorf("%v RU, want %v", ru, sum)
	}
	if s := d.Get("fields").String(); !strings.Contains(s, `path: "k", by: "equal"`) || !strings.Contains(s, `path: "a", by: "range"`) {
		t.Errorf("fields %s", s)
	}
	c.ok(`{find: "c", filter: {b: "x"}, batchSize: 15}`)
	first := c.reported("find", "{b: ?}")
	ru, _ := first.Get("ru").AsFloat()
	r := c.ok(`{find: "c", filter: {b: "x"}, batchSize: 15}`)
	c.ok(fmt.Sprintf(`{getMore: {$numberLong: "%d"}, collection: "c"}`, number(at(r, "cursor.id"))))
	d = c.reported("find", "{b: ?}")
	if again, _ := d.Get("ru").AsFloat(); number(d.Get("count")) != 2 || again <= 2*ru {
		t.Errorf("after a getMore: %v, the first page %v RU", d, ru)
	}
	if v, _ := d.Get("partitionsVisited").AsFloat(); v <= 1 || number(d.Get("fanOuts")) != 2 || !strings.Contains(d.Get("warnings").String(), "shard key field k") {
		t.Errorf("fan-out: %v", d)
	}
	c.ok(`{update: "c", updates: [{q: {k: 1, _id: 1}, u: {$set: {b: "y"}}}]}`)
	if d = c.reported("update", "{k: ?, _id: ?}"); number(d.Get("count")) != 1 {
		t.Errorf("update: %v", d)
	}
	c.ok(`{aggregate: "c", pipeline: [{$match: {$or: [{k: 1}, {b: {$in: ["x", "y"]}}]}}, {$count: "n"}], cursor: {}}`)
	c.reported("aggregate", "{$or: [{k: ?}, {b: {$in: ?}}]}")
	if n := c.code(`{find: "c", filter: {a: {$foo: 1}}}`); n == 0 {
		t.Fatal("a bad filter")
	}
	if d = c.reported("find", "{a: {$foo: ?}}"); number(d.Get("failed")) != 1 {
		t.Errorf("failed: %v", d)
	}
	c.ok(`{customAction: "GetRequestReport", reset: true}`)
	if r := c.ok(`{customAction: "GetRequestReport"}`); number(r.Get("shapes")) != 0 {
		t.Errorf("after the reset: %v", r)
	}
}

// However many shapes there are, the table of GetRequestReport stays small, and keeps the shapes with the highest
// charge.
func TestRequestReportIsBounded(t *testing.T) {
	w := newWorld(t, nil)
	c := w.dial()
	c.ok(`{create: "c"}`)
	for i := range 300 {
		c.ok(`{find: "c", filter: {dear: 1, b: {$exists: true}}}`)
		for j := range 20 {
			c.ok(fmt.Sprintf(`{find: "c", filter: {f%d: 1}}`, i*20+j))
		}
	}
	if n := number(c.ok(`{customAction: "GetRequestReport"}`).Get("shapes")); n > 16*128 || n < 100 {
		t.Errorf("%d shapes", n)
	}
	if d := c.reported("find", "{dear: ?, b: {$exists: ?}}"); number(d.Get("count")) < 250 {
		t.Errorf("%v", d)
	}
	long := strings.Repeat("x", 5000)
	c.ok(fmt.Sprintf(`{find: "c", filter: {%s: 1}}`, long))
	r := c.ok(`{customAction: "GetRequestReport", top: 1000}`).String()
	if strings.Contains(r, strings.Repeat("x", 601)) {
		t.Error("a long name is kept whole")
	}
}

// GetRequestReport counts findAndModify under one name in both spellings, mapReduce with its sort, and bulkWrite, which
// may have several collections, under a namespace of its own.
func TestRequestReportCommands(t *testing.T) {
	w := newWorld(t, nil)
	w.JavaScript = true
	c := w.dial()
	c.ok(`{findandmodify: "c", query: {a: 1}, update: {$set: {b: 1}}, upsert: true}`)
	c.ok(`{findAndModify: "c", query: {a: 2}, update: {$set: {b: 1}}, upsert: true}`)
	if d := c.reported("findAndModify", "{a: ?}"); number(d.Get("count")) != 2 {
		t.Errorf("findAndModify in two spellings: %v", d)
	}
	c.ok(`{mapReduce: "c", map: "function() { emit(this.b, 1) }", reduce: "function(k, v) { return v.length }", query: {a: {$gt: 0}}, sort: {a: 1}, out: {inline: 1}}`)
	if d := c.reported("mapReduce", "{a: {$gt: ?}}"); text(d.Get("sort")) != "{a: 1}" {
		t.Errorf("mapReduce: %v", d)
	}
	r := c.ok(`{bulkWrite: 1, nsInfo: [{ns: "test.c"}, {ns: "test.d"}], ops: [{insert: 0, document: {}}, {insert: 1, document: {}}], cursor: {batchSize: 1}, $db: "admin"}`)
	c.ok(fmt.Sprintf(`{getMore: {$numberLong: "%d"}, collection: "$cmd.bulkWrite", $db: "admin"}`, number(at(r, "cursor.id"))))
	r = c.ok(`{customAction: "GetRequestReport", $db: "admin"}`)
	list, _ := r.Get("requests").Array()
	found := false
	for it := list.Iter(); it.Next(); {
		if d, _ := it.Value.Doc(); text(d.Get("command")) == "bulkWrite" {
			ru, _ := d.Get("ru").AsFloat()
			found = text(d.Get("ns")) == "admin.$cmd.bulkWrite" && number(d.Get("count")) == 1 && ru > 5
		}
	}
	if !found {
		t.Errorf("bulkWrite: %v", r)
	}
}
