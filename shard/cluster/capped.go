package cluster

import (
	"bytes"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/write"
	"github.com/cantledb/cantle/shard/tally"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/keyspace"
)

// cappedLock orders the writers of a capped collection in this process: one writer holds it at a time. Documents are
// stored in the order of their insertion: a position is a number that grows by one, and is not reused while a cursor
// may remember it. With one writer at a time, no position below a visible one is still to come, and the counts are
// exact when trim determines which documents to delete. If peers write to the collection as well, its state is in a
// row of the store; see write.CappedState.
type cappedLock struct {
	free  chan struct{} // holds a value while no writer has the lock
	next  keyspace.Hash // the next position, 0 before the first use; only the holder of the lock uses it
	first keyspace.Hash // no document has a position before it
}

func (c *Cluster) cappedLockOf(id keyspace.CollectionID) *cappedLock {
	if l, ok := c.cappedLocks.Load(id); ok {
		return l.(*cappedLock)
	}
	l := &cappedLock{free: make(chan struct{}, 1)}
	l.free <- struct{}{}
	known, _ := c.cappedLocks.LoadOrStore(id, l)
	return known.(*cappedLock)
}

// lockCapped waits until the attempt may write to a capped collection.
func (a *attempt) lockCapped() error {
	if a.coll == nil || !a.coll.Options.Capped || a.cappedLock != nil {
		return nil
	}
	l, ctx := a.c.cappedLockOf(a.coll.ID), a.op.Env.Context()
	select {
	case <-l.free:
		a.cappedLock = l
		return nil
	case <-ctx.Done():
		return a.op.Env.Interrupted()
	}
}

// sharesCapped reports whether the attempt writes to a capped collection to which peers may write too. Without peers,
// the state of the collection is in memory, in the lock and the tally, and no write pays for a row.
func (a *attempt) sharesCapped() bool { return a.cappedLock != nil && !a.c.exclusive }

// readCappedState reads the next position, first position and counts of a capped collection from the row that peers
// change too. Without peers it does nothing.
func (a *attempt) readCappedState() (err error) {
	if !a.sharesCapped() {
		return nil
	}
	if a.cappedState, err = write.ReadCappedState(a.op.Env.Context(), a.txn, a.coll.ID); err == nil {
		a.cappedLock.next, a.cappedLock.first = a.cappedState.Next, a.cappedState.First
	}
	return err
}

// saveCappedState writes the attempt's changes of the capped collection to the row that it shares with
// peers.
func (a *attempt) saveCappedState() error {
	if !a.sharesCapped() {
		return nil
	}
	l := a.cappedState
	for t := range a.all() {
		l.Docs, l.Bytes = l.Docs+t.Docs, l.Bytes+t.Bytes
	}
	l.Next, l.First = a.cappedLock.next, max(l.First, a.trimmed)
	if l == a.cappedState {
		return nil
	}
	return l.Save(a.txn, a.coll.ID)
}

// finishCapped stores the first position of a capped collection after a commit, and releases its lock.
func (a *attempt) finishCapped() {
	a.cappedLock.first = max(a.cappedLock.first, a.trimmed)
	a.unlockCapped()
}

// unlockCapped releases the lock of a capped collection for the next writer, if the attempt holds the lock.
func (a *attempt) unlockCapped() {
	if a.cappedLock != nil {
		a.cappedLock.free <- struct{}{}
		a.cappedLock = nil
	}
}

// cappedPosition returns the next position of a capped collection.
func (a *attempt) cappedPosition() (keyspace.Hash, error) {
	l := a.cappedLock
	if l.next == 0 {
		last, err := lastPosition(a.op, a.txn, a.coll.ID)
		if err != nil {
			return 0, err
		}
		l.next = last + 1
	}
	l.next++
	return l.next - 1, nil
}

// lastPosition returns the position of the newest document, 0 if there is none.
func lastPosition(o *Op, r storage.Reader, id keyspace.CollectionID) (keyspace.Hash, error) {
	it, err := r.Iter(o.Env.Context(), keyspace.RecordRange(id), storage.IterOptions{Reverse: true, KeysOnly: true, FetchRows: 1})
	if err != nil {
		return 0, err
	}
	defer it.Close()
	if !it.Next() {
		return 0, it.Err()
	}
	_, h, _, ok := keyspace.SplitRecord(it.Key())
	if !ok {
		return 0, storage.ErrCorruption
	}
	return h, nil
}

// Bounds, in documents and bytes, of what one commit deletes from a capped collection beyond the size of its own
// inserts. So a limit that collMod has lowered takes effect over several inserts.
const (
	trimDocs  = 1 << 14
	trimBytes = 32 << 20
)

// trim deletes the oldest documents of a capped collection, but never the newest one, until it is within its limits
// or a bound is reached, as part of the insert that exceeds them.
// Manual: core/capped-collections.
func (a *attempt) trim() error {
	limits := &a.coll.Options
	if !limits.Capped || a.one.Shard == nil || a.cappedLock.next == 0 {
		return nil
	}
	t := &a.one
	have := a.c.tally.Of(a.coll.ID).Shard(t.Shard.ID).Get()
	if a.sharesCapped() {
		have = tally.Count{Docs: a.cappedState.Docs, Bytes: a.cappedState.Bytes}
	}
	docs, size := int64(0), have.Bytes+t.Bytes-limits.CapBytes
	if limits.CapDocs > 0 {
		docs = have.Docs + t.Docs - limits.CapDocs
	}
	docs, size = min(docs, t.Docs+trimDocs), min(size, t.Bytes+trimBytes)
	for docs > 0 || size > 0 {
		old, err := a.oldest(docs, size)
		if err != nil || len(old) == 0 {
			return err
		}
		for _, d := range old {
			if err := t.Delete(a.op.Env, d.doc, d.hash); err != nil {
				return err
			}
			docs, size = docs-1, size-int64(len(d.doc))
			a.trimmed = d.hash + 1
		}
	}
	return nil
}

// oldDoc is a document to be deleted.
type oldDoc struct {
	hash keyspace.Hash
	doc  bson.Raw
}

// oldest copies the oldest documents of a capped collection, which trim deletes: until docs documents and size bytes
// are reached, but at most batchRows documents and about batchBytes bytes, and never the newest document.
func (a *attempt) oldest(docs, size int64) (out []oldDoc, err error) {
	from, last := max(a.cappedLock.first, a.trimmed), a.cappedLock.next-1
	it, err := a.txn.Iter(a.op.Env.Context(), keyspace.RecordHashRange(a.coll.ID, from, last), storage.IterOptions{FetchRows: int(min(max(docs, 1), batchRows))})
	if err != nil {
		return nil, err
	}
	defer it.Close()
	total := 0
	for (docs > 0 || size > 0) && len(out) < batchRows && total < batchBytes && it.Next() {
		_, h, _, ok := keyspace.SplitRecord(it.Key())
		if !ok {
			return nil, storage.ErrCorruption
		}
		if h == last {
			break
		}
		doc := bson.Raw(bytes.Clone(it.Value()))
		if doc == nil {
			return nil, it.Err()
		}
		out = append(out, oldDoc{h, doc})
		docs, size, total = docs-1, size-int64(len(doc)), total+len(doc)
	}
	return out, it.Err()
}
