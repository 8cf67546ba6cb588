package cluster

import (
	"context"
	"errors"
	"slices"

	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/rewind"
	"github.com/cantledb/cantle/collection/shard"
	"github.com/cantledb/cantle/shard/intents"
	"github.com/cantledb/cantle/shard/tally"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/keyspace"
)

// Txn is a multi-document transaction. Its statements read and write through
// one storage transaction and use one state of the catalog, which is not
// pinned: see writeInTxn.
type Txn struct {
	Store    storage.Txn
	Catalog  *catalog.Snapshot
	Level    string            // the read concern level that the client gave at the beginning; "" for none
	layoutAt storage.Timestamp // Store can be read only by shards and indexes that exist since this time or earlier
	rewound  *rewoundTxn       // the past state that it reads, if no snapshot was kept for the time of its beginning; nil otherwise
	holder   *intents.Holder
	tallies  []tallied
	grown    []growth
	written  []*catalog.Collection   // the catalog entries by which it has written, each once
	created  []keyspace.CollectionID // created by the transaction: see createInTxn
	// untouched: no statement has read or written, and the transaction is not at a time in the past. A first write
	// may then wait and renew the snapshot, for which renewals counts, and has got the key reserved by the wait.
	untouched bool
	renewals  int
	reserved  []byte
	// confinedTo is the collection that the transaction is confined to under the rules
	// of Azure Cosmos DB; 0 = none yet.
	confinedTo keyspace.CollectionID
}

// tallied is a change of a shard's counts of documents and bytes, which is applied when the transaction has
// committed.
type tallied struct {
	coll  keyspace.CollectionID
	shard shard.ID
	tally.Count
}

// claim records that a transaction writes a key. Errors: storage.ErrConflict if another open
// transaction has written it, or a commit since t began; storage errors.
func (c *Cluster) claim(ctx context.Context, t *Txn, key []byte) error {
	err := t.Store.Claim(ctx, key)
	if err == nil {
		err = c.intents.Claim(t.holder, key)
	}
	if errors.Is(err, storage.ErrConflict) {
		c.claimsLost.Add(1)
	}
	return err
}

// AwaitTxns waits for the end of the transactions that have written to a collection by now:
// changing its indexes, or dropping it, would break them.
// Manual: core/transactions-production-consideration#pending-ddl-operations-and-transactions.
func (c *Cluster) AwaitTxns(o *Op, coll *catalog.Collection) error {
	if coll == nil || o.Txn != nil { // the caller refuses a statement in a transaction anyway
		return nil
	}
	if o.LockWait != nil {
		o.LockWait.Begin(c.Now())
		defer func() { o.LockWait.End(c.Now()) }()
	}
	return c.intents.Await(o.Env.Context(), coll.ID)
}

// writeInTxn runs a statement of a multi-document transaction. A failed statement leaves no writes. The collection is
// pinned only while the statement runs, so that an open transaction does not delay a split; DDL waits for the
// transaction in AwaitTxns. Every statement and the commit check again the entries by which the transaction was
// routed.
func (c *Cluster) writeInTxn(o *Op, ns collection.Namespace, fn func(a *attempt) error) error {
	t := o.Txn
	now, pinned := c.catalog.Pin(ns)
	defer pinned.Unpin()
	a := newAttempt()
	a.c, a.op, a.ns, a.snap = c, o, ns, t.Catalog
	a.coll, a.txn, a.multi = t.Catalog.Collection(ns), t.Store, true
	defer a.end()
	blocked := a.coll != nil && (a.coll.Frozen || a.coll.VisibleFrom > t.layoutAt)
	switch {
	case t.HasCreated(a.coll):
		if now.Collection(ns) != nil {
			return storage.ErrConflict // a collection of that name was created outside by now
		}
	case blocked || now.Collection(ns) != a.coll && !sameRoute(now.Collection(ns), a.coll):
		return snapshotUnavailable(ns)
	}
	if err := a.snap.CheckUUID(o.Expected, o.Env.Release); err != nil {
		return err
	}
	if err := c.rewindInTxn(o, ns, a.coll); err != nil {
		return err
	}
	if a.coll != nil {
		if err := o.confineTxn(a.coll); err != nil {
			return err
		}
	}
	if a.coll != nil && a.coll.Options.Capped {
		return mongoerr.New(mongoerr.OperationNotSupportedInTransaction,
			"Collection '%s' is a capped collection. Writes in transactions are not allowed on capped collections.", ns)
	}
	if a.coll != nil {
		c.intents.Wrote(t.holder, a.coll.ID)
	}
	save := t.Store.Savepoint()
	if err := fn(a); err != nil {
		t.Store.RollbackTo(save)
		return err
	}
	c.touched(t)
	for w := range a.all() {
		t.tallies = append(t.tallies, tallied{a.coll.ID, w.Shard.ID, tally.Count{Docs: w.Docs, Bytes: w.Bytes}})
	}
	t.grown = append(t.grown, a.grown...)
	if a.coll != nil && !slices.Contains(t.written, a.coll) {
		t.written = append(t.written, a.coll)
	}
	return nil
}

// unchanged reports whether everything a transaction has written may be committed
// under a catalog: nothing by which it was routed has changed.
func (t *Txn) unchanged(now *catalog.Snapshot) bool {
	for _, coll := range t.written {
		if t.HasCreated(coll) {
			continue
		}
		if x := now.ByID(coll.ID); x != coll && (!sameRoute(x, coll) || x.Frozen) {
			return false // a frozen collection may have been copied already
		}
	}
	return true
}

// BeginTxn opens a multi-document transaction.
func (c *Cluster) BeginTxn(o *Op) (*Txn, error) {
	for {
		snap := c.catalog.Peek()
		t, err := c.beginAt(o, snap)
		if err != nil {
			return nil, err
		}
		if c.catalog.Peek() == snap {
			counting := countingTxn{Txn: t.Store, c: c, t: t}
			if f, ok := t.Store.(storage.Fetcher); ok {
				t.Store = &fetchingTxn{counting, f}
			} else {
				t.Store = &counting
			}
			return t, nil
		}
		// The snapshot may contain writes by a newer catalog than snap: reads by snap would look for index entries in
		// the wrong places.
		t.Store.Close()
	}
}

// beginAt opens a transaction on the newest state, or on that of Op.At: a kept state if the catalog has not changed
// since, otherwise one made from the change log.
func (c *Cluster) beginAt(o *Op, snap *catalog.Snapshot) (*Txn, error) {
	ctx := o.Env.Context()
	t := &Txn{Catalog: snap, holder: intents.NewHolder()}
	if o.At == 0 || o.At == c.store.Latest() || c.states.catalogAt(o.At) == snap {
		txn, err := c.store.Begin(ctx, storage.TxnOptions{At: o.At, Memory: o.Writes})
		if err == nil {
			t.Store, t.layoutAt, t.untouched = txn, txn.ReadTimestamp(), o.At == 0
			return t, nil
		}
		if o.At == 0 || !errors.Is(err, storage.ErrSnapshotTooOld) {
			return nil, err
		}
	}
	txn, err := rewind.Begin(ctx, c.store, o.At, c.states.since(), c.memory)
	if err != nil {
		return nil, err
	}
	names, err := c.namesAt(ctx, o.At)
	if err != nil {
		txn.Close()
		return nil, err
	}
	t.Store, t.layoutAt, t.rewound = txn, txn.State().Base(), &rewoundTxn{txn.State(), names}
	return t, nil
}

// countingTxn is the storage transaction of a Txn. Its Commit pins the written collections, checks that the
// transaction's routes still hold, and counts its changes before it unpins them, so that a drain waits for all of
// that.
type countingTxn struct {
	storage.Txn
	c *Cluster
	t *Txn
}

// Commit implements storage.Txn.
func (x *countingTxn) Commit(ctx context.Context, d storage.Durability) (storage.Timestamp, error) {
	ids := make([]keyspace.CollectionID, len(x.t.written))
	for i, coll := range x.t.written {
		ids[i] = coll.ID
	}
	now, unpin, err := x.c.pinAppliedByAll(ctx, ids)
	if err != nil {
		x.Close()
		return 0, err
	}
	defer unpin()
	if !x.t.unchanged(now) {
		x.Close()
		return 0, storage.ErrConflict
	}
	var ts storage.Timestamp
	for _, id := range ids {
		counts := x.c.tally.Of(id)
		turn := counts.Enter()
		defer func() {
			counts.Failed(err)
			counts.Leave(turn)
		}()
	}
	if len(x.t.created) > 0 {
		ts, err = x.c.definer.CommitCreated(ctx, x.Txn, x.t.createdCollections(), d)
	} else {
		ts, err = x.Txn.Commit(ctx, d)
	}
	if err == nil {
		x.c.Committed(x.t, ts)
	}
	x.c.intents.Release(x.t.holder)
	return ts, err
}

// pinAppliedByAll pins the entries of collections as Catalog.PinIDs does, once all peers have applied these entries.
func (c *Cluster) pinAppliedByAll(ctx context.Context, ids []keyspace.CollectionID) (s *catalog.Snapshot, unpin func(), err error) {
	for {
		s, unpin = c.catalog.PinIDs(ids...)
		i := slices.IndexFunc(ids, func(id keyspace.CollectionID) bool {
			coll := s.ByID(id)
			return coll != nil && !c.catalog.EntryAppliedByAll(coll)
		})
		if i < 0 {
			return s, unpin, nil
		}
		unpin()
		if err := c.catalog.WaitEntryAppliedByAll(ctx, s.ByID(ids[i])); err != nil {
			return nil, nil, err
		}
	}
}

// fetchingTxn is a countingTxn over a store where each read is a round trip: it also offers the store's prefetching
// of keys.
type fetchingTxn struct {
	countingTxn
	storage.Fetcher
}

// Close implements storage.Txn.
func (x *countingTxn) Close() {
	x.Txn.Close()
	x.c.intents.Release(x.t.holder)
}

// Committed counts the changes of a transaction, after its commit at ts. The
// transaction's own Commit has done so already; a second call does nothing.
func (c *Cluster) Committed(t *Txn, ts storage.Timestamp) {
	for _, x := range t.tallies {
		if x.Count != (tally.Count{}) {
			c.tally.Of(x.coll).Shard(x.shard).Add(ts, x.Count)
		}
	}
	applyGrowth(t.grown)
	t.tallies, t.grown = nil, nil
}

// snapshotUnavailable is the error of a transaction or snapshot read that finds a
// change of the collection; the client begins again.
func snapshotUnavailable(ns collection.Namespace) error {
	return mongoerr.New(mongoerr.SnapshotUnavailable, "Unable to read from a snapshot due to pending collection catalog changes to %s; please retry the operation", ns).
		With(mongoerr.TransientTransactionError)
}
