package rooms

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/memkv"
	"github.com/cantledb/cantle/wire/command"
)

// meddler is a store that calls a function of the test before a commit, to cause write conflicts.
type meddler struct {
	storage.Store
	before func() // called once, before the next commit of a transaction that wrote
}

func (m *meddler) Begin(ctx context.Context, o storage.TxnOptions) (storage.Txn, error) {
	t, err := m.Store.Begin(ctx, o)
	return &meddledTxn{t, m}, err
}

type meddledTxn struct {
	storage.Txn
	m *meddler
}

func (t *meddledTxn) Commit(ctx context.Context, d storage.Durability) (storage.Timestamp, error) {
	if f := t.m.before; f != nil && t.BufferedBytes() > 0 {
		t.m.before = nil
		f()
	}
	return t.Txn.Commit(ctx, d)
}

// TestRetriedAfterConflict checks an ordered insert that is repeated after a write conflict and then inserts fewer
// documents: the session stores only the results of the documents that were inserted in the end.
func TestRetriedAfterConflict(t *testing.T) {
	store := &meddler{Store: memkv.Open(memkv.Options{})}
	defer store.Close()
	w := newWorld(t, store)
	c, other := w.dial(), w.dial()
	c.ok(`{create: "c"}`)
	insert := `{insert: "c", documents: [{_id: 1}, {_id: 2}, {_id: 3}], ` + lsid + `, txnNumber: {$numberLong: "1"}}`
	store.before = func() { other.ok(`{insert: "c", documents: [{_id: 2}]}`) }
	if r := c.ok(insert); number(r.Get("n")) != 1 || number(at(r, "writeErrors.0.index")) != 1 {
		t.Fatalf("the insert after the conflict: %v", r)
	}
	if r := c.ok(insert); number(r.Get("n")) != 1 {
		t.Errorf("sent again: %v", r)
	}
	c.ok(`{delete: "c", deletes: [{q: {_id: 2}, limit: 1}]}`)
	if r := c.ok(insert); number(r.Get("n")) != 3 {
		t.Errorf("sent again without the obstacle: %v", r)
	}
	if r := c.ok(`{count: "c"}`); number(r.Get("n")) != 3 {
		t.Errorf("%v documents", r.Get("n"))
	}
}

// TestArraysInTransaction checks that a transaction which inserts the first array into an index finds this document
// once by the index, not once for each element.
func TestArraysInTransaction(t *testing.T) {
	c := newWorld(t, nil).dial()
	c.ok(`{createIndexes: "c", indexes: [{key: {a: 1}, name: "a"}]}`)
	c.ok(`{insert: "c", documents: [{_id: 1, a: 5}]}`)
	txn := lsid + `, txnNumber: {$numberLong: "1"}, autocommit: false`
	c.ok(`{insert: "c", documents: [{_id: 2, a: [1, 2, 3]}], startTransaction: true, ` + txn + `}`)
	r := c.ok(`{find: "c", filter: {a: {$gte: 0}}, hint: "a", ` + txn + `}`)
	docs, _ := at(r, "cursor.firstBatch").Array()
	if docs.Len() != 2 {
		t.Errorf("found %v", docs)
	}
	c.ok(`{commitTransaction: 1, $db: "admin", ` + txn + `}`)
}

// TestManyOnView checks that an update or delete of many documents of a view is refused, as one of a single document
// is.
func TestManyOnView(t *testing.T) {
	c := newWorld(t, nil).dial()
	c.ok(`{create: "v", viewOn: "c", pipeline: []}`)
	for _, command := range []string{
		`{update: "v", updates: [{q: {}, u: {$set: {a: 1}}, multi: true}]}`,
		`{delete: "v", deletes: [{q: {}, limit: 0}]}`,
	} {
		if r := c.run(command); number(at(r, "writeErrors.0.code")) != 166 {
			t.Errorf("%s: %v", command, r)
		}
	}
}

// TestPanicInTransaction checks that a command that panics aborts its transaction, and that its session and the
// documents that it wrote can be used again.
func TestPanicInTransaction(t *testing.T) {
	w := newWorld(t, nil)
	c := w.dial()
	c.ok(`{insert: "c", documents: [{_id: 1}]}`)
	txn := lsid + `, txnNumber: {$numberLong: "1"}, autocommit: false`
	c.ok(`{update: "c", updates: [{q: {_id: 1}, u: {$set: {a: 1}}}], startTransaction: true, ` + txn + `}`)
	def := w.Lookup("find")
	run := def.Run
	def.Run = func(*command.Call) error { panic("a bug") }
	func() {
		defer func() { recover(); def.Run = run }()
		c.run(`{find: "c", ` + txn + `}`)
	}()
	c = w.dial()
	if got := c.code(`{find: "c", ` + txn + `}`); got != 251 {
		t.Errorf("the transaction goes on: %d", got)
	}
	c.ok(`{update: "c", updates: [{q: {_id: 1}, u: {$set: {a: 2}}}], maxTimeMS: 2000}`)
}

// TestManyWriteErrors checks that the write errors of a command with very many of them fit into the reply.
func TestManyWriteErrors(t *testing.T) {
	c := newWorld(t, nil).dial()
	c.ok(`{createIndexes: "c", indexes: [{key: {a: 1}, name: "a", unique: true}]}`)
	long, docs := strings.Repeat("x", 1000), []string{}
	for i := range 3000 {
		docs = append(docs, fmt.Sprintf(`{_id: %d, a: %q}`, i, long))
	}
	r := c.ok(`{insert: "c", ordered: false, documents: [` + strings.Join(docs, ",") + `]}`)
	errs, _ := r.Get("writeErrors").Array()
	if errs.Len() != 2999 || len(r) > 3<<20/2 {
		t.Errorf("%d errors in %d bytes", errs.Len(), len(r))
	}
	if msg, _ := at(r, "writeErrors.0.errmsg").Str(); !strings.Contains(msg, "E11000") || number(at(r, "writeErrors.2998.code")) != 11000 {
		t.Errorf("first %q, last %v", msg, at(r, "writeErrors.2998"))
	}
}

// TestManyInTransaction checks that an update of many documents in a transaction does not read again the documents that
// it has moved, in the index or to another shard.
func TestManyInTransaction(t *testing.T) {
	c := newWorld(t, nil).dial()
	c.ok(`{createIndexes: "c", indexes: [{key: {a: 1}, name: "a"}]}`)
	c.ok(`{shardCollection: "test.s", key: {k: "hashed"}, numInitialChunks: 4, $db: "admin"}`)
	docs, in := []string{}, []string{}
	for i := range 600 {
		docs = append(docs, fmt.Sprintf(`{_id: %d, a: %d, k: %d}`, i, 2*i, i))
		in = append(in, fmt.Sprint(2*i))
	}
	for n, x := range []struct{ coll, q, u string }{
		{"c", `{a: {$in: [` + strings.Join(in, ",") + `]}}`, `{$inc: {a: 200, c: 1}}`},
		{"s", `{}`, `{$inc: {k: 10000, c: 1}}`},
	} {
		c.ok(`{insert: "` + x.coll + `", documents: [` + strings.Join(docs, ",") + `]}`)
		txn := fmt.Sprintf(`%s, txnNumber: {$numberLong: "%d"}, autocommit: false`, lsid, n+1)
		r := c.ok(`{update: "` + x.coll + `", updates: [{q: ` + x.q + `, u: ` + x.u + `, multi: true}], startTransaction: true, ` + txn + `}`)
		c.ok(`{commitTransaction: 1, $db: "admin", ` + txn + `}`)
		once := c.ok(`{count: "` + x.coll + `", query: {c: 1}}`)
		if number(r.Get("nModified")) != 600 || number(once.Get("n")) != 600 {
			t.Errorf("%s: %v changed, %v of them once", x.coll, r.Get("nModified"), once.Get("n"))
		}
	}
}
