package history

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/keyspace"
)

// With peers, each server keeps its own history, under its member ID. A server has another ID after a restart, so a
// starting server takes over the history of a dead one. Histories that no server takes over are shown with those of
// live servers (AllServers; the latest deadHistoriesMax), and deleted when they are as old as the oldest column. A
// server that has the store exclusively keeps its history under no ID, and leaves the others as they are.

// ofMember is the byte with which the names of a server's stored history begin if it has peers; the server's ID
// follows.
const ofMember = 'm'

// owner returns the prefix of the names of this server's records in a store.
func owner(s storage.Store) []byte { return ownedBy(storage.MembershipOf(s).Member()) }

// ownedBy returns the prefix of the names of a server's records; nil for the only member of a store.
func ownedBy(id storage.MemberID) []byte {
	if id == (storage.MemberID{}) {
		return nil
	}
	return append([]byte{ofMember}, id[:]...)
}

// inherit takes over the newest of the stored histories of dead servers, and deletes those that are too old. If two
// servers take over the same one, one of them conflicts and gets none.
func (r *Recorder) inherit(ctx context.Context) error { return r.clear(ctx, true) }

// Forget deletes the histories of dead servers that are older than the oldest column. One server should call it now
// and then. Errors: the errors of the store.
func (r *Recorder) Forget(ctx context.Context) error {
	if r.Store == nil {
		return nil
	}
	return r.clear(ctx, false)
}

// dropTakenOver drops from memory the columns that this server has stored, if another server has taken over the
// stored history because this one had slept beyond its lease and appeared to be dead. From then on these columns
// belong to the other server. Errors: the errors of the store.
func (r *Recorder) dropTakenOver(ctx context.Context) error {
	own := owner(r.Store)
	r.mu.Lock()
	stored := r.stored
	r.mu.Unlock()
	if own == nil || stored == 0 {
		return nil
	}
	snap, err := r.Store.Snapshot(ctx, 0)
	if err != nil {
		return err
	}
	defer snap.Close()
	there, err := snap.Has(ctx, recordKey(own, []byte(rowsName)))
	if err != nil || there {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rings[Fives].forget(stored)
	r.rings[Tens].forget((stored+1)*idleSeconds/Step(Tens) - 1)
	r.stored = 0
	return nil
}

// clear deletes the histories of dead servers that are too old and, with takes, takes over the newest of the rest. If
// another server does the same, or the dead one is back, clear changes nothing. Errors: the errors of the store.
func (r *Recorder) clear(ctx context.Context, takes bool) error {
	if owner(r.Store) == nil {
		return nil
	}
	t, err := r.Store.Begin(ctx, storage.TxnOptions{})
	if err != nil {
		return err
	}
	defer t.Close()
	dead, err := r.dead(ctx, t)
	if err != nil || len(dead) == 0 {
		return err
	}
	for i, d := range dead {
		old := d.saved <= r.Now().Unix()-Span(Fives)
		take := takes && i == 0 && d.saved > 0 && !old
		if take || old {
			if err := move(ctx, t, d.id, owner(r.Store), take); err != nil {
				return err
			}
		}
	}
	if _, err = t.Commit(ctx, storage.Buffered); errors.Is(err, storage.ErrConflict) {
		return nil
	}
	return err
}

// deadOwner is a dead server with a history in the store, and the last second in which one of its partitions
// had load.
type deadOwner struct {
	id    storage.MemberID
	saved int64
}

// dead lists the dead servers with a history, the latest first.
func (r *Recorder) dead(ctx context.Context, in storage.Reader) (list []deadOwner, err error) {
	left, err := storedOwners(ctx, in)
	if err != nil || len(left) == 0 {
		return nil, err
	}
	_, alive, err := storage.MembershipOf(r.Store).Members(ctx)
	if err != nil {
		return nil, err
	}
	for _, m := range alive {
		delete(left, m.ID)
	}
	for id, saved := range left {
		list = append(list, deadOwner{id, saved})
	}
	slices.SortFunc(list, func(a, b deadOwner) int { return cmp.Compare(b.saved, a.saved) })
	return list, nil
}

// deadHistoriesMax bounds the number of dead servers whose histories are shown: the latest. A starting server takes
// over one of them, so there are about as many as servers ever ran at a time.
const deadHistoriesMax = 8

// readDeadHistories reads the histories of dead servers.
func (r *Recorder) readDeadHistories(ctx context.Context) (list []*Recorder, err error) {
	if owner(r.Store) == nil {
		return nil, nil
	}
	snap, err := r.Store.Snapshot(ctx, 0)
	if err != nil {
		return nil, err
	}
	defer snap.Close()
	dead, err := r.dead(ctx, snap)
	if err != nil {
		return nil, err
	}
	for _, d := range dead[:min(len(dead), deadHistoriesMax)] {
		past := New(Config{Store: r.Store, Now: r.Now})
		if _, err := past.load(ctx, ownedBy(d.id)); err != nil {
			return nil, err
		}
		past.end(d.id)
		list = append(list, past)
	}
	return list, nil
}

// end marks a history as that of a dead server: the stays of partitions that had not ended then end with their last
// work.
func (r *Recorder) end(id storage.MemberID) {
	r.deadServer = id
	for i := range r.rows.list {
		w := &r.rows.list[i]
		if s := w.now(); s != nil {
			s.until = max(s.from, w.used) + 1
		}
	}
}

// stillDead returns those of some dead servers' histories that no server has taken over and whose servers have not
// come back.
func stillDead(ctx context.Context, s storage.Store, pasts []*Recorder) (list []*Recorder, err error) {
	if len(pasts) == 0 {
		return nil, nil
	}
	snap, err := s.Snapshot(ctx, 0)
	if err != nil {
		return nil, err
	}
	defer snap.Close()
	_, alive, err := storage.MembershipOf(s).Members(ctx)
	if err != nil {
		return nil, err
	}
	for _, past := range pasts {
		if slices.ContainsFunc(alive, func(m storage.Member) bool { return m.ID == past.deadServer }) {
			continue
		}
		there, err := snap.Has(ctx, recordKey(ownedBy(past.deadServer), []byte(rowsName)))
		if err != nil {
			return nil, err
		}
		if there {
			list = append(list, past)
		}
	}
	return list, nil
}

// storedOwners lists the servers with a history in the store, and the last second in which a partition of each
// had load.
func storedOwners(ctx context.Context, r storage.Reader) (map[storage.MemberID]int64, error) {
	it, err := r.Iter(ctx, keyspace.MetaPrefixRange(keyspace.MetaHistory, []byte{ofMember}), storage.IterOptions{})
	if err != nil {
		return nil, err
	}
	defer it.Close()
	out := map[storage.MemberID]int64{}
	for it.Next() {
		_, name, _ := keyspace.SplitMeta(it.Key())
		var id storage.MemberID
		if len(name) <= 1+len(id) {
			continue
		}
		copy(id[:], name[1:])
		saved := out[id]
		if string(name[1+len(id):]) == rowsName {
			var k storedRows
			if json.Unmarshal(it.Value(), &k) == nil {
				for _, row := range k.Rows {
					saved = max(saved, row.Used)
				}
			}
		}
		out[id] = saved
	}
	return out, it.Err()
}

// move deletes the stored history of a server; with keep, it stores it under the prefix to, which is that of the
// server that takes it over.
func move(ctx context.Context, t storage.Txn, from storage.MemberID, to []byte, keep bool) error {
	prefix := ownedBy(from)
	it, err := t.Iter(ctx, keyspace.MetaPrefixRange(keyspace.MetaHistory, prefix), storage.IterOptions{})
	if err != nil {
		return err
	}
	var records []record
	for it.Next() {
		_, name, _ := keyspace.SplitMeta(it.Key())
		records = append(records, record{bytes.Clone(name[len(prefix):]), bytes.Clone(it.Value())})
	}
	err = it.Err()
	it.Close()
	for _, x := range records {
		if err == nil {
			err = t.Delete(recordKey(prefix, x.name))
		}
		if err == nil && keep {
			err = t.Set(recordKey(to, x.name), x.value)
		}
	}
	return err
}
