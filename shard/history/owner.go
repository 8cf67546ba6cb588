package history

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/keyspace"
)

// Where several servers use a store each keeps its own history, under its name. A server has another
// name after a restart, so one that starts takes over the history of a server that is dead; what
// nobody takes over is shown with that of the living (Everywhere), and goes when it is as old as the oldest
// column.

// ofMember begins the keys of a server's records, before its name.
const ofMember = 'm'

// owner begins the names of the records in a store: nothing, if this process has it alone.
func owner(s storage.Store) []byte {
	shared := storage.AsShared(s)
	if !storage.Several || shared == nil {
		return nil
	}
	id := shared.Member()
	return append([]byte{ofMember}, id[:]...)
}

// inherit makes the newest of the histories that servers have left which are dead this server's, and
// removes those that are too old. Of two servers that want the same one conflicts, and has none.
func (r *Recorder) inherit(ctx context.Context) error {
	t, err := r.Store.Begin(ctx, storage.TxnOptions{})
	if err != nil {
		return err
	}
	defer t.Close()
	left, err := r.dead(ctx, t)
	if err != nil || len(left) == 0 {
		return err
	}
	var heir storage.MemberID
	newest, oldest := int64(0), r.Now().Unix()-Span(Fives)
	for id, saved := range left {
		if saved > newest && saved > oldest {
			heir, newest = id, saved
		}
	}
	for id, saved := range left {
		if id == heir && newest > 0 || saved <= oldest {
			if err := move(ctx, t, id, owner(r.Store), id == heir && newest > 0); err != nil {
				return err
			}
		}
	}
	if _, err = t.Commit(ctx, storage.Buffered); errors.Is(err, storage.ErrConflict) {
		return nil
	}
	return err
}

// dead lists the servers with a history in the store that do not live, and the last second in which a
// partition of it did something.
func (r *Recorder) dead(ctx context.Context, in storage.Reader) (map[storage.MemberID]int64, error) {
	left, err := leftBehind(ctx, in)
	if err != nil || len(left) == 0 {
		return nil, err
	}
	_, alive, err := storage.AsShared(r.Store).Members(ctx)
	for _, m := range alive {
		delete(left, m.ID)
	}
	return left, err
}

// pastsMax bounds how many servers that are dead are shown: the latest. A server that starts takes over
// one of them, so there are about as many as servers ever ran at a time.
const pastsMax = 8

// pasts reads the histories of servers that are dead.
func (r *Recorder) pasts(ctx context.Context) (list []*Recorder, err error) {
	snap, err := r.Store.Snapshot(ctx, 0)
	if err != nil {
		return nil, err
	}
	defer snap.Close()
	left, err := r.dead(ctx, snap)
	for len(left) > 0 && err == nil && len(list) < pastsMax {
		var id storage.MemberID
		newest := int64(-1)
		for m, saved := range left {
			if saved > newest {
				id, newest = m, saved
			}
		}
		delete(left, id)
		past := New(Config{Store: r.Store, Now: r.Now})
		if _, err = past.load(ctx, append([]byte{ofMember}, id[:]...)); err == nil {
			past.end(id)
			list = append(list, past)
		}
	}
	return list, err
}

// end makes a history that of a server which is dead: what lasted ended with its work.
func (r *Recorder) end(id storage.MemberID) {
	r.over = id
	for i := range r.rows.list {
		w := &r.rows.list[i]
		if s := w.now(); s != nil {
			s.until = max(s.from, w.used) + 1
		}
	}
}

// stillThere are those of the pasts that nobody has taken over and whose servers have not come back.
func stillThere(ctx context.Context, s storage.Store, pasts []*Recorder) (list []*Recorder, err error) {
	if len(pasts) == 0 {
		return nil, nil
	}
	snap, err := s.Snapshot(ctx, 0)
	if err != nil {
		return nil, err
	}
	defer snap.Close()
	_, alive, err := storage.AsShared(s).Members(ctx)
	if err != nil {
		return nil, err
	}
	for _, past := range pasts {
		if slices.ContainsFunc(alive, func(m storage.Member) bool { return m.ID == past.over }) {
			continue
		}
		name := append(append([]byte{ofMember}, past.over[:]...), rowsName...)
		there, err := snap.Has(ctx, keyspace.AppendMeta(nil, keyspace.MetaHistory, name))
		if err != nil {
			return nil, err
		}
		if there {
			list = append(list, past)
		}
	}
	return list, nil
}

// Forget removes the histories of servers that are dead once they are older than the oldest column. One
// server is to do it now and then. Errors: those of the store.
func (r *Recorder) Forget(ctx context.Context) error {
	if !storage.Several || r.Store == nil || storage.AsShared(r.Store) == nil {
		return nil
	}
	t, err := r.Store.Begin(ctx, storage.TxnOptions{})
	if err != nil {
		return err
	}
	defer t.Close()
	left, err := r.dead(ctx, t)
	if err != nil {
		return err
	}
	for id, saved := range left {
		if saved <= r.Now().Unix()-Span(Fives) {
			if err := move(ctx, t, id, nil, false); err != nil {
				return err
			}
		}
	}
	if _, err = t.Commit(ctx, storage.Buffered); errors.Is(err, storage.ErrConflict) {
		return nil // the server is back, or another one has taken it over
	}
	return err
}

// leftBehind lists the servers with a history in the store, and the last second in which a
// partition of it did something.
func leftBehind(ctx context.Context, r storage.Reader) (map[storage.MemberID]int64, error) {
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
			var k keptRows
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

// move removes the records of a server, and writes them under other names if they are to be kept.
func move(ctx context.Context, t storage.Txn, from storage.MemberID, to []byte, keep bool) error {
	prefix := append([]byte{ofMember}, from[:]...)
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
			err = t.Delete(keyspace.AppendMeta(nil, keyspace.MetaHistory, append(bytes.Clone(prefix), x.name...)))
		}
		if err == nil && keep {
			err = t.Set(keyspace.AppendMeta(nil, keyspace.MetaHistory, append(bytes.Clone(to), x.name...)), x.value)
		}
	}
	return err
}
