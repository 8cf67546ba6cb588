package rooms

import (
	"testing"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/ejson"
	"github.com/cantledb/cantle/storage/memkv"
)

const lsid = `lsid: {id: {$binary: {base64: "AAAAAAAAAAAAAAAAAAAAAQ==", subType: "04"}}}`

// TestRetriedWrite checks that a retried insert and a retried findAndModify return the result of the first attempt, the
// latter also at a new server over the same store, and that a retry with an older txnNumber is refused.
func TestRetriedWrite(t *testing.T) {
	store := memkv.Open(memkv.Options{})
	defer store.Close()
	c := newWorld(t, store).dial()
	insert := `{insert: "c", documents: [{_id: 1}, {_id: 2}], ` + lsid + `, txnNumber: {$numberLong: "1"}}`
	modify := `{findAndModify: "c", query: {_id: 1}, update: {$inc: {n: 1}}, new: true, ` + lsid + `, txnNumber: {$numberLong: "2"}}`
	c.ok(insert)
	if n := number(c.ok(insert).Get("n")); n != 2 {
		t.Errorf("insert repeated: n %d", n)
	}
	c.ok(modify)
	for _, c := range []*client{c, newWorld(t, store).dial()} {
		r := c.ok(modify)
		if n := number(at(r, "value.n")); n != 1 {
			t.Errorf("findAndModify repeated: %v", r)
		}
		if r := c.ok(`{count: "c"}`); number(r.Get("n")) != 2 {
			t.Errorf("%v documents", r.Get("n"))
		}
		if got := c.code(insert); got != 225 {
			t.Errorf("an older number: %d", got)
		}
	}
}

// TestKilledSession checks that killSessions aborts the session's transaction and closes its cursor, but not a cursor
// that was opened without a session.
func TestKilledSession(t *testing.T) {
	c := newWorld(t, nil).dial()
	c.ok(`{insert: "c", documents: [{_id: 1}, {_id: 2}, {_id: 3}]}`)
	find := func(session string) string {
		id, _ := at(c.ok(`{find: "c", batchSize: 1`+session+`}`), "cursor.id").Int64()
		return `{getMore: {$numberLong: "` + ejsonNumber(id) + `"}, collection: "c", batchSize: 1` + session + `}`
	}
	own, other := find(", "+lsid), find("")
	begin := `{insert: "c", documents: [{_id: 4}], ` + lsid + `, txnNumber: {$numberLong: "1"}, startTransaction: true, autocommit: false}`
	c.ok(begin)
	r := c.ok(`{currentOp: 1, type: "idleSession", $db: "admin"}`)
	if number(at(r, "inprog.0.transaction.parameters.txnNumber")) != 1 {
		t.Errorf("the transaction is not listed: %v", r)
	}
	c.ok(`{killSessions: [{id: {$binary: {base64: "AAAAAAAAAAAAAAAAAAAAAQ==", subType: "04"}}}]}`)
	if got := c.code(own); got != 43 {
		t.Errorf("cursor of the killed session: %d", got)
	}
	if got := c.code(other); got != 0 {
		t.Errorf("cursor of no session: %d", got)
	}
	if got := c.code(`{commitTransaction: 1, ` + lsid + `, txnNumber: {$numberLong: "1"}, autocommit: false, $db: "admin"}`); got != 251 {
		t.Errorf("commit of the killed transaction: %d", got)
	}
	if r := c.ok(`{count: "c"}`); number(r.Get("n")) != 3 {
		t.Errorf("%v documents", r.Get("n"))
	}
}

func ejsonNumber(n int64) string {
	b := bson.NewBuilder(nil)
	b.Int64("n", n)
	s := ejson.Canonical(b.Doc())
	return s[len(`{"n":{"$numberLong":"`) : len(s)-3]
}

// TestSessionArguments: lists of sessions and users are validated completely.
func TestSessionArguments(t *testing.T) {
	c := newWorld(t, nil).dial()
	const id = `{id: {$binary: {base64: "AAAAAAAAAAAAAAAAAAAAAQ==", subType: "04"}}}`
	for cmd, want := range map[string]int64{
		`{startSession: 1}`:                  0,
		`{endSessions: []}`:                  0,
		`{endSessions: 1}`:                   14,
		`{endSessions: null}`:                40414,
		`{refreshSessions: [` + id + `]}`:    0,
		`{refreshSessions: [1]}`:             14,
		`{killSessions: [null, ` + id + `]}`: 0,
		`{killSessions: [{}]}`:               40414,
		`{killSessions: [{x: 1}]}`:           40415,
		`{killSessions: [{id: {$binary: {base64: "AAAA", subType: "04"}}}]}`:                     207,
		`{killSessions: [{id: {$binary: {base64: "AAAAAAAAAAAAAAAAAAAAAQ==", subType: "03"}}}]}`: 14,
		`{killSessions: [], writeConcern: {w: 1}}`:                                               72,
		`{killSessions: [], readConcern: {level: "majority"}}`:                                   72,
		`{killSessions: [], apiVersion: "1", apiStrict: true}`:                                   323,
		`{killSessions: [], apiVersion: "2"}`:                                                    322,
		`{killSessions: [], apiStrict: true}`:                                                    4886600,
		`{killSessions: [], maxTimeMS: 1.5}`:                                                     9,
		`{killSessions: [], maxTimeMS: -1}`:                                                      2,
		`{killSessions: [], maxTimeMS: "1"}`:                                                     14,
		`{killAllSessions: [{user: "a", db: "b"}]}`:                                              0,
		`{killAllSessions: [{user: "a"}]}`:                                                       40414,
		`{killAllSessions: [{user: "a", db: "b", x: 1}]}`:                                        40415,
		`{killAllSessions: [{user: 1, db: "b"}]}`:                                                14,
		`{killAllSessionsByPattern: [{lsid: ` + id + `}, {users: [{user: "a", db: "b"}]}]}`:      0,
		`{killAllSessionsByPattern: [{uid: 1}]}`:                                                 14,
		`{killAllSessionsByPattern: [{x: 1}]}`:                                                   40415,
	} {
		if got := c.code(cmd); got != want {
			t.Errorf("%s: %d, want %d", cmd, got, want)
		}
	}
}
