package jobs

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/index"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/collection/shard"
	"github.com/cantledb/cantle/collection/write"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/shard/tally"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/keyspace"
)

// errDropped means that the collection of a job was dropped.
var errDropped = errors.New("jobs: the collection was dropped")

// errStale makes a job's batch begin again with the current catalog entry, because the entry by which it began is no
// longer current, is frozen, or was not applied by all peers.
var errStale = errors.New("jobs: stale catalog entry")

// Batches of background work are small, so that a conflict repeats little and clients are not delayed. After each
// conflict a batch shrinks to a quarter (batchCut), down to one row: where clients write faster than a whole batch
// can be read and committed, it would conflict forever.
const (
	batchRows  = 256
	batchBytes = 1 << 20
	batchCut   = 4
)

// batch is one small transaction of a background job on a collection, under a pinned catalog entry.
type batch struct {
	r           *Runner
	env         *mql.Env
	coll        *catalog.Collection
	txn         storage.Txn
	rows        int // maximum number of rows in this try, at least 1
	targets     map[shard.ID]*write.Target
	cappedState write.CappedState // of a capped collection to which peers write too
}

// commit runs fn, which does one batch of a job's work on a collection, until the transaction of the batch commits
// without a conflict. fn starts from nothing each time. The work, counted on meter, is charged to the collection's
// budget, unless it is eager.
// Errors: errDropped, the errors of fn and of the commit, the cause of ctx.
func (r *Runner) commit(ctx context.Context, id keyspace.CollectionID, meter *ratelimit.Meter, o storage.TxnOptions, fn func(b *batch) error) error {
	most := batchRows
	for try := 0; ; try++ {
		if err := r.admit(ctx, id); err != nil {
			return err
		}
		err := r.try(ctx, id, meter, o, most, fn)
		conflict := errors.Is(err, storage.ErrConflict)
		if !conflict && !errors.Is(err, errStale) {
			return err
		}
		if conflict {
			most = max(most/batchCut, 1)
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if try > 1 && !sleep(ctx, rand.N(time.Millisecond<<min(try, 7)), nil) {
			return context.Cause(ctx)
		}
	}
}

func (r *Runner) try(ctx context.Context, id keyspace.CollectionID, meter *ratelimit.Meter, o storage.TxnOptions, most int, fn func(b *batch) error) error {
	snap, unpin := r.Catalog.PinIDs(id)
	defer unpin()
	coll := snap.ByID(id)
	if coll == nil {
		return errDropped
	}
	if coll.Frozen {
		return errStale
	}
	if !r.Catalog.EntryAppliedByAll(coll) {
		unpin()
		if err := r.Catalog.WaitEntryAppliedByAll(ctx, coll); err != nil {
			return err
		}
		return errStale
	}
	txn, err := r.Store.Begin(ctx, o)
	if err != nil {
		return err
	}
	defer txn.Close()
	if err := storage.Guard(ctx); err != nil {
		return err
	}
	b := &batch{r: r, env: r.env(ctx), coll: coll, txn: txn, rows: most}
	meter.Reset(uint64(id), nil)
	b.env.Meter = meter
	defer b.env.ReleaseSlot()
	if err := b.env.Spend(batchBytes); err != nil {
		return err
	}
	if b.sharesCapped() {
		if b.cappedState, err = write.ReadCappedState(ctx, txn, id); err != nil {
			return err
		}
	}
	if err := fn(b); err != nil {
		return err
	}
	if err := b.saveCappedState(); err != nil {
		return err
	}
	b.env.ReleaseSlot()
	if now := r.Catalog.Peek(); now != snap && (!sameRoute(now.ByID(id), coll) || r.Catalog.MayHaveMissedFreeze(now.ByID(id))) {
		return errStale // a freeze may not have waited for this server; see cluster.attempt
	}
	counts := r.Tally.Of(id)
	turn := counts.Enter()
	defer counts.Leave(turn)
	ts, err := txn.Commit(ctx, storage.Buffered)
	if err != nil {
		counts.Failed(err)
		return err
	}
	for _, t := range b.targets {
		if d := (tally.Count{Docs: t.Docs, Bytes: t.Bytes}); d != (tally.Count{}) {
			counts.Shard(t.Shard.ID).Add(ts, d)
		}
	}
	if !eager(ctx) {
		r.Budgets.Charge(r.Now(), background, meter)
	}
	meter.Charged()
	return nil
}

// background is the class in which the work of this package, unless eager, is charged to budgets.
var background = ratelimit.Class{Priority: ratelimit.Background}

// admit waits until the clients of a collection leave a part of its budget for background work. Eager work
// (ExpireDue) does not wait.
func (r *Runner) admit(ctx context.Context, id keyspace.CollectionID) error {
	pool := r.Budgets.Collection(uint64(id))
	if eager(ctx) || !pool.Limited() && !pool.Shared() {
		return nil
	}
	for {
		_, err := r.Budgets.Wait(ctx, r.Now(), ratelimit.Scope{Collection: uint64(id)}, background, ratelimit.RetrySecondsMax*time.Second)
		var full *ratelimit.Throttled
		switch {
		case err == nil:
			return nil
		case errors.As(err, &full):
			if !sleep(ctx, 100*time.Millisecond, nil) {
				return context.Cause(ctx)
			}
		case !errors.Is(err, ratelimit.ErrRetryTimeout):
			return err
		}
	}
}

// sameRoute reports whether writes made under one catalog entry are correct under another: the shards are the same,
// and so are the indexes to maintain.
func sameRoute(now, then *catalog.Collection) bool {
	if now == nil || now.Map != then.Map || len(now.Indexes) != len(then.Indexes) {
		return false
	}
	for i, ix := range now.Indexes {
		if ix.ID != then.Indexes[i].ID || ix.State != then.Indexes[i].State {
			return false
		}
	}
	return true
}

// sharesCapped reports whether the batch writes to a capped collection to which peers may write too.
func (b *batch) sharesCapped() bool { return b.coll.Options.Capped && !b.r.exclusive() }

// saveCappedState writes the counts that the batch has changed in a capped collection to the row that this server
// shares with peers.
func (b *batch) saveCappedState() error {
	if !b.sharesCapped() {
		return nil
	}
	l := b.cappedState
	for _, t := range b.targets {
		l.Docs, l.Bytes = l.Docs+t.Docs, l.Bytes+t.Bytes
	}
	if l == b.cappedState {
		return nil
	}
	return l.Save(b.txn, b.coll.ID)
}

// target returns the write target of a shard in this batch.
func (b *batch) target(d *shard.Descriptor) *write.Target {
	t := b.targets[d.ID]
	if t == nil {
		if b.targets == nil {
			b.targets = map[shard.ID]*write.Target{}
		}
		t = &write.Target{Coll: b.coll, Shard: d, Txn: b.txn, Bypass: true, Multikey: b.markMultikey}
		b.targets[d.ID] = t
	}
	return t
}

// markMultikey publishes in the catalog, before the commit, that an index contains the elements of arrays (multikey),
// so that a reader of the entries finds the mark too.
func (b *batch) markMultikey(ix *catalog.Index, paths index.MultikeyPaths) error {
	err := b.r.Catalog.Change(b.env.Context(), func(m *catalog.Mutation) error {
		now := m.Snapshot().ByID(b.coll.ID)
		if now == nil {
			return errDropped
		}
		for _, x := range now.Indexes {
			if x.ID == ix.ID && !x.Multikey.Covers(paths) {
				marked := *x
				marked.Multikey = x.Multikey.Union(paths)
				return m.Put(now.WithIndex(&marked))
			}
		}
		return nil
	})
	if now := b.r.Catalog.Peek().ByID(b.coll.ID); err == nil && now != nil {
		err = b.r.Catalog.WaitEntryAppliedByAll(b.env.Context(), now) // another writer may just have made the mark
	}
	return err
}
