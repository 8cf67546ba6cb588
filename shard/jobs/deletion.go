package jobs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/write"
	"github.com/cantledb/cantle/shard/duty"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/keyspace"
)

// deletePrefix begins the names of the meta keys of ranges to delete.
const deletePrefix = "delete."

// Delete records, inside a catalog change that drops a collection or an index, that its keys are to
// be deleted; if ix is 0, all keys of the collection. After the change the caller wakes the Runner
// with DeleteSoon.
func Delete(m *catalog.Mutation, id keyspace.CollectionID, ix keyspace.IndexID) error {
	b := bson.NewBuilder(nil)
	b.Int64("collection", int64(id))
	b.Int64("index", int64(ix))
	return m.Txn().Set(deleteKey(id, ix), b.Doc())
}

// deleteUnlessKept records a collection that this process is filling: as long as the process lives,
// no peer deletes the keys.
func deleteUnlessKept(m *catalog.Mutation, id keyspace.CollectionID, duties *duty.Roster) error {
	if duties == nil {
		return Delete(m, id, 0)
	}
	by := duties.Member()
	b := bson.NewBuilder(nil)
	b.Int64("collection", int64(id))
	b.Int64("index", 0)
	b.Binary("by", 0, by[:])
	return m.Txn().Set(deleteKey(id, 0), b.Doc())
}

// Keep removes the record of Delete, inside the change that puts the keys to use.
func Keep(m *catalog.Mutation, id keyspace.CollectionID) error {
	return m.Txn().Delete(deleteKey(id, 0))
}

func deleteKey(id keyspace.CollectionID, ix keyspace.IndexID) []byte {
	return keyspace.AppendMeta(nil, keyspace.MetaJob, fmt.Appendf(nil, "%s%d.%d", deletePrefix, id, ix))
}

// DeleteSoon wakes the loop that deletes recorded ranges.
func (r *Runner) DeleteSoon() { wake(r.deleteWake) }

func (r *Runner) deleteLoop(ctx context.Context) {
	wait := time.Hour
	for {
		held, err := false, error(nil)
		if r.Turn(ctx, dutyDelete) {
			held, err = r.deleteNoted(r.onDuty(ctx, dutyDelete))
		}
		if err != nil {
			r.report("delete", err)
		}
		wait = time.Hour
		if held || err != nil || r.Duties != nil {
			wait = time.Second
		}
		if !sleep(ctx, wait, r.deleteWake) {
			return
		}
	}
}

// errHeld means that writers still use what was dropped.
var errHeld = errors.New("writers still go by what was dropped")

// drainPatience bounds how long the drain for one range delays the next.
const drainPatience = 100 * time.Millisecond

// deletion is one recorded range.
type deletion struct {
	key []byte
	id  keyspace.CollectionID
	ix  keyspace.IndexID
	by  storage.MemberID // the member that fills the collection
}

// DeleteNoted deletes the keys of everything that was dropped, once no writer uses a catalog entry
// that had it. Deleting twice does no harm, so a crash at any point only repeats it. Collections
// that are being filled (Reshard) are skipped. So are those that writers still use; they are
// deleted later.
func (r *Runner) DeleteNoted(ctx context.Context) error {
	held, err := r.deleteNoted(ctx)
	if held {
		r.DeleteSoon()
	}
	return err
}

// deleteNoted is DeleteNoted; held is true if writers still use something.
func (r *Runner) deleteNoted(ctx context.Context) (held bool, err error) {
	var alive map[storage.MemberID]bool
	if r.Duties != nil { // before the records are read: a member that is dead now removes none later
		if alive, err = r.Duties.Alive(ctx); err != nil {
			return false, err
		}
	}
	noted, err := r.noted(ctx)
	if err != nil || len(noted) == 0 {
		return false, err
	}
	for _, d := range noted {
		if alive[d.by] && d.by != r.Duties.Member() {
			continue
		}
		limit, stop := context.WithTimeoutCause(ctx, drainPatience, errHeld)
		err := r.Catalog.Drain(limit, d.id)
		stop()
		if errors.Is(err, errHeld) {
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

func (r *Runner) noted(ctx context.Context) (out []deletion, err error) {
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
		if err := txn.Delete(d.key); err != nil || d.ix != 0 || storage.AsShared(r.Store) == nil {
			return err
		}
		return txn.Delete(write.LineKey(d.id))
	})
}
