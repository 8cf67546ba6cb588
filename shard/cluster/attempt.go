package cluster

import (
	"context"
	"errors"
	"iter"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/exec"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/shard"
	"github.com/cantledb/cantle/collection/write"
	"github.com/cantledb/cantle/shard/tally"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/keyspace"
)

// retriesMax bounds how often a statement is retried after a conflict.
const retriesMax = 64

// errStale means that the catalog entry by which a write was routed is no longer
// current. The write begins again.
var errStale = errors.New("stale catalog entry")

// errVanished means that the collection of a write, which is created if it is missing, has been dropped since.
// Outside of a transaction the write creates it again.
var errVanished = errors.New("the collection was dropped")

// attempt is one try of a write: a pinned catalog entry and a transaction. It holds the
// cluster and the op, so that its methods do not take them as parameters.
type attempt struct {
	c    *Cluster
	op   *Op
	ns   collection.Namespace
	snap *catalog.Snapshot
	coll *catalog.Collection // nil when the namespace does not exist
	// pinned is coll if the attempt has pinned it.
	pinned *catalog.Collection
	txn    storage.Txn // nil until begin
	// targets are the shards written to, made on demand.
	targets     map[shard.ID]*write.Target
	one         write.Target      // for the common case of one shard
	multi       bool              // inside a multi-document transaction
	cappedLock  *cappedLock       // lock of a capped collection, held from begin to end; nil for others
	cappedState write.CappedState // the row of a capped collection that servers share, as the transaction read it; used only if peers write
	trimmed     keyspace.Hash     // the position of a capped collection's first document after the commit, 0 if unchanged
	grown       []growth          // the changes of the sizes of shard key values near their limit
	key         [1][]byte         // memory for the record key, if a statement names the record
	old         exec.Row          // memory for the row to be changed
	fresh       *bson.Builder     // memory for the new version of its document
	delta       *bson.Builder     // memory for the delta of the change
	scratch     expr.Scratch      // of the update
}

// delay is the error of an attempt of a write that must wait before the next attempt, for request units, for peers,
// for the end of a rewriting, or for the end of a transaction that has written the same key (intents.Blocked, contended). During
// Wait the write holds no pin and no transaction of its own. Such attempts do not count towards retriesMax.
type delay interface {
	error
	// Wait returns nil when another attempt is worth making, or the error with which the command
	// ends.
	Wait(ctx context.Context) error
}

// frozen is the error of a write to a collection that is being rewritten, for another shard key for example. The
// write waits until the catalog changes; a new entry shows the end of the rewriting.
type frozen struct{ snap *catalog.Snapshot }

// Error implements error.
func (f *frozen) Error() string { return "the collection is being rewritten" }

// Wait implements delay.
func (f *frozen) Wait(ctx context.Context) error {
	select {
	case <-f.snap.Replaced():
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// notAppliedByAll is the error of a write by a catalog entry that not all peers have applied yet. The write waits
// until they have.
type notAppliedByAll struct {
	catalog *catalog.Catalog
	coll    *catalog.Collection
}

// Error implements error.
func (s *notAppliedByAll) Error() string { return "not all servers know the collection as it is" }

// Wait implements delay.
func (s *notAppliedByAll) Wait(ctx context.Context) error {
	return s.catalog.WaitEntryAppliedByAll(ctx, s.coll)
}

// write runs fn, which makes the changes of one statement, until its transaction commits without a conflict, with at
// most retriesMax retries. fn calls a.begin before it reads or writes, and must start from nothing each time. In a
// multi-document transaction fn runs inside a savepoint, a conflict is final, and nothing is committed.
func (c *Cluster) write(o *Op, ns collection.Namespace, fn func(a *attempt) error) error {
	if err := o.MayWrite(ns.DB); err != nil {
		return err
	}
	if err := c.ExpireDue(o, ns); err != nil {
		return err
	}
	run := c.try
	if o.Txn != nil {
		run = c.writeInTxn
	}
	o.paid = nil
	for try := 0; ; {
		err := run(o, ns, fn)
		if err == nil {
			return nil
		}
		if d := delay(nil); errors.As(err, &d) {
			o.Env.ReleaseSlot()
			if err := d.Wait(o.Env.Context()); err != nil {
				return err
			}
			continue
		}
		if o.Txn != nil {
			return txnWriteError(o, ns, err)
		}
		if err := c.beforeRetry(o, ns, err, try); err != nil {
			return err
		}
		try++
	}
}

// txnWriteError converts the error of a write in a multi-document transaction, where no conflict is retried. A
// collection that was dropped meanwhile is reported as NamespaceNotFound, and a write conflict is counted on the
// meter.
func txnWriteError(o *Op, ns collection.Namespace, err error) error {
	switch {
	case errors.Is(err, errVanished):
		return mongoerr.NoNamespace(ns.String())
	case errors.Is(err, storage.ErrConflict):
		o.meter.Conflict()
	}
	return err
}

// beforeRetry prepares the next attempt of a write after one that ended with err: it creates a dropped collection
// again, or pauses after repeated conflicts. If err is final, or after retriesMax retries, it returns the error of
// the command.
func (c *Cluster) beforeRetry(o *Op, ns collection.Namespace, err error, try int) error {
	switch {
	case errors.Is(err, errVanished) && try < retriesMax:
		_, err := c.ensure(o, ns)
		return err
	case !errors.Is(err, storage.ErrConflict) && !errors.Is(err, errStale):
		return err
	case try >= retriesMax:
		o.meter.Conflict()
		return storage.ErrConflict
	}
	if err := o.Env.Interrupted(); err != nil {
		return err
	}
	if try > 2 {
		time.Sleep(rand.N(time.Millisecond << min(try, 5)))
	}
	return nil
}

// try makes one attempt of a write outside of multi-document transactions: it pins the catalog entry, runs fn,
// commits, and adds the changes to the counts of the shards.
func (c *Cluster) try(o *Op, ns collection.Namespace, fn func(a *attempt) error) error {
	a := newAttempt()
	a.c, a.op, a.ns = c, o, ns
	a.snap, a.coll = c.catalog.Pin(ns)
	a.pinned = a.coll
	defer a.end()
	if a.coll != nil && a.coll.Frozen {
		return &frozen{a.snap}
	}
	if a.coll != nil && !c.catalog.EntryAppliedByAll(a.coll) {
		return &notAppliedByAll{c.catalog, a.coll}
	}
	if err := a.snap.CheckUUID(o.Expected, o.Env.Release); err != nil {
		return err
	}
	done := false
	defer func() {
		if !done && a.txn != nil && o.Forget != nil {
			o.Forget(a.txn)
		}
	}()
	if err := fn(a); err != nil {
		return err
	}
	if a.txn == nil {
		return nil
	}
	if err := a.saveCappedState(); err != nil {
		return err
	}
	if a.stale() {
		return errStale
	}
	counts := c.tally.Of(a.coll.ID)
	turn := counts.Enter()
	defer counts.Leave(turn)
	ts, err := a.txn.Commit(o.Env.Context(), storage.Buffered) // WaitDurable waits for the disk
	if err != nil {
		counts.Failed(err)
		return err
	}
	done, o.needsSync = true, true
	o.Committed = max(o.Committed, ts)
	for t := range a.all() {
		d := tally.Count{Docs: t.Docs, Bytes: t.Bytes}
		if d != (tally.Count{}) {
			counts.Shard(t.Shard.ID).Add(ts, d)
		}
	}
	applyGrowth(a.grown)
	if a.cappedLock != nil {
		a.finishCapped()
	}
	return nil
}

// stale reports whether the catalog has changed since the attempt began in such a way that its writes may be in the
// wrong places.
func (a *attempt) stale() bool {
	now := a.c.catalog.Peek()
	if now == a.snap {
		return false
	}
	coll := now.Collection(a.ns)
	return coll != a.coll && (!sameRoute(coll, a.coll) || a.c.catalog.MayHaveMissedFreeze(coll))
}

// sameRoute reports whether a write planned with the entry then goes to the same places under the entry now: it is the
// same collection, with the same shard map, the same indexes in the same states, and the same validator. Other changes,
// such as multikey marks and changeStreamPreAndPostImages, do not stop the write. The caller checks Frozen.
func sameRoute(now, then *catalog.Collection) bool {
	if now == nil || then == nil || now.ID != then.ID || now.Map != then.Map || len(now.Indexes) != len(then.Indexes) {
		return false
	}
	for i, ix := range now.Indexes {
		if ix.ID != then.Indexes[i].ID || ix.State != then.Indexes[i].State {
			return false
		}
	}
	return now.Options.Validator == then.Options.Validator
}

// begin opens the attempt's transaction, which latches the given record keys, after it has taken the lock of a capped
// collection. If the transaction is open already, it does nothing.
func (a *attempt) begin(latch ...[]byte) (err error) {
	if a.txn != nil {
		return nil
	}
	if err = a.lockCapped(); err != nil {
		return err
	}
	if a.txn, err = a.c.store.Begin(a.op.Env.Context(), storage.TxnOptions{Latch: latch, Memory: a.op.Writes}); err != nil {
		return err
	}
	return a.readCappedState()
}

// target returns the write target of a shard.
func (a *attempt) target(d *shard.Descriptor) *write.Target {
	if a.one.Shard == d {
		return &a.one
	}
	if t, ok := a.targets[d.ID]; ok {
		return t
	}
	t := &a.one
	if t.Shard != nil {
		t = &write.Target{}
		if a.targets == nil {
			a.targets = map[shard.ID]*write.Target{}
		}
		a.targets[d.ID] = t
	}
	t.Coll, t.Shard, t.Txn = a.coll, d, a.txn
	if t.Multikey == nil {
		t.Multikey, t.Claim, t.Placeable = a.markMultikey, a.claim, a.placeable
	}
	t.Session, t.TxnNumber, t.StmtID = a.op.Session, a.op.TxnNumber, a.op.Statement(0)
	t.Multi, t.Owner = a.multi, a.op.Owner
	t.Bypass = a.op.BypassValidation
	t.Frontier = a.c.frontier(a.coll)
	return t
}

// claim checks, before the attempt writes a record key or a key of a unique index, that no open multi-document
// transaction has written the key. In such a transaction it also records the write. Errors: in such a transaction those
// of Cluster.claim, at its first write *contended; otherwise *intents.Blocked. For the last two the write waits.
func (a *attempt) claim(key []byte) error {
	if a.multi {
		return a.claimFirst(key, a.c.claim(a.op.Env.Context(), a.op.Txn, key))
	}
	return a.c.intents.Check(key)
}

// all yields the targets in use.
func (a *attempt) all() iter.Seq[*write.Target] {
	return func(yield func(*write.Target) bool) {
		if a.one.Shard == nil || !yield(&a.one) {
			return
		}
		for _, t := range a.targets {
			if !yield(t) {
				return
			}
		}
	}
}

// position returns the position of a new document. Errors: as catalog.Collection.Position; for a capped or a
// time-series collection also the errors of a read.
func (a *attempt) position(doc bson.Raw) (keyspace.Hash, error) {
	switch {
	case a.coll.Options.TimeSeries != nil:
		return a.timePosition(doc)
	case a.coll.Options.Capped:
		return a.cappedPosition()
	}
	return a.coll.Position(doc)
}

// insert adds a document at a position of a shard. A document that exceeds the size of its whole capped collection is
// accepted too, and the next insert removes it. Observed: mongod 8.2.
// Errors: PartitionKeyFull, and the errors of write.Target.Insert.
func (a *attempt) insert(doc bson.Raw, h keyspace.Hash, d *shard.Descriptor) error {
	if err := a.grow(doc, int64(len(doc))); err != nil {
		return err
	}
	a.op.touchDoc(a.coll, d, doc, len(doc))
	return a.target(d).Insert(a.op.Env, doc, h)
}

// placeable is write.Target.Placeable. An approximation of the count is enough.
func (a *attempt) placeable() int64 {
	return write.InsertionOrderDocs - a.c.tally.Of(a.coll.ID).Total(a.coll.Map).Docs
}

// frontier returns the frontier of a collection's insertion order, made on first use; nil if the collection has no such
// order, and if other servers write to the store.
func (c *Cluster) frontier(coll *catalog.Collection) *write.Frontier {
	if !c.exclusive || !coll.KeepsInsertionOrder() {
		return nil
	}
	if f, ok := c.frontiers.Load(coll.ID); ok {
		return f.(*write.Frontier)
	}
	f, _ := c.frontiers.LoadOrStore(coll.ID, &write.Frontier{})
	return f.(*write.Frontier)
}

// attempts is a pool of attempts that have ended, whose memory (documents, keys) new ones reuse.
var attempts = sync.Pool{New: func() any { return &attempt{fresh: bson.NewBuilder(nil), delta: bson.NewBuilder(nil)} }}

// keepBytes bounds the memory of each kind that an attempt leaves to the next one.
const keepBytes = 64 << 10

// newAttempt returns an attempt. The caller calls end.
func newAttempt() *attempt { return attempts.Get().(*attempt) }

// end closes what the attempt opened. The attempt must not be used afterwards.
func (a *attempt) end() {
	if a.txn != nil && !a.multi {
		a.txn.Close()
	}
	a.unlockCapped()
	a.scratch.Close()
	a.pinned.Unpin()
	a.one.Reset()
	if cap(a.key[0]) > keepBytes {
		a.key[0] = nil
	}
	if cap(a.old.Doc) > keepBytes {
		a.old.Doc = nil
	}
	if cap(a.fresh.Since(0)) > keepBytes {
		a.fresh.Reset(nil)
	}
	if cap(a.delta.Since(0)) > keepBytes {
		a.delta.Reset(nil)
	}
	*a = attempt{one: a.one, key: a.key, old: exec.Row{Doc: a.old.Doc[:0], ID: a.old.ID[:0]}, fresh: a.fresh, delta: a.delta}
	attempts.Put(a)
}
