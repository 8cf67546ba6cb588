package catalog

import (
	"bytes"
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

// Catalog is the one owner of the meta keys of a store. Safe for concurrent use.
type Catalog struct {
	store   storage.Store
	current atomic.Pointer[Snapshot]

	mu     sync.Mutex                        // one change at a time; the fields below
	old    map[keyspace.CollectionID][]*pins // of replaced entries that may still be pinned
	unsure *Mutation                         // a change of which nobody knows whether it was committed
	// changed is when what is current was last changed.
	changed storage.Timestamp

	format int // of the store, as far as it was raised here

	memory *ratelimit.Memory // that definitions are counted in; see CountIn
	others *others           // nil where this process uses the store alone
}

// Open reads the catalog of a store, for a server that shows itself as r.
func Open(ctx context.Context, store storage.Store, r release.Release) (*Catalog, error) {
	c := &Catalog{store: store, old: map[keyspace.CollectionID][]*pins{}}
	reader, err := store.Snapshot(ctx, 0)
	if err != nil {
		return nil, err
	}
	defer reader.Close()
	if shared := storage.AsShared(store); shared != nil {
		return c, c.join(ctx, shared, reader, r)
	}
	s := newSnapshot(1)
	env := mql.NewEnv(ctx)
	env.Release, env.Kept = r, r
	env.JavaScript = true // stored validators were checked when they were made
	err = eachMeta(ctx, reader, keyspace.MetaDatabase, func(value []byte) error {
		d, err := decodeDatabase(value)
		if err == nil {
			s.databases.put(d.Name, d)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reading databases: %w", err)
	}
	err = eachMeta(ctx, reader, keyspace.MetaCollection, func(value []byte) error {
		coll, err := decodeCollection(env, value)
		if err != nil {
			return err
		}
		coll.pins, coll.Frozen = newPins(), false // what froze it died with its process
		s.byName.put(coll.Namespace, coll)
		s.byID.put(coll.ID, coll)
		s.count(coll.Namespace.DB, coll.held)
		s.Version = max(s.Version, coll.Version)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("reading collections: %w", err)
	}
	c.current.Store(s)
	return c, nil
}

func eachMeta(ctx context.Context, r storage.Reader, kind keyspace.MetaKind, visit func(value []byte) error) error {
	return eachRow(ctx, r, keyspace.MetaRange(kind), func(_, value []byte) error { return visit(bytes.Clone(value)) })
}

// eachRow visits the rows of a range; keys and values are valid until the visit returns.
func eachRow(ctx context.Context, r storage.Reader, within storage.Range, visit func(key, value []byte) error) error {
	return storage.Each(ctx, r, within, func(key, value []byte) error {
		if err := visit(key, value); err != nil {
			return fmt.Errorf("%s: %w", keyspace.Pretty(key), err)
		}
		return nil
	})
}

// Peek returns the current snapshot without holding anything of it: good for a look,
// never for a write.
func (c *Catalog) Peek() *Snapshot { return c.current.Load() }

// Change runs one DDL step: fn edits a Mutation; what it did is committed
// durably and published as the next snapshot. An error of fn changes nothing
// and is returned. Changes run one after another. fn must not wait for a drain,
// and begins from nothing each time that it is called: again after a conflict.
// Errors: those of fn and of the store; ErrUnavailable while nobody knows what
// became of an earlier change.
func (c *Catalog) Change(ctx context.Context, fn func(m *Mutation) error) error {
	at, err := c.changeSoon(ctx, fn)
	if err != nil || at == 0 {
		return err
	}
	if c.others != nil { // a commit in their store is durable
		return c.await(ctx, at, false)
	}
	// Not in the turn of this change: those of others need not wait for the disk, and share the sync.
	return c.store.Sync(context.WithoutCancel(ctx))
}

// ChangeSoon is a Change that is durable with the next one, or with any other durable commit: a
// step on the way to something, which a crash may undo.
func (c *Catalog) ChangeSoon(ctx context.Context, fn func(m *Mutation) error) error {
	at, err := c.changeSoon(ctx, fn)
	if err != nil {
		return err
	}
	return c.await(ctx, at, false)
}

// changeSoon commits a change, again after a conflict, and reports when; 0 if nothing was changed.
func (c *Catalog) changeSoon(ctx context.Context, fn func(m *Mutation) error) (at storage.Timestamp, err error) {
	err = storage.Again(ctx, func() error {
		at, err = c.changeOnce(storage.AtOnce(ctx), fn)
		if errors.Is(err, storage.ErrLapsed) {
			return c.outlast(ctx, err)
		}
		return err
	})
	return at, err
}

// changeOnce is one try of a change.
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

// outlast waits, without mu, which that takes, until this process has a lease again, and turns the error of
// who was not to wait for it into one to try again at. Errors: ErrConflict; those of the store.
func (c *Catalog) outlast(ctx context.Context, lapsed error) error {
	r, err := c.store.Snapshot(ctx, 0)
	if err != nil {
		return err
	}
	r.Close()
	return fmt.Errorf("%w: %w", storage.ErrConflict, lapsed)
}

// ChangeIn is a Change that is part of a larger transaction, which it commits:
// the change and all else in txn take effect together. at is the time of the
// commit, 0 if nothing was changed, and then nothing is committed. fn is called
// once: whoever began the transaction begins it again after a conflict.
func (c *Catalog) ChangeIn(ctx context.Context, txn storage.Txn, d storage.Durability, fn func(m *Mutation) error) (at storage.Timestamp, err error) {
	locked := storage.AtOnce(ctx)
	c.mu.Lock()
	if err = c.catchUp(locked, txn); err == nil {
		at, err = c.change(locked, txn, d, true, fn)
	}
	c.mu.Unlock()
	if err == nil {
		err = c.await(context.WithoutCancel(ctx), at, false) // it is committed
	}
	return at, err
}

// change runs one step in a transaction, which is a larger one if it was begun by somebody else.
// The caller holds mu.
func (c *Catalog) change(ctx context.Context, txn storage.Txn, d storage.Durability, larger bool, fn func(m *Mutation) error) (storage.Timestamp, error) {
	if c.unsure != nil {
		return 0, errUnsure
	}
	if c.others != nil {
		if before, err := c.refresh(ctx, txn); err != nil {
			return 0, err
		} else if before != nil {
			c.others.tellFollowed(before, c.current.Load())
		}
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
	var s sharing
	if c.others != nil {
		var err error
		if s, err = m.share(ctx, c.others, larger); err != nil {
			return 0, err
		}
	}
	ts, err := txn.Commit(ctx, d)
	if errors.Is(err, storage.ErrUndetermined) {
		ts, err = c.undetermined(ctx, m, err)
	}
	if err != nil {
		return 0, err
	}
	if c.others != nil {
		c.others.shared(s, ts)
	}
	c.publish(m, ts)
	return ts, nil
}

// publish makes what was committed at a time the current snapshot. The caller holds mu.
func (c *Catalog) publish(m *Mutation, ts storage.Timestamp) {
	for _, coll := range m.puts {
		coll.since = ts // nobody else has seen it yet
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

// Settled waits for the change under way, if any: a change is in the store a little
// before it is published, and a reader of the store may have met it there.
func (c *Catalog) Settled() *Snapshot {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.current.Load()
}
