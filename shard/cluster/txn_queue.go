package cluster

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/cantledb/cantle/storage"
)

// This file holds the wait of a transaction's first write. MongoDB reports a write conflict at once, and the driver
// runs the whole transaction again; with many clients at one document, most of the work is then thrown away, and some
// clients hardly ever get through. A transaction that has neither read nor written yet can wait in a queue instead,
// and take its snapshot afterwards: for the client it is as if it had begun later.

const (
	// txnLockTimeout is the default of SetTxnLockTimeout, as MongoDB has it.
	txnLockTimeout = 5 * time.Millisecond
	// renewalsMax is the maximum number of new snapshots of one transaction.
	renewalsMax = 8
)

// SetTxnLockTimeout sets the time that the first write of a transaction waits for each other transaction that has
// written the same document, before it fails with a write conflict; 0 does not wait, a negative time waits until the
// command ends. Where transactions usually take longer, it waits longer (intents.Table.Queue). A queue that moves on is
// waited for as long as the command may run.
// Manual: reference/parameters#maxTransactionLockRequestTimeoutMillis.
func (c *Cluster) SetTxnLockTimeout(d time.Duration) { c.txnLockTimeout.Store(int64(d)) }

// contended is the error of the first write of a transaction, if that has a conflict at a key. It implements delay:
// Wait gets the key for the transaction, and a new snapshot.
type contended struct {
	c   *Cluster
	op  *Op
	key []byte
}

// Error implements error.
func (q *contended) Error() string { return "another transaction has written the document" }

// Unwrap returns the error with which the write ends if it is not repeated.
func (q *contended) Unwrap() error { return storage.ErrConflict }

// Wait implements delay. Errors: storage.ErrConflict; the cause of ctx; errors of the store.
func (q *contended) Wait(ctx context.Context) error {
	t := q.op.Txn
	err := q.c.intents.Queue(ctx, t.holder, q.key, time.Duration(q.c.txnLockTimeout.Load()))
	if err == nil {
		err = q.c.renew(q.op)
	}
	if errors.Is(err, storage.ErrConflict) {
		q.op.meter.Conflict()
	}
	t.reserved = q.key
	return err
}

// mayRenew reports whether the transaction can get a new snapshot: nothing that it has read or written depends on the
// one that it has.
func (t *Txn) mayRenew() bool {
	return t.untouched && t.renewals < renewalsMax && len(t.created) == 0 && len(t.written) == 0
}

// claimFirst converts the write conflict of a transaction at a key to contended, if the write may wait and begin again.
func (a *attempt) claimFirst(key []byte, err error) error {
	t := a.op.Txn
	if err == nil && t.reserved != nil && bytes.Equal(key, t.reserved) {
		t.reserved = nil
	}
	if errors.Is(err, storage.ErrConflict) && t.mayRenew() {
		return &contended{a.c, a.op, bytes.Clone(key)}
	}
	return err
}

// touched records that the transaction has read or written: from now on it keeps its snapshot. A key that it got by a
// wait and then did not write goes to the next in the queue.
func (c *Cluster) touched(t *Txn) {
	t.untouched = false
	if t.reserved != nil {
		c.intents.Free(t.holder, t.reserved)
		t.reserved = nil
	}
}

// renew gives a transaction that has not read or written the newest snapshot.
// Errors: storage.ErrConflict if the catalog has changed since it began; errors of the store.
func (c *Cluster) renew(o *Op) error {
	t := o.Txn
	if c.catalog.Peek() != t.Catalog {
		return storage.ErrConflict
	}
	txn, err := c.store.Begin(o.Env.Context(), storage.TxnOptions{Memory: o.Writes})
	if err != nil {
		return err
	}
	if c.catalog.Peek() != t.Catalog {
		txn.Close()
		return storage.ErrConflict
	}
	old := storage.Txn(nil)
	switch x := t.Store.(type) {
	case *countingTxn:
		old, x.Txn = x.Txn, txn
	case *fetchingTxn:
		old, x.Txn, x.Fetcher = x.Txn, txn, txn.(storage.Fetcher)
	}
	old.Close()
	t.layoutAt = txn.ReadTimestamp()
	t.renewals++
	return nil
}
