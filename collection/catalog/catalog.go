package catalog

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/collection/release"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/keyspace"
)

// Catalog holds the databases, collections, views, indexes and shard maps of a store: in memory as the current
// snapshot, durable in the store under keyspace.MetaDatabase and MetaCollection, which only the Catalog of a running
// server writes. Safe for concurrent use.
type Catalog struct {
	store   storage.Store
	current atomic.Pointer[Snapshot]

	mu           sync.Mutex                        // one change at a time; the fields below
	retired      map[keyspace.CollectionID][]*pins // of replaced entries that may still be pinned
	undetermined *Mutation                         // a change whose commit is undetermined; nil if there is none
	// changed is the time of the last change that the current snapshot contains.
	changed storage.Timestamp

	format int // newest format version to which this process has raised the store; 0 = none

	memory *ratelimit.Memory // that counts the bytes of definitions; see CountIn
	peers  *peerSync         // keeps the catalog in step with those of the peers
}

// Open reads the catalog of a store. r is the release of MongoDB that the server reports; stored
// definitions are parsed by its rules.
func Open(ctx context.Context, store storage.Store, r release.Release) (*Catalog, error) {
	env := mql.NewEnv(context.WithoutCancel(ctx))
	env.Release, env.ServerRelease = r, r
	env.JavaScript = true // stored validators were checked when they were made
	c := &Catalog{store: store, retired: map[keyspace.CollectionID][]*pins{}, peers: newPeerSync(store, env)}
	c.current.Store(newSnapshot(0))
	reader, err := store.Snapshot(ctx, 0)
	if err != nil {
		return nil, err
	}
	defer reader.Close()
	m, rows, err := c.read(ctx, reader, reader.ReadTimestamp())
	if err != nil {
		return nil, err
	}
	c.current.Store(m.next)
	c.join(rows, reader.ReadTimestamp())
	return c, nil
}

// Peek returns the current snapshot of the catalog, for inspection only. It pins no entry, so a drain does not wait
// for its caller: a write uses Pin instead.
func (c *Catalog) Peek() *Snapshot { return c.current.Load() }

// Change runs one DDL step: fn edits a Mutation, which is committed durably and published as the next snapshot. If fn
// returns an error, nothing changes and Change returns that error. Changes run one after another. fn must not wait
// for a drain. After a conflict fn is called again, so it must start from nothing each time. Errors: errors of fn and
// of the store; ErrUnavailable while the outcome of an earlier change is undetermined.
func (c *Catalog) Change(ctx context.Context, fn func(m *Mutation) error) error {
	at, err := c.changeSoon(ctx, fn)
	if err != nil || at == 0 {
		return err
	}
	if err := c.waitApplied(ctx, at, false); err != nil || !c.peers.exclusive {
		return err // a commit to a store with several members is durable
	}
	// The sync runs without mu, so that other changes need not wait for the disk and share the sync.
	return c.store.Sync(context.WithoutCancel(ctx))
}

// ChangeSoon is like Change, but returns before the change is durable: it becomes durable with the next Change or
// with any other durable commit. It is for an intermediate step, which a crash may undo.
func (c *Catalog) ChangeSoon(ctx context.Context, fn func(m *Mutation) error) error {
	at, err := c.changeSoon(ctx, fn)
	if err != nil {
		return err
	}
	return c.waitApplied(ctx, at, false)
}

// changeSoon commits a change, retrying after conflicts, and returns the time of the commit; 0 if
// nothing was changed.
func (c *Catalog) changeSoon(ctx context.Context, fn func(m *Mutation) error) (at storage.Timestamp, err error) {
	err = storage.RetryConflicts(ctx, func() error {
		at, err = c.changeOnce(storage.NoLeaseWait(ctx), fn)
		if errors.Is(err, storage.ErrLeaseExpired) {
			return c.waitForLease(ctx, err)
		}
		return err
	})
	return at, err
}

// changeOnce tries a change once.
func (c *Catalog) changeOnce(ctx context.Context, fn func(m *Mutation) error) (storage.Timestamp, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	txn, err := c.store.Begin(ctx, storage.TxnOptions{Essential: true})
	if err != nil {
		return 0, err
	}
	defer txn.Close()
	return c.change(ctx, txn, storage.Buffered, false, fn)
}

// waitForLease waits until this process has a lease again, without holding mu, since renewing the lease takes mu. It
// turns ErrLeaseExpired into an error after which the change is retried. Errors: ErrConflict; errors of the store.
func (c *Catalog) waitForLease(ctx context.Context, lapsed error) error {
	r, err := c.store.Snapshot(ctx, 0)
	if err != nil {
		return err
	}
	r.Close()
	return fmt.Errorf("%w: %w", storage.ErrConflict, lapsed)
}

// ChangeIn makes a change of the catalog, as Change does, inside a larger transaction, which it commits: the change
// and all other writes of txn take effect together. at is the time of the commit. If nothing was changed, at is 0 and
// nothing is committed. fn is called once: after a conflict the caller begins a new transaction.
func (c *Catalog) ChangeIn(ctx context.Context, txn storage.Txn, d storage.Durability, fn func(m *Mutation) error) (at storage.Timestamp, err error) {
	locked := storage.NoLeaseWait(ctx)
	c.mu.Lock()
	if err = c.catchUp(locked, txn); err == nil {
		at, err = c.change(locked, txn, d, true, fn)
	}
	c.mu.Unlock()
	if err == nil {
		err = c.waitApplied(context.WithoutCancel(ctx), at, false) // it is committed
	}
	return at, err
}

// change calls fn for a change of the catalog in the transaction txn, commits txn with the changed entries, and
// publishes the next snapshot. It returns the time of the commit, 0 if fn has changed nothing. larger is true if the
// transaction contains other writes of the caller. The caller holds mu.
func (c *Catalog) change(ctx context.Context, txn storage.Txn, d storage.Durability, larger bool, fn func(m *Mutation) error) (storage.Timestamp, error) {
	if c.undetermined != nil {
		return 0, errCommitUndetermined
	}
	if before, err := c.refresh(ctx, txn); err != nil {
		return 0, err
	} else if before != nil {
		c.peers.notifyPeerChange(before, c.current.Load())
	}
	if err := storage.Guard(ctx); err != nil {
		return 0, err
	}
	m := newMutation(ctx, c.current.Load(), txn, c.memory)
	if err := fn(m); err != nil {
		return 0, err
	}
	if !m.changed {
		return 0, nil
	}
	if err := c.raise(ctx, m); err != nil {
		return 0, err
	}
	if err := m.write(); err != nil {
		return 0, err
	}
	notes, err := m.prepareForPeers(ctx, c.peers, larger)
	if err != nil {
		return 0, err
	}
	ts, err := txn.Commit(ctx, d)
	if errors.Is(err, storage.ErrUndetermined) {
		ts, err = c.determineOutcome(ctx, m, err)
	}
	if err != nil {
		return 0, err
	}
	c.peers.recordOwnChange(notes, ts)
	c.publish(m, ts)
	return ts, nil
}

// publish makes the mutation committed at ts the current snapshot. The caller holds mu.
func (c *Catalog) publish(m *Mutation, ts storage.Timestamp) {
	for _, coll := range m.puts {
		coll.since = ts // no other goroutine has seen the entry yet
	}
	for id := range m.moved {
		if c := m.puts[id]; c != nil && m.moved[id] {
			c.VisibleFrom = ts
		}
	}
	old := c.current.Swap(m.next)
	c.memory.Force(m.next.heldAll - old.heldAll)
	close(old.replaced)
	c.changed = max(c.changed, ts)
	c.retire(old, m, ts)
}

// Settled waits for the change of the catalog in progress, if any, and returns the current snapshot: a change is in
// the store shortly before it is published, so a reader of the store may have read it already.
func (c *Catalog) Settled() *Snapshot {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.current.Load()
}
