package rooms

import (
	"testing"

	"github.com/cantledb/cantle/bson/ejson"
	"github.com/cantledb/cantle/storage/memkv"
)

// TestBulkWrite checks that the operations of a bulkWrite run in order, that each has a result, and that the counts
// add up.
func TestBulkWrite(t *testing.T) {
	c := newWorld(t, nil).dial()
	r := c.ok(`{bulkWrite: 1, $db: "admin", nsInfo: [{ns: "test.a"}, {ns: "other.b"}], ops: [
		{insert: 0, document: {_id: 1}},
		{insert: 0, document: {_id: 2}},
		{insert: 1, document: {_id: 1, n: 1}},
		{update: 1, filter: {_id: 1}, updateMods: {$inc: {n: 1}}},
		{update: 0, filter: {_id: 9}, updateMods: {$set: {n: 1}}, upsert: true},
		{update: 0, filter: {}, updateMods: [{$set: {m: "$$five"}}], constants: {five: 5}, multi: true},
		{delete: 0, filter: {_id: 2}}]}`)
	want := `{"firstBatch":[{"ok":1.0,"idx":0,"n":1},{"ok":1.0,"idx":1,"n":1},{"ok":1.0,"idx":2,"n":1},` +
		`{"ok":1.0,"idx":3,"n":1,"nModified":1},{"ok":1.0,"idx":4,"n":1,"nModified":0,"upserted":{"_id":9}},` +
		`{"ok":1.0,"idx":5,"n":3,"nModified":3},{"ok":1.0,"idx":6,"n":1}],"id":0,"ns":"admin.$cmd.bulkWrite"}`
	d, _ := r.Get("cursor").Doc()
	if got := ejson.String(d); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	for name, want := range map[string]int64{"nErrors": 0, "nInserted": 3, "nMatched": 4, "nModified": 4, "nUpserted": 1, "nDeleted": 1} {
		if got := number(r.Get(name)); got != want {
			t.Errorf("%s: %d, want %d", name, got, want)
		}
	}
	if r := c.ok(`{find: "b", $db: "other"}`); number(at(r, "cursor.firstBatch.0.n")) != 2 {
		t.Errorf("other.b: %v", r)
	}
}

// TestBulkWriteErrors checks that an error ends an ordered bulkWrite but not an unordered one, that getMore returns
// the results after the first batch, and that invalid commands are refused.
func TestBulkWriteErrors(t *testing.T) {
	c := newWorld(t, nil).dial()
	const ops = `nsInfo: [{ns: "test.a"}], ops: [{insert: 0, document: {_id: 1}}, {insert: 0, document: {_id: 1}},
		{update: 0, filter: {_id: 1}, updateMods: {$bogus: 1}}, {insert: 0, document: {_id: 2}}], $db: "admin"}`
	r := c.ok(`{bulkWrite: 1, ` + ops)
	if number(r.Get("nErrors")) != 1 || number(r.Get("nInserted")) != 1 || number(at(r, "cursor.firstBatch.1.code")) != 11000 ||
		number(at(r, "cursor.firstBatch.1.keyValue._id")) != 1 || !at(r, "cursor.firstBatch.2").IsMissing() {
		t.Errorf("ordered: %v", r)
	}
	c.ok(`{drop: "a"}`)
	r = c.ok(`{bulkWrite: 1, ordered: false, errorsOnly: true, ` + ops)
	if number(r.Get("nErrors")) != 2 || number(r.Get("nInserted")) != 2 || number(at(r, "cursor.firstBatch.0.idx")) != 1 ||
		number(at(r, "cursor.firstBatch.1.code")) != 9 || !at(r, "cursor.firstBatch.2").IsMissing() {
		t.Errorf("unordered: %v", r)
	}
	r = c.ok(`{bulkWrite: 1, ordered: false, cursor: {batchSize: 1}, ` + ops)
	id, _ := at(r, "cursor.id").Int64()
	r = c.ok(`{getMore: {$numberLong: "` + ejsonNumber(id) + `"}, collection: "$cmd.bulkWrite", $db: "admin"}`)
	if number(at(r, "cursor.nextBatch.2.idx")) != 3 {
		t.Errorf("the rest: %v", r)
	}
	for cmd, want := range map[string]int64{
		`{bulkWrite: 1, nsInfo: [{ns: "test.a"}], ops: [], $db: "admin"}`:                                       16,
		`{bulkWrite: 1, nsInfo: [{ns: "test.a"}], $db: "admin"}`:                                                40414,
		`{bulkWrite: 1, nsInfo: null, ops: [{delete: 0, filter: {}}], $db: "admin"}`:                            40414,
		`{bulkWrite: 1, nsInfo: [], ops: [{delete: 0, filter: {}}], $db: "admin"}`:                              2,
		`{bulkWrite: 1, nsInfo: [{ns: "nodot"}], ops: [{delete: 0, filter: {}}], $db: "admin"}`:                 73,
		`{bulkWrite: 1, nsInfo: [{ns: 1}], ops: [{delete: 0, filter: {}}], $db: "admin"}`:                       14,
		`{bulkWrite: 1, nsInfo: [{ns: "test.a"}], ops: [{delete: 1, filter: {}}], $db: "admin"}`:                2,
		`{bulkWrite: 1, nsInfo: [{ns: "test.a"}], ops: [{delete: "0", filter: {}}], $db: "admin"}`:              14,
		`{bulkWrite: 1, nsInfo: [{ns: "test.a"}], ops: [{delete: null, filter: {}}], $db: "admin"}`:             40414,
		`{bulkWrite: 1, nsInfo: [{ns: "test.a"}], ops: [{replace: 0, filter: {}}], $db: "admin"}`:               40415,
		`{bulkWrite: 1, nsInfo: [{ns: "test.a"}], ops: [{insert: 0}], $db: "admin"}`:                            40414,
		`{bulkWrite: 1, nsInfo: [{ns: "test.a"}], ops: [{insert: 0, document: 1}], $db: "admin"}`:               14,
		`{bulkWrite: 1, nsInfo: [{ns: "test.a"}], ops: [{update: 0, filter: {}, updateMods: 1}], $db: "admin"}`: 9,
		`{bulkWrite: 1, nsInfo: [{ns: "test.a"}], ops: [{delete: 0, filter: {}, upsert: true}], $db: "admin"}`:  40415,
		`{bulkWrite: 1, nsInfo: [{ns: "test.a"}], ops: [{delete: 0, filter: {}, multi: 1}], $db: "admin"}`:      14,
		`{bulkWrite: 1, nsInfo: [{ns: "test.a"}], ops: [{delete: 0, filter: {}}]}`:                              13,
	} {
		if got := c.code(cmd); got != want {
			t.Errorf("%s: %d, want %d", cmd, got, want)
		}
	}
}

// TestBulkWriteRetried checks that a retry of a bulkWrite runs only the operations that failed, not those that
// succeeded.
func TestBulkWriteRetried(t *testing.T) {
	store := memkv.Open(memkv.Options{})
	defer store.Close()
	c := newWorld(t, store).dial()
	c.ok(`{insert: "a", documents: [{_id: 5}]}`)
	cmd := `{bulkWrite: 1, ordered: false, nsInfo: [{ns: "test.a"}], ops: [{insert: 0, document: {_id: 1, n: 0}}, {insert: 0, document: {_id: 5}},
		{update: 0, filter: {_id: 1}, updateMods: {$inc: {n: 1}}}], ` + lsid + `, txnNumber: {$numberLong: "1"}, $db: "admin"}`
	c.ok(cmd)
	c.ok(`{delete: "a", deletes: [{q: {_id: 5}, limit: 1}]}`)
	for _, c := range []*client{c, newWorld(t, store).dial()} {
		r := c.ok(cmd)
		if number(r.Get("nInserted")) != 2 || number(r.Get("nModified")) != 1 || number(r.Get("nErrors")) != 0 {
			t.Errorf("repeated: %v", r)
		}
		if r := c.ok(`{find: "a", filter: {_id: 1}}`); number(at(r, "cursor.firstBatch.0.n")) != 1 {
			t.Errorf("the update was done again: %v", r)
		}
	}
}

// TestTransactionLost checks that a duplicate key in an insert command aborts the transaction: it cannot be committed,
// and nothing of it remains.
func TestTransactionLost(t *testing.T) {
	c := newWorld(t, nil).dial()
	c.ok(`{insert: "a", documents: [{_id: 1}]}`)
	const txn = lsid + `, txnNumber: {$numberLong: "1"}, autocommit: false`
	r := c.ok(`{insert: "a", documents: [{_id: 2}, {_id: 1}], startTransaction: true, ` + txn + `}`)
	if number(at(r, "writeErrors.0.code")) != 11000 {
		t.Errorf("duplicate key: %v", r)
	}
	if got := c.code(`{commitTransaction: 1, ` + txn + `, $db: "admin"}`); got != 251 {
		t.Errorf("commit: %d", got)
	}
	if r := c.ok(`{count: "a"}`); number(r.Get("n")) != 1 {
		t.Errorf("%v documents", r.Get("n"))
	}
}
