package catalog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/keyspace"
)

// A commit over a network can end without an answer, and is then undetermined. To determine the
// outcome, one transaction reads and locks a row that the change writes. Once this transaction has
// committed, the row shows whether the change was committed. If it was not, it never will be,
// because it writes the same row and would conflict. While the store does not answer that either,
// the collections of the change are frozen: their writers wait, because the store may contain an
// index that they do not maintain.

// errCommitUndetermined rejects further changes while the outcome of a change is undetermined.
var errCommitUndetermined = fmt.Errorf("%w: it is not known yet whether an earlier change of the catalog was committed", storage.ErrUnavailable)

const (
	// outcomeTimeout bounds how long a change waits for its outcome to be determined.
	outcomeTimeout = 10 * time.Second
	// outcomeRetryInterval is the interval between two attempts.
	outcomeRetryInterval = 100 * time.Millisecond
)

// determineOutcome determines the outcome of a change whose commit ended with err. The caller holds mu. Errors:
// ErrConflict if the change was not committed, err if the outcome is still undetermined: then, unless the store is
// closed, its collections are frozen, and resolve continues.
func (c *Catalog) determineOutcome(ctx context.Context, m *Mutation, err error) (storage.Timestamp, error) {
	asking, cancel := context.WithTimeout(ctx, outcomeTimeout)
	defer cancel()
	for {
		ts, happened, askErr := m.outcome(asking, c.store)
		switch {
		case askErr == nil && happened:
			return ts, nil
		case askErr == nil:
			return 0, fmt.Errorf("%w: the commit was not answered, and did not happen", storage.ErrConflict)
		case errors.Is(askErr, storage.ErrClosed):
			return 0, err
		}
		if !pause(asking) {
			break
		}
	}
	c.freeze(m)
	go c.resolve(context.WithoutCancel(ctx), m)
	return 0, err
}

// pause waits for outcomeRetryInterval. It reports false if ctx has ended.
func pause(ctx context.Context) bool {
	timer := time.NewTimer(outcomeRetryInterval)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// freeze freezes the collections that the undetermined change m puts or drops: their writers wait until resolve has
// found the outcome. The caller holds mu.
func (c *Catalog) freeze(m *Mutation) {
	c.undetermined = m
	f := newMutation(m.ctx, c.current.Load(), nil, c.memory)
	for id := range m.touched() {
		if now := f.next.byID.get(id); now != nil {
			f.replace(now.With(func(d *Collection) { d.Frozen = true }))
		}
	}
	c.publish(f, 0)
}

// resolve determines the outcome of an undetermined change, by retries in the background, and then ends the freeze.
func (c *Catalog) resolve(ctx context.Context, m *Mutation) {
	for {
		ts, happened, err := m.outcome(ctx, c.store)
		if errors.Is(err, storage.ErrClosed) {
			return
		}
		if err != nil {
			_ = pause(ctx)
			continue
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.undetermined = nil
		if !c.peers.exclusive { // the next refresh reads the outcome from the store; an exclusive server makes no refresh
			for id := range m.touched() {
				delete(c.peers.rows, id)
			}
			c.peers.notes, c.peers.lastOwnChange = nil, max(c.peers.lastOwnChange, ts)
			return
		}
		now := newMutation(m.ctx, c.current.Load(), nil, c.memory)
		if happened {
			now.reapply(m)
		} else {
			for id := range m.touched() {
				if coll := now.next.byID.get(id); coll != nil {
					was := m.base.byID.get(id).Frozen
					now.replace(coll.With(func(d *Collection) { d.Frozen = was }))
				}
			}
		}
		c.publish(now, ts)
		return
	}
}

// touched returns the collections that a change puts or drops.
func (m *Mutation) touched() map[keyspace.CollectionID]bool {
	out := map[keyspace.CollectionID]bool{}
	for id := range m.puts {
		out[id] = true
	}
	for id := range m.drops {
		out[id] = true
	}
	return out
}

// reapply makes the edits of another Mutation, whose commit has happened after all, again on the current snapshot.
// They have succeeded before, so they cannot fail.
func (m *Mutation) reapply(other *Mutation) {
	for id := range other.drops {
		if coll := m.next.byID.get(id); coll != nil {
			m.Drop(coll)
		}
	}
	for _, d := range other.dbPuts {
		m.PutDatabase(d)
	}
	for _, coll := range other.puts {
		m.replace(coll)
	}
	for name := range other.dbDrops {
		m.DropDatabase(name)
	}
}

// replace is a Put that cannot fail.
func (m *Mutation) replace(coll *Collection) {
	if err := m.put(coll); err != nil {
		panic("BUG: a catalog entry that was taken before is refused: " + err.Error())
	}
}

// outcome determines from the store whether the commit of an undetermined change has happened. If it has not, outcome
// makes sure that it never will. at is a time not before the commit. A change without entries, which only takes a
// number or writes a note, counts as not committed. Errors: errors of the store; the outcome is then still
// undetermined.
func (m *Mutation) outcome(ctx context.Context, store storage.Store) (at storage.Timestamp, happened bool, err error) {
	key, value := m.outcomeRow()
	if key == nil {
		return 0, false, nil
	}
	err = storage.RetryConflicts(ctx, func() error {
		txn, err := store.Begin(ctx, storage.TxnOptions{Essential: true})
		if err != nil {
			return err
		}
		defer txn.Close()
		at = txn.ReadTimestamp()
		stored, err := txn.Get(ctx, key, nil)
		if err != nil && !errors.Is(err, storage.ErrNotFound) {
			return err
		}
		happened = bytes.Equal(stored, value)
		if err := txn.Lock(ctx, key); err != nil {
			return err
		}
		_, err = txn.Commit(ctx, storage.Synced)
		return err
	})
	return at, happened, err
}

// outcomeRow returns a key that a change writes, and the value that it writes there. A collection's entry contains its
// catalog version, so no other change writes that value. A nil value means that the change deletes the key.
func (m *Mutation) outcomeRow() (key, value []byte) {
	for id, coll := range m.puts {
		return collectionKey(id), encodeCollection(coll)
	}
	for id := range m.drops {
		if m.base.byID.get(id) != nil {
			return collectionKey(id), nil
		}
	}
	for name, d := range m.dbPuts {
		return databaseKey(name), encodeDatabase(d)
	}
	for name := range m.dbDrops {
		if m.base.databases.get(name) != nil {
			return databaseKey(name), nil
		}
	}
	return nil, nil
}
