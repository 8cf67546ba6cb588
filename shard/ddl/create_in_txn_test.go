package ddl_test

import (
	"testing"
	"testing/synctest"

	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/plan"
	"github.com/cantledb/cantle/shard/cluster"
	"github.com/cantledb/cantle/shard/ddl"
	"github.com/cantledb/cantle/storage"
)

// DDL inside a transaction is refused.
func TestNotInTransaction(t *testing.T) {
	d := newNode(t, ddl.Limits{})
	d.insert("db.c", `{_id: 1}`)
	o := d.op()
	txn, err := d.BeginTxn(o)
	if err != nil {
		t.Fatal(err)
	}
	defer txn.Store.Close()
	o.Txn = txn
	_, err = d.Drop(o, ns("db.c"))
	d.want("drop", err, 263)
	d.want("rename", d.Rename(o, ns("db.c"), ns("db.d"), false), 263)
	d.want("index", second(d.CreateIndexes(o, ns("db.c"), d.raws(`{key: {a: 1}, name: "a"}`))), 263)
	d.want("same index", second(d.CreateIndexes(o, ns("db.c"), d.raws(`{key: {_id: 1}, name: "_id_"}`))), 0)
	d.want("new collection", second(d.CreateIndexes(o, ns("db.new"), d.raws(`{key: {a: 1}, name: "a"}`))), 0)
}

// txn begins a transaction, and returns the op of its statements.
func (d *node) txn() *cluster.Op {
	d.t.Helper()
	o := d.op()
	txn, err := d.BeginTxn(o)
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(txn.Store.Close)
	o.Txn = txn
	return o
}

// insertIn adds a document in a transaction.
func (d *node) insertIn(o *cluster.Op, name, doc string) {
	d.t.Helper()
	if _, errs, err := d.Insert(o, ns(name), d.raws(doc), true); err != nil || len(errs) > 0 {
		d.t.Fatal(err, errs)
	}
}

// count is how many documents of a collection everybody can see.
func (d *node) count(name string) int64 {
	d.t.Helper()
	n, err := d.Count(d.op(), ns(name), plan.Find{})
	if err != nil {
		d.t.Fatal(err)
	}
	return n
}

// A collection that a transaction makes is nobody else's until the commit publishes it
// with its documents; who wants to make one of that name waits, or conflicts.
func TestMadeInTransaction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newNode(t, ddl.Limits{})
		d.insert("db.other", `{_id: 1}`)
		o, rival := d.txn(), d.txn()
		d.insertIn(o, "db.c", `{_id: 1}`)
		if d.Catalog.Peek().Collection(ns("db.c")) != nil {
			t.Error("everybody sees the collection before the commit")
		}
		d.want("again", d.Create(o, ns("db.c"), ddl.CreateOptions{}), mongoerr.NamespaceExists)
		d.want("rival", d.Create(rival, ns("db.c"), ddl.CreateOptions{}), mongoerr.WriteConflict)
		d.want("view", d.Create(o, ns("db.v"), ddl.CreateOptions{Raw: d.raw(`{viewOn: "c", pipeline: []}`)}), mongoerr.OperationNotSupportedInTransaction)

		done := make(chan error)
		go func() { done <- d.Create(d.op(), ns("db.c"), ddl.CreateOptions{}) }()
		synctest.Wait()
		select {
		case err := <-done:
			t.Fatalf("a creation did not wait for the transaction: %v", err)
		default:
		}
		if _, err := o.Txn.Store.Commit(t.Context(), storage.Buffered); err != nil {
			t.Fatal(err)
		}
		d.want("after the commit", <-done, 0) // it is there, with the same options
		if n := d.count("db.c"); n != 1 {
			t.Errorf("%d documents", n)
		}
		if got := d.logged(); got != "create create" {
			t.Errorf("the change log has %q", got)
		}
	})
}

// An aborted transaction leaves nothing, and lets those go on who waited for it.
func TestMadeAndAborted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newNode(t, ddl.Limits{})
		o := d.txn()
		d.insertIn(o, "db.c", `{_id: 1}`)
		done := make(chan error)
		go func() {
			done <- d.Create(d.op(), ns("db.c"), ddl.CreateOptions{Raw: d.raw(`{capped: true, size: 4096}`)})
		}()
		synctest.Wait()
		o.Txn.Store.Close()
		d.want("create", <-done, 0)
		if coll := d.Catalog.Peek().Collection(ns("db.c")); coll == nil || !coll.Options.Capped || d.count("db.c") != 0 {
			t.Error(coll)
		}
	})
}

// A transaction goes on with a collection that somebody else has made since it began.
func TestMadeSinceTransactionBegan(t *testing.T) {
	d := newNode(t, ddl.Limits{})
	o := d.txn()
	d.want("create", d.Create(d.op(), ns("db.c"), ddl.CreateOptions{}), 0)
	d.insertIn(o, "db.c", `{_id: 1}`)
	if _, err := o.Txn.Store.Commit(t.Context(), storage.Buffered); err != nil {
		t.Fatal(err)
	}
	if n := d.count("db.c"); n != 1 {
		t.Errorf("%d documents", n)
	}
}
