package rooms

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/storage"
)

// oplog returns the entries of local.oplog.rs that match a filter, read in batches of three.
func (c *client) oplog(filter string) (out []bson.Raw) {
	c.w.t.Helper()
	r := c.ok(fmt.Sprintf(`{find: "oplog.rs", filter: %s, batchSize: 3, $db: "local"}`, filter))
	name := "cursor.firstBatch"
	for {
		batch, _ := at(r, name).Array()
		for v := range batch.Values() {
			d, _ := v.Doc()
			out = append(out, d)
		}
		id := number(at(r, "cursor.id"))
		if id == 0 {
			return out
		}
		r = c.ok(fmt.Sprintf(`{getMore: {$numberLong: "%d"}, collection: "oplog.rs", batchSize: 3, $db: "local"}`, id))
		name = "cursor.nextBatch"
	}
}

func timeOf(v bson.Value) storage.Timestamp {
	t, i, _ := v.Timestamp()
	return storage.MakeTimestamp(t, i)
}

func timestampJSON(ts storage.Timestamp) string {
	return fmt.Sprintf(`{$timestamp: {t: %d, i: %d}}`, ts.Seconds(), ts.Increment())
}

// TestOplogTimes checks that the ts of every oplog entry is unique, also among the entries of one command, so that a
// reader that continues after any entry misses none and sees none twice. The events of change streams have the same
// times.
func TestOplogTimes(t *testing.T) {
	w := newWorld(t, nil)
	c := w.dial()
	c.ok(`{insert: "c", documents: [{_id: 0}]}`)
	stream := c.watch("test", `"c"`, `{}`)
	from := timeOf(c.ok(`{ping: 1}`).Get("operationTime"))
	c.ok(`{insert: "c", documents: [{_id: 1}, {_id: 2}, {_id: 3}, {_id: 4}, {_id: 5}]}`)
	c.ok(`{update: "c", updates: [{q: {}, u: {$set: {a: 1}}, multi: true}]}`)
	last := timeOf(c.ok(`{delete: "c", deletes: [{q: {_id: {$gt: 2}}, limit: 0}]}`).Get("operationTime"))
	filter := func(op string, ts storage.Timestamp) string {
		return fmt.Sprintf(`{ns: "test.c", op: {$ne: "c"}, ts: {%s: %s}}`, op, timestampJSON(ts))
	}
	all := c.oplog(filter("$gt", from))
	if len(all) != 5+6+3 {
		t.Fatalf("%d entries", len(all))
	}
	before := from
	for i, e := range all {
		ts := timeOf(e.Get("ts"))
		if ts <= before {
			t.Errorf("entry %d is at %v, the one before at %v", i, ts, before)
		}
		before = ts
		for op, want := range map[string][]bson.Raw{"$gt": all[i+1:], "$gte": all[i:], "$eq": all[i : i+1]} {
			if got := c.oplog(filter(op, ts)); !slices.EqualFunc(got, want, func(a, b bson.Raw) bool { return a.String() == b.String() }) {
				t.Errorf("%s %v: %d entries, want %d", op, ts, len(got), len(want))
			}
		}
		if got := c.oplog(fmt.Sprintf(`{op: "i", ns: "test.c", ts: {$lte: %s, $gt: %s}}`, timestampJSON(ts), timestampJSON(from))); len(got) != min(i+1, 5) {
			t.Errorf("up to %v: %d entries", ts, len(got))
		}
		at := c.watch("test", `"c"`, `{startAtOperationTime: `+timestampJSON(ts)+`}`)
		if got := len(at.read()); got != len(all)-i {
			t.Errorf("a stream from %v: %d events, want %d", ts, got, len(all)-i)
		}
	}
	if before != last {
		t.Errorf("the last entry is at %v, its command at %v", before, last)
	}
	if err := w.Cluster.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	r := c.ok(fmt.Sprintf(`{getMore: {$numberLong: "%d"}, collection: "c"}`, stream.id))
	for i, e := range all {
		if got := at(r, fmt.Sprintf("cursor.nextBatch.%d.clusterTime", i)); timeOf(got) != timeOf(e.Get("ts")) {
			t.Errorf("event %d: clusterTime %v, entry %v", i, got, e.Get("ts"))
		}
	}
}

const txnOne = `lsid: {id: {$binary: {base64: "AAAAAAAAAAAAAAAAAAAAAQ==", subType: "04"}}}, txnNumber: {$numberLong: "1"}, autocommit: false`

// TestOplogTransaction checks that a transaction is one oplog entry with all its operations, including the implicit
// creation of a collection.
func TestOplogTransaction(t *testing.T) {
	w := newWorld(t, nil)
	c := w.dial()
	c.ok(`{insert: "c", documents: [{_id: 1}]}`)
	c.ok(`{insert: "new", documents: [{_id: 1}, {_id: 2}], startTransaction: true, ` + txnOne + `}`)
	c.ok(`{update: "c", updates: [{q: {_id: 1}, u: {$set: {a: 1}}}], ` + txnOne + `}`)
	c.ok(`{delete: "new", deletes: [{q: {_id: 2}, limit: 1}], ` + txnOne + `}`)
	ts := timeOf(c.ok(`{commitTransaction: 1, $db: "admin", ` + txnOne + `}`).Get("operationTime"))
	c.ok(`{insert: "c", documents: [{_id: 9}]}`)
	got := c.oplog(`{"o.applyOps": {$exists: true}}`)
	if len(got) != 1 {
		t.Fatalf("%v", got)
	}
	e := got[0]
	if timeOf(e.Get("ts")) != ts || text(e.Get("op")) != "c" || text(e.Get("ns")) != "admin.$cmd" || number(e.Get("txnNumber")) != 1 ||
		number(at(e, "prevOpTime.t")) != -1 || at(e, "lsid.uid").IsMissing() || !at(e, "o.partialTxn").IsMissing() || !at(e, "o.count").IsMissing() {
		t.Errorf("%v", e)
	}
	var ops []string
	list, _ := at(e, "o.applyOps").Array()
	for v := range list.Values() {
		d, _ := v.Doc()
		if d.Get("ui").IsMissing() {
			t.Errorf("no ui: %v", d)
		}
		ops = append(ops, text(d.Get("op"))+" "+text(d.Get("ns"))+" "+d.Get("o").String())
	}
	want := `c test.$cmd { create: "new", idIndex: { v: 2, key: { _id: 1 }, name: "_id_" } }
i test.new { _id: 1 }
i test.new { _id: 2 }
u test.c { $v: 2, diff: { u: { a: 1 } } }
d test.new { _id: 2 }`
	if got := strings.Join(ops, "\n"); got != want {
		t.Errorf("%s", got)
	}
	if n := len(c.oplog(`{ns: "test.new"}`)) + len(c.oplog(`{"o.create": "new"}`)); n != 0 {
		t.Errorf("%d entries beside", n)
	}
}

// TestOplogLargeTransaction checks that a transaction which does not fit into one oplog entry has several entries,
// each of which refers to the one before.
func TestOplogLargeTransaction(t *testing.T) {
	w := newWorld(t, nil)
	c := w.dial()
	c.ok(`{create: "c"}`)
	long := strings.Repeat("x", 6<<20)
	for i := range 5 {
		start := ""
		if i == 0 {
			start = "startTransaction: true, "
		}
		c.ok(fmt.Sprintf(`{insert: "c", documents: [{_id: %d, x: %q}], %s%s}`, i, long, start, txnOne))
	}
	ts := timeOf(c.ok(`{commitTransaction: 1, $db: "admin", ` + txnOne + `}`).Get("operationTime"))
	prev, n, ids := storage.Timestamp(0), 0, ""
	for {
		r := c.ok(fmt.Sprintf(`{find: "oplog.rs", filter: {"o.applyOps": {$exists: true}, ts: {$gt: %s}}, limit: 1, $db: "local"}`, timestampJSON(prev)))
		e, ok := at(r, "cursor.firstBatch.0").Doc()
		if !ok {
			break
		}
		n++
		own := timeOf(e.Get("ts"))
		if got := timeOf(at(e, "prevOpTime.ts")); got != prev || own <= prev {
			t.Errorf("entry %d at %v follows %v, not %v", n, own, got, prev)
		}
		if partial := at(e, "o.partialTxn").Truthy(); partial == (own == ts) || !partial && number(at(e, "o.count")) != 5 {
			t.Errorf("entry %d: partialTxn %v, count %v", n, partial, at(e, "o.count"))
		}
		list, _ := at(e, "o.applyOps").Array()
		for v := range list.Values() {
			d, _ := v.Doc()
			ids += at(d, "o._id").String()
		}
		prev = own
	}
	if n != 3 || prev != ts || ids != "01234" {
		t.Errorf("%d entries up to %v with %s; the commit was at %v", n, prev, ids, ts)
	}
}

// TestOplogCommands checks that the oplog entries of commands such as create or drop contain what is needed to run
// the command again, and that the entry of shardCollection is only a note.
func TestOplogCommands(t *testing.T) {
	w := newWorld(t, nil)
	c := w.dial()
	c.ok(`{create: "a"}`)
	c.ok(`{shardCollection: "test.a", key: {_id: "hashed"}, $db: "admin"}`)
	c.ok(`{createIndexes: "a", indexes: [{key: {x: 1}, name: "x"}]}`)
	c.ok(`{collMod: "a", index: {name: "x", hidden: true}}`)
	c.ok(`{dropIndexes: "a", index: "x"}`)
	c.ok(`{create: "b", clusteredIndex: {key: {_id: 1}, unique: true}}`)
	c.ok(`{renameCollection: "test.b", to: "test.d", $db: "admin"}`)
	c.ok(`{drop: "d"}`)
	c.ok(`{dropDatabase: 1}`)
	var got []string
	for _, e := range c.oplog(`{op: {$in: ["c", "n"]}}`) {
		b := bson.NewBuilder(nil)
		for name, v := range e.Fields() {
			switch n := string(name); {
			case n == "op", n == "ns", n == "o":
				b.ValueBytes(name, v)
			case n == "o2":
				d, _ := v.Doc()
				b.BeginDoc("o2")
				for name, v := range d.Fields() {
					if s := string(name); strings.HasSuffix(s, "_old") {
						b.Bool(s, true)
					} else {
						b.ValueBytes(name, v)
					}
				}
				b.End()
			}
		}
		got = append(got, b.Doc().String())
	}
	want := `{ op: "c", ns: "test.$cmd", o: { create: "a", idIndex: { v: 2, key: { _id: 1 }, name: "_id_" } } }
{ op: "n", ns: "test.a", o: { msg: { shardCollection: "test.a" } }, o2: { shardCollection: "test.a", shardKey: { _id: "hashed" }, unique: false, numInitialChunks: 0, presplitHashedZones: false } }
{ op: "c", ns: "test.$cmd", o: { createIndexes: "a", v: 2, key: { x: 1 }, name: "x" } }
{ op: "c", ns: "test.$cmd", o: { collMod: "a", index: { name: "x", hidden: true } }, o2: { collectionOptions_old: true, indexOptions_old: true } }
{ op: "c", ns: "test.$cmd", o: { dropIndexes: "a", index: "x" }, o2: { v: 2, key: { x: 1 }, name: "x", hidden: true } }
{ op: "c", ns: "test.$cmd", o: { create: "b", clusteredIndex: { v: 2, key: { _id: 1 }, name: "_id_", unique: true } } }
{ op: "c", ns: "test.$cmd", o: { renameCollection: "test.b", to: "test.d", stayTemp: false } }
{ op: "c", ns: "test.$cmd", o: { drop: "d" } }
{ op: "c", ns: "test.$cmd", o: { drop: "a" } }
{ op: "c", ns: "test.$cmd", o: { dropDatabase: 1 } }`
	if got := strings.Join(got, "\n"); got != want {
		t.Errorf("%s", got)
	}
}

// TestOplogRetryable checks that the oplog entries of retryable writes contain the session, the txnNumber and the
// statement id.
func TestOplogRetryable(t *testing.T) {
	w := newWorld(t, nil)
	c := w.dial()
	const session = `lsid: {id: {$binary: {base64: "AAAAAAAAAAAAAAAAAAAAAg==", subType: "04"}}}, `
	c.ok(`{insert: "c", documents: [{_id: 1}, {_id: 2}], ` + session + `txnNumber: {$numberLong: "1"}}`)
	c.ok(`{insert: "c", documents: [{_id: 3}, {_id: 1}, {_id: 4}], stmtIds: [7, 0, 4], ` + session + `txnNumber: {$numberLong: "1"}}`)
	c.ok(`{update: "c", updates: [{q: {_id: 1}, u: {$set: {a: 1}}}, {q: {_id: 2}, u: {$set: {a: 1}}}], stmtId: 3, ` + session + `txnNumber: {$numberLong: "2"}}`)
	c.ok(`{findAndModify: "c", query: {_id: 4}, remove: true, stmtId: 2, ` + session + `txnNumber: {$numberLong: "3"}}`)
	c.ok(`{insert: "c", documents: [{_id: 9}], ` + session + `writeConcern: {}}`)
	got := ""
	for _, e := range c.oplog(`{ns: "test.c"}`) {
		got += fmt.Sprintf("%s %d", text(e.Get("op")), number(at(e, "o._id"))+number(at(e, "o2._id")))
		if v := e.Get("stmtId"); !v.IsMissing() {
			got += fmt.Sprintf(": %d.%d", number(e.Get("txnNumber")), number(v))
			if at(e, "lsid.id").IsMissing() || at(e, "lsid.uid").IsMissing() {
				t.Errorf("no session: %v", e)
			}
		}
		got += "; "
	}
	if want := "i 2: 1.0; i 4: 1.1; i 6: 1.7; i 8: 1.4; u 1: 2.3; u 2: 2.4; d 4: 3.2; i 18; "; got != want {
		t.Errorf("%s", got)
	}
}
