package history

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"

	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/keyspace"
)

// Where several servers use a store each keeps its own history, under its name. A server has another
// name after a restart, so one that starts takes over the history of a server that is dead; what
// nobody takes over goes when it is as old as the oldest column.

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
	shared := storage.AsShared(r.Store)
	t, err := r.Store.Begin(ctx, storage.TxnOptions{})
	if err != nil {
		return err
	}
	defer t.Close()
	left, err := leftBehind(ctx, t)
	if err != nil || len(left) == 0 {
		return err
	}
	_, alive, err := shared.Members(ctx)
	if err != nil {
		return err
	}
	for _, m := range alive {
		delete(left, m.ID)
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
