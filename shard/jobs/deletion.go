package jobs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/write"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/keyspace"
)

// deletePrefix begins the names of the meta keys that record dropped collections and indexes, whose keys are to be
// deleted.
const deletePrefix = "delete."

// Delete records, inside a catalog change that drops a collection or an index, that the keys of this collection or
// index are to be deleted; if ix is 0, those of the whole collection. After the change the caller wakes the Runner
// with WakeDelete.
func Delete(m *catalog.Mutation, id keyspace.CollectionID, ix keyspace.IndexID) error {
	b := bson.NewBuilder(nil)
	b.Int64("collection", int64(id))
	b.Int64("index", int64(ix))
	return m.Txn().Set(deleteKey(id, ix), b.Doc())
}

// deleteIfMemberDies records, inside a catalog change, the deletion of a collection that this server is filling, in
// case the server dies. As long as the member by lives, no peer deletes the keys.
func deleteIfMemberDies(m *catalog.Mutation, id keyspace.CollectionID, by storage.MemberID) error {
	if by == (storage.MemberID{}) {
		return Delete(m, id, 0)
	}
	b := bson.NewBuilder(nil)
	b.Int64("collection", int64(id))
	b.Int64("index", 0)
	b.Binary("by", 0, by[:])
	return m.Txn().Set(deleteKey(id, 0), b.Doc())
}

// CancelDelete removes the record that Delete has made for a collection, inside the catalog change that puts the
// collection's keys to use.
func CancelDelete(m *catalog.Mutation, id keyspace.CollectionID) error {
	return m.Txn().Delete(deleteKey(id, 0))
}

func deleteKey(id keyspace.CollectionID, ix keyspace.IndexID) []byte {
	return keyspace.AppendMeta(nil, keyspace.MetaJob, fmt.Appendf(nil, "%s%d.%d", deletePrefix, id, ix))
}

// WakeDelete wakes the loop that deletes recorded ranges.
func (r *Runner) WakeDelete() { wake(r.deleteWake) }

func (r *Runner) deleteLoop(ctx context.Context) {
	wait := time.Hour
	for {
		held, err := false, error(nil)
		if r.OwnsLoop(ctx, jobDelete) {
			held, err = r.deleteRecorded(r.asOwner(ctx, jobDelete))
		}
		if err != nil {
			r.report("delete", err)
		}
		wait = time.Hour
		if held || err != nil || !r.exclusive() { // a peer does not wake this loop
			wait = time.Second
		}
		if !sleep(ctx, wait, r.deleteWake) {
			return
		}
	}
}

// errInUse ends the wait for writers before a deletion: they still use the catalog entry from before the drop.
var errInUse = errors.New("writers still go by what was dropped")

// drainTimeout bounds one wait for the writers of a dropped collection or index, because other deletions wait
// meanwhile. If writers are left, the deletion is tried again later.
const drainTimeout = 100 * time.Millisecond

// deletion is one record of Delete: a dropped collection or index whose keys are to be deleted.
type deletion struct {
	key []byte
	id  keyspace.CollectionID
	ix  keyspace.IndexID
	by  storage.MemberID // the member that fills the collection
}

// DeleteRecorded deletes the keys of everything that was dropped, once no writer uses a catalog entry that had it.
// Deleting twice does no harm, so a crash at any point only repeats it. It skips collections that this server or a
// live peer fills (Reshard), and those that writers still use; they are deleted later.
func (r *Runner) DeleteRecorded(ctx context.Context) error {
	held, err := r.deleteRecorded(ctx)
	if held {
		r.WakeDelete()
	}
	return err
}

// deleteRecorded is DeleteRecorded; held is true if writers still use something that was dropped, so that it must run
// again soon.
func (r *Runner) deleteRecorded(ctx context.Context) (held bool, err error) {
	alive, err := r.Owners.Alive(ctx) // before the records are read: a member that is dead now removes none later
	if err != nil {
		return false, err
	}
	noted, err := r.recordedDeletions(ctx)
	if err != nil || len(noted) == 0 {
		return false, err
	}
	for _, d := range noted {
		if alive[d.by] && d.by != r.Owners.Member() {
			continue
		}
		limit, stop := context.WithTimeoutCause(ctx, drainTimeout, errInUse)
		err := r.Catalog.Drain(limit, d.id)
		stop()
		if errors.Is(err, errInUse) {
			held = true // the next ranges need not wait for these writers
			continue
		}
		if err != nil {
			return held, err
		}
		if err := r.deleteOne(ctx, d); err != nil {
			return held, err
		}
	}
	return held, nil
}

func (r *Runner) recordedDeletions(ctx context.Context) (out []deletion, err error) {
	snap, err := r.Store.Snapshot(ctx, 0)
	if err != nil {
		return nil, err
	}
	defer snap.Close()
	it, err := snap.Iter(ctx, keyspace.MetaPrefixRange(keyspace.MetaJob, []byte(deletePrefix)), storage.IterOptions{})
	if err != nil {
		return nil, err
	}
	defer it.Close()
	for it.Next() {
		v, err := bson.Parse(it.Value(), bson.Limits{})
		if err != nil {
			return nil, err
		}
		id, _ := v.Get("collection").Int64()
		ix, _ := v.Get("index").Int64()
		d := deletion{key: append([]byte(nil), it.Key()...), id: keyspace.CollectionID(id), ix: keyspace.IndexID(ix)}
		if _, by, ok := v.Get("by").Binary(); ok {
			copy(d.by[:], by)
		}
		out = append(out, d)
	}
	return out, it.Err()
}

func (r *Runner) deleteOne(ctx context.Context, d deletion) error {
	if r.filling.has(d.id) || d.ix == 0 && r.Catalog.Peek().ByID(d.id) != nil {
		return nil // in use
	}
	ranges := []storage.Range{keyspace.IndexRange(d.id, d.ix)}
	if d.ix == 0 {
		ranges = []storage.Range{keyspace.RecordRange(d.id), keyspace.CollectionIndexRange(d.id)}
		r.Budgets.Drop(uint64(d.id))
		r.Tally.Drop(d.id)
	}
	for _, k := range ranges {
		if err := storage.Guard(ctx); err != nil {
			return err
		}
		if err := r.Store.DeleteRange(ctx, k); err != nil {
			return err
		}
	}
	return storage.Update(ctx, r.Store, storage.TxnOptions{Essential: true}, storage.Synced, func(txn storage.Txn) error {
		if err := txn.Delete(d.key); err != nil || d.ix != 0 || r.exclusive() {
			return err // without peers there is no row; see deleteCappedStates
		}
		return txn.Delete(write.CappedStateKey(d.id))
	})
}
