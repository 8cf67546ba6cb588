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
	"github.com/cantledb/cantle/collection/index"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/rewind"
	"github.com/cantledb/cantle/collection/shard"
	"github.com/cantledb/cantle/collection/write"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/shard/tally"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/keyspace"
)

// retriesMax bounds how often a statement that met a conflict runs again.
const retriesMax = 64

// errStale says that the catalog entry a write was routed by is not current any
// more; the write begins again.
var errStale = errors.New("stale catalog entry")

// errVanished says that the collection a write needs, which was made if it was
// missing, has been dropped since; the write makes it again.
var errVanished = errors.New("the collection was dropped")

// errFrozen says that the collection is being rewritten: the write waits.
var errFrozen = errors.New("the collection is being rewritten")

// frozenWait is how long a write waits before it looks again.
const frozenWait = 5 * time.Millisecond

// attempt is one try of a write: a pinned catalog entry and a transaction.
type attempt struct {
	c    *Cluster
	op   *Op
	ns   collection.Namespace
	snap *catalog.Snapshot
	coll *catalog.Collection // nil when the namespace does not exist
	txn  storage.Txn         // nil until begin
	// targets are the shards written to, made on demand.
	targets map[shard.ID]*write.Target
	one     write.Target     // for the common case of one shard
	multi   bool             // inside a multi-document transaction
	turn    *line            // of a capped collection, held from begin to end
	trimmed keyspace.Hash    // where its documents begin after the commit, 0 if unchanged
	paid    *ratelimit.Scope // where it has been admitted already
	grown   []growth         // of shard key values near their limit
	old     exec.Row         // memory of the row to be changed
	fresh   *bson.Builder    // memory of what becomes of its document
}

// write runs fn until it commits without a conflict. fn calls a.begin before it
// reads or writes and must start from nothing each time. In a multi-document
// transaction fn runs once, inside a savepoint, and nothing is committed.
func (c *Cluster) write(o *Op, ns collection.Namespace, fn func(a *attempt) error) error {
	run := c.try
	if o.Txn != nil {
		run = c.writeInTxn
	}
	var paid *ratelimit.Scope
	for try := 0; ; try++ {
		err := run(o, ns, paid, fn)
		if u := (*unpaid)(nil); errors.As(err, &u) {
			o.Env.Pause()
			waited, err := c.Budgets.Enter(o.Env.Context(), c.Now(), u.scope, o.class)
			if o.Waited += waited; err != nil {
				return err
			}
			paid = &u.scope
			try--
			continue
		}
		if o.Txn != nil && errors.Is(err, errVanished) {
			return mongoerr.NoNamespace(ns.String())
		}
		if o.Txn != nil {
			if errors.Is(err, storage.ErrConflict) {
				o.meter.Conflict()
			}
			return err
		}
		if errors.Is(err, errVanished) && try < retriesMax {
			if _, err := c.ensure(o, ns); err != nil {
				return err
			}
			continue
		}
		if errors.Is(err, errFrozen) {
			if err := o.Env.Interrupted(); err != nil {
				return err
			}
			time.Sleep(frozenWait)
			try--
			continue
		}
		if b := (*blocked)(nil); errors.As(err, &b) {
			o.Env.Pause()
			if err := b.wait(o.Env.Context()); err != nil {
				return err
			}
			try--
			continue
		}
		if !errors.Is(err, storage.ErrConflict) && !errors.Is(err, errStale) {
			return err
		}
		if try >= retriesMax {
			o.meter.Conflict()
			return storage.ErrConflict
		}
		if err := o.Env.Interrupted(); err != nil {
			return err
		}
		if try > 2 {
			time.Sleep(rand.N(time.Millisecond << min(try, 5)))
		}
	}
}

func (c *Cluster) try(o *Op, ns collection.Namespace, paid *ratelimit.Scope, fn func(a *attempt) error) error {
	a := newAttempt()
	a.c, a.op, a.ns, a.snap, a.paid = c, o, ns, c.Catalog.Pin(), paid
	defer a.end()
	a.coll = a.snap.Collection(ns)
	if a.coll != nil && a.coll.Frozen {
		return errFrozen
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
	if c.Catalog.Peek() != a.snap && c.Catalog.Peek().Collection(ns) != a.coll && !sameRoute(c.Catalog.Peek().Collection(ns), a.coll) {
		return errStale
	}
	ts, err := a.txn.Commit(o.Env.Context(), storage.Buffered) // Harden waits for the disk
	if err != nil {
		return err
	}
	done, o.soft = true, true
	o.Committed = max(o.Committed, ts)
	for t := range a.all() {
		d := tally.Count{Docs: t.Docs, Bytes: t.Bytes}
		if d != (tally.Count{}) {
			c.Tally.Of(a.coll.ID).Shard(t.Shard.ID).Add(ts, d)
		}
	}
	applyGrowth(a.grown)
	if a.turn != nil {
		a.pass()
	}
	return nil
}

// Harden waits until what the statements of an op have written and read is durable,
// if its write concern asks for that: one wait serves all of them. It is called
// before the client is told of them, whatever became of the command.
func (c *Cluster) Harden(o *Op) error {
	if !o.soft || o.Durability != storage.Synced {
		return nil
	}
	o.soft = false
	// Not the command's context: what is committed is not undone when its time is up.
	return c.sync(context.Background())
}

// sameRoute reports that a write planned with one entry may commit under the
// other: nothing that decides where and what it writes has changed. A multikey
// mark made by this very write is such a change.
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

// begin opens the transaction, waiting for the given record keys.
func (a *attempt) begin(latch ...[]byte) error {
	if a.txn != nil {
		return nil
	}
	err := a.takeTurn()
	if err != nil {
		return err
	}
	a.txn, err = a.c.Store.Begin(a.op.Env.Context(), storage.TxnOptions{Latch: latch})
	return err
}

// target is where documents of a shard are written.
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
		t.Multikey, t.Claim = a.markMultikey, a.claim
	}
	t.Session, t.TxnNumber, t.StmtID = a.op.Session, a.op.TxnNumber, a.op.Statement(0)
	t.Multi, t.Owner = a.multi, a.op.Owner
	t.Bypass = a.op.BypassValidation
	return t
}

// claim is told of every record key, and of every key of a unique index, before it is
// written.
func (a *attempt) claim(key []byte) error {
	if a.multi {
		return a.c.intents.claim(a.op.Txn, key)
	}
	return a.c.intents.check(key)
}

// all yields the targets used.
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

// markMultikey publishes that an index has met arrays. It is done before the
// commit, so that a reader who sees the entries finds the mark too. A
// transaction reads its own entries by a catalog of its own, which gets the mark
// as well.
func (a *attempt) markMultikey(ix *catalog.Index, paths index.MultikeyPaths) error {
	if withMark(a.c.Catalog.Peek().ByID(a.coll.ID), ix, paths) != nil {
		err := a.c.Catalog.Change(a.op.Env.Context(), func(m *catalog.Mutation) error {
			now := m.Snapshot().ByID(a.coll.ID)
			if now == nil {
				return errStale
			}
			if marked := withMark(now, ix, paths); marked != nil {
				return m.Put(marked)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	if a.multi {
		if marked := withMark(a.op.Txn.Catalog.ByID(a.coll.ID), ix, paths); marked != nil {
			a.op.Txn.Catalog = a.op.Txn.Catalog.Adopt(marked)
		}
	}
	return nil
}

// withMark returns the entry with the mark of an index, nil when it has it
// already or lacks the index.
func withMark(coll *catalog.Collection, ix *catalog.Index, paths index.MultikeyPaths) *catalog.Collection {
	if coll == nil {
		return nil
	}
	for _, x := range coll.Indexes {
		if x.ID == ix.ID && !x.Multikey.Covers(paths) {
			marked := *x
			marked.Multikey = x.Multikey.Union(paths)
			return coll.WithIndex(&marked)
		}
	}
	return nil
}

// attempts is the memory of attempts that ended.
var attempts = sync.Pool{New: func() any { return &attempt{fresh: bson.NewBuilder(nil)} }}

// keepBytes is how much of each kind of memory an attempt leaves to the next one.
const keepBytes = 64 << 10

// newAttempt makes an attempt, to be ended.
func newAttempt() *attempt { return attempts.Get().(*attempt) }

// end closes what the attempt opened; it is not used again.
func (a *attempt) end() {
	if a.txn != nil && !a.multi {
		a.txn.Close()
	}
	a.leave()
	if a.snap != nil && !a.multi {
		a.snap.Unpin()
	}
	a.one.Reset()
	if cap(a.old.Doc) > keepBytes {
		a.old.Doc = nil
	}
	if cap(a.fresh.Since(0)) > keepBytes {
		a.fresh.Reset(nil)
	}
	*a = attempt{one: a.one, old: exec.Row{Doc: a.old.Doc[:0], ID: a.old.ID[:0]}, fresh: a.fresh}
	attempts.Put(a)
}

// writeInTxn runs a statement of a multi-document transaction. A failed one
// leaves no trace. The catalog is pinned only meanwhile, so that an open
// transaction holds up no DDL; what the transaction was routed by is looked at
// again by every statement and by the commit.
func (c *Cluster) writeInTxn(o *Op, ns collection.Namespace, paid *ratelimit.Scope, fn func(a *attempt) error) error {
	t := o.Txn
	now := c.Catalog.Pin()
	defer now.Unpin()
	a := newAttempt()
	a.c, a.op, a.ns, a.snap, a.paid = c, o, ns, t.Catalog, paid
	a.coll, a.txn, a.multi = t.Catalog.Collection(ns), t.Store, true
	defer a.end()
	blocked := a.coll != nil && (a.coll.Frozen || a.coll.VisibleFrom > t.laid)
	switch {
	case t.HasMade(a.coll):
		if now.Collection(ns) != nil {
			return storage.ErrConflict // somebody else's is there by now
		}
	case blocked || now.Collection(ns) != a.coll && !sameRoute(now.Collection(ns), a.coll):
		return snapshotUnavailable(ns)
	}
	if err := c.rewound(o, ns, a.coll); err != nil {
		return err
	}
	if a.coll != nil {
		if err := o.confine(a.coll); err != nil {
			return err
		}
	}
	if a.coll != nil && a.coll.Options.Capped {
		return mongoerr.New(mongoerr.OperationNotSupportedInTransaction,
			"Collection '%s' is a capped collection. Writes in transactions are not allowed on capped collections.", ns)
	}
	save := t.Store.Savepoint()
	if err := fn(a); err != nil {
		t.Store.RollbackTo(save)
		return err
	}
	for w := range a.all() {
		t.tallies = append(t.tallies, tallied{a.coll.ID, w.Shard.ID, tally.Count{Docs: w.Docs, Bytes: w.Bytes}})
	}
	t.grown = append(t.grown, a.grown...)
	if a.coll != nil {
		t.written = append(t.written, a.coll)
	}
	return nil
}

// unchanged reports that everything a transaction has written may be committed
// under a catalog: nothing it was routed by has changed.
func (t *Txn) unchanged(now *catalog.Snapshot) bool {
	for _, coll := range t.written {
		if t.HasMade(coll) {
			continue
		}
		if x := now.ByID(coll.ID); x != coll && (!sameRoute(x, coll) || x.Frozen) {
			return false // a frozen one has been copied already, perhaps
		}
	}
	return true
}

// BeginTxn opens a multi-document transaction.
func (c *Cluster) BeginTxn(o *Op) (*Txn, error) {
	for {
		snap := c.Catalog.Pin()
		t, err := c.beginAt(o, snap)
		if err != nil {
			snap.Unpin()
			return nil, err
		}
		if c.Catalog.Peek() == snap {
			snap.Unpin()
			t.Store = &countingTxn{Txn: t.Store, c: c, t: t}
			return t, nil
		}
		// The snapshot may hold what was written by a newer catalog: a reader
		// would look for index entries in the wrong places.
		t.Store.Close()
		snap.Unpin()
	}
}

// beginAt opens a transaction on the newest state, or on that of Op.At: one that is kept,
// if nothing was laid out anew since, or else one made from the log.
func (c *Cluster) beginAt(o *Op, snap *catalog.Snapshot) (*Txn, error) {
	ctx := o.Env.Context()
	t := &Txn{Catalog: snap, ended: make(chan struct{})}
	if o.At == 0 || o.At == c.Store.Latest() || c.history.catalogAt(o.At) == snap {
		txn, err := c.Store.Begin(ctx, storage.TxnOptions{At: o.At})
		if err == nil {
			t.Store, t.laid = txn, txn.ReadTimestamp()
			return t, nil
		}
		if o.At == 0 || !errors.Is(err, storage.ErrSnapshotTooOld) {
			return nil, err
		}
	}
	txn, err := rewind.Begin(ctx, c.Store, o.At, c.history.since(), c.Memory)
	if err != nil {
		return nil, err
	}
	names, err := c.numbers(ctx, o.At)
	if err != nil {
		txn.Close()
		return nil, err
	}
	t.Store, t.laid, t.past = txn, txn.State().Base(), &pastTxn{txn.State(), names}
	return t, nil
}

// countingTxn commits under a catalog pin: it makes sure that the transaction's
// routes still hold, and counts what it changed before a drain can end.
type countingTxn struct {
	storage.Txn
	c *Cluster
	t *Txn
}

// Commit see storage.Txn.
func (x *countingTxn) Commit(ctx context.Context, d storage.Durability) (storage.Timestamp, error) {
	now := x.c.Catalog.Pin()
	defer now.Unpin()
	if !x.t.unchanged(now) {
		x.Close()
		return 0, storage.ErrConflict
	}
	var ts storage.Timestamp
	var err error
	if len(x.t.made) > 0 {
		ts, err = x.c.definer.CommitMade(ctx, x.Txn, x.t.collectionsMade(), d)
	} else {
		ts, err = x.Txn.Commit(ctx, d)
	}
	if err == nil {
		x.c.Committed(x.t, ts)
	}
	x.c.intents.release(x.t)
	return ts, err
}

// Close see storage.Txn.
func (x *countingTxn) Close() {
	x.Txn.Close()
	x.c.intents.release(x.t)
}

// Committed counts what a transaction changed, after its commit at ts. The
// transaction's own Commit has done so already; a second time does nothing.
func (c *Cluster) Committed(t *Txn, ts storage.Timestamp) {
	for _, x := range t.tallies {
		if x.Count != (tally.Count{}) {
			c.Tally.Of(x.coll).Shard(x.shard).Add(ts, x.Count)
		}
	}
	applyGrowth(t.grown)
	t.tallies, t.grown = nil, nil
}

// snapshotUnavailable is the error of a transaction or snapshot read that met a
// change of the collection; the client begins again.
func snapshotUnavailable(ns collection.Namespace) error {
	return mongoerr.New(mongoerr.SnapshotUnavailable, "Unable to read from a snapshot due to pending collection catalog changes to %s; please retry the operation", ns).
		With(mongoerr.TransientTransactionError)
}
