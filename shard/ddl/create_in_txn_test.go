package ddl_test

import (
	"errors"
	"testing"

	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/plan"
	"github.com/cantledb/cantle/shard/cluster"
	"github.com/cantledb/cantle/shard/ddl"
	"github.com/cantledb/cantle/storage"
)

// DDL of an existing collection inside a transaction is rejected, unless it changes nothing.
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

// count returns the number of documents of a collection that are visible outside of transactions.
func (d *node) count(name string) int64 {
	d.t.Helper()
	n, err := d.Count(d.op(), ns(name), plan.Find{})
	if err != nil {
		d.t.Fatal(err)
	}
	return n
}

// A collection that a transaction creates is invisible outside until the commit publishes it with
// its documents; another transaction that creates one of that name conflicts.
func TestMadeInTransaction(t *testing.T) {
	d := newNode(t, ddl.Limits{})
	d.insert("db.other", `{_id: 1}`)
	o, rival := d.txn(), d.txn()
	d.insertIn(o, "db.c", `{_id: 1}`)
	if d.Catalog().Collection(ns("db.c")) != nil {
		t.Error("everybody sees the collection before the commit")
	}
	d.want("again", d.Create(o, ns("db.c"), ddl.CreateOptions{}), mongoerr.NamespaceExists)
	d.want("rival", d.Create(rival, ns("db.c"), ddl.CreateOptions{}), mongoerr.WriteConflict)
	d.want("view", d.Create(o, ns("db.v"), ddl.CreateOptions{Raw: d.raw(`{viewOn: "c", pipeline: []}`)}), mongoerr.OperationNotSupportedInTransaction)
	if _, err := o.Txn.Store.Commit(t.Context(), storage.Buffered); err != nil {
		t.Fatal(err)
	}
	d.want("after the commit", d.Create(d.op(), ns("db.c"), ddl.CreateOptions{}), 0) // it exists, with the same options
	if n := d.count("db.c"); n != 1 {
		t.Errorf("%d documents", n)
	}
	if got := d.logged(); got != "create create" {
		t.Errorf("the change log has %q", got)
	}
}

// Creating a collection outside of transactions, by create or by a write, does not wait for a
// transaction that creates one of the same name: the transaction cannot commit.
func TestMadeByOutsider(t *testing.T) {
	d := newNode(t, ddl.Limits{})
	for _, name := range []string{"db.created", "db.written"} {
		o := d.txn()
		d.insertIn(o, name, `{_id: 1}`)
		if name == "db.created" {
			d.want("create", d.Create(d.op(), ns(name), ddl.CreateOptions{Raw: d.raw(`{capped: true, size: 4096}`)}), 0)
		} else {
			d.insert(name, `{_id: 2}`, `{_id: 3}`)
		}
		made := d.Catalog().Collection(ns(name))
		if _, err := o.Txn.Store.Commit(t.Context(), storage.Buffered); !errors.Is(err, storage.ErrConflict) {
			t.Errorf("%s: the commit says %v, want a conflict", name, err)
		}
		if now := d.Catalog().Collection(ns(name)); now != made || made == nil {
			t.Errorf("%s: the collection is %v, was %v", name, now, made)
		}
	}
	if n := d.count("db.created"); n != 0 {
		t.Errorf("%d documents in the collection that was created, want none", n)
	}
	if n := d.count("db.written"); n != 2 {
		t.Errorf("%d documents in the collection that was written to, want 2", n)
	}
}

// A transaction continues with a collection that was created outside since it began.
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
