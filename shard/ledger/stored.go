package ledger

import (
	"bytes"
	"context"
	"encoding/binary"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/keyspace"
)

// A row is stored under its hour (8 bytes), the server (17 bytes, of which the first is 1 if the server has peers), the
// kind, 'o' for the row of the others or 'r', and its name. The value is a document.

const serverBytes = 17

// server returns the part of this server in the keys of its rows: zeroes for the only member of a store.
func (l *Ledger) server() []byte {
	out := make([]byte, serverBytes)
	if id := storage.MembershipOf(l.Store).Member(); id != (storage.MemberID{}) {
		out[0] = 1
		copy(out[1:], id[:])
	}
	return out
}

func rowKey(hour int64, server []byte, id rowID) []byte {
	name := append(binary.BigEndian.AppendUint64(nil, uint64(hour)), server...)
	if name = append(name, byte(id.kind)); id.others {
		name = append(name, 'o')
	} else {
		name = append(name, 'r')
	}
	return keyspace.AppendMeta(nil, keyspace.MetaLedger, append(name, id.name...))
}

// splitKey splits the key of a row.
func splitKey(key []byte) (hour int64, server []byte, id rowID, ok bool) {
	_, name, ok := keyspace.SplitMeta(key)
	if !ok || len(name) < 8+serverBytes+2 {
		return 0, nil, rowID{}, false
	}
	hour, name = int64(binary.BigEndian.Uint64(name)), name[8:]
	server, name = name[:serverBytes], name[serverBytes:]
	return hour, server, rowID{Kind(name[0]), name[1] == 'o', string(name[2:])}, true
}

// hoursFrom returns the range of the keys of an hour and of all later ones.
func hoursFrom(hour int64) storage.Range {
	r := keyspace.MetaRange(keyspace.MetaLedger)
	r.Start = keyspace.AppendMeta(nil, keyspace.MetaLedger, binary.BigEndian.AppendUint64(nil, uint64(max(0, hour))))
	return r
}

// encode returns the stored form of a row.
func (r *Row) encode() []byte {
	b := bson.NewBuilder(nil)
	b.Int64("hundredths", r.Hundredths)
	b.Int64("commands", r.Commands)
	r.AppendParts(b)
	return b.Doc()
}

// AppendParts appends the parts of the name that the row has.
func (r *Row) AppendParts(b *bson.Builder) {
	for _, part := range [...]struct{ name, text string }{{"ns", r.Namespace}, {"command", r.Command}, {"filter", r.Filter}, {"sort", r.Sort}} {
		if part.text != "" {
			b.String(part.name, part.text)
		}
	}
	if !r.Value.IsEmpty() {
		b.Raw("value", r.Value)
	}
}

// decodeRow returns the row with an id and a stored form.
func decodeRow(id rowID, stored []byte) Row {
	d := bson.Raw(bytes.Clone(stored))
	r := Row{Kind: id.kind, Others: id.others, Name: id.name}
	r.Hundredths, _ = d.Get("hundredths").AsInt64()
	r.Commands, _ = d.Get("commands").AsInt64()
	for _, part := range [...]struct {
		name string
		to   *string
	}{{"ns", &r.Namespace}, {"command", &r.Command}, {"filter", &r.Filter}, {"sort", &r.Sort}} {
		*part.to, _ = d.Get(part.name).Str()
	}
	r.Value, _ = d.Get("value").Doc()
	return r
}

// scan visits the stored rows of an hour and of later ones, in the order of the hours, until visit returns false.
func scan(ctx context.Context, in storage.Reader, from int64, visit func(key []byte, hour int64, server []byte, id rowID, value []byte) (bool, error)) error {
	it, err := in.Iter(ctx, hoursFrom(from), storage.IterOptions{})
	if err != nil {
		return err
	}
	defer it.Close()
	for it.Next() {
		hour, server, id, ok := splitKey(it.Key())
		if !ok {
			continue
		}
		if more, err := visit(it.Key(), hour, server, id, it.Value()); err != nil || !more {
			return err
		}
	}
	return it.Err()
}

// load reads the rows of an hour that this server has stored.
func (l *Ledger) load(ctx context.Context, n int64, h *hour) error {
	snap, err := l.Store.Snapshot(ctx, 0)
	if err != nil {
		return err
	}
	defer snap.Close()
	own := l.server()
	return scan(ctx, snap, n, func(_ []byte, hour int64, server []byte, id rowID, value []byte) (bool, error) {
		if hour != n {
			return false, nil
		}
		if !bytes.Equal(server, own) {
			return true, nil
		}
		h.rows[id] = &heldRow{Row: decodeRow(id, value), stored: true}
		return true, nil
	})
}

// Flush writes the changed rows to the store, and removes rows that are older than KeptHours. It does not wait for the
// disk. Errors: those of the store; the rows are then written by the next call.
func (l *Ledger) Flush(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.collect(ctx); err != nil {
		return err
	}
	now := l.Now().Unix() / hourSeconds
	if l.Store != nil {
		if err := l.write(ctx, now); err != nil {
			return err
		}
	}
	for n, h := range l.hours {
		for _, r := range h.rows {
			r.changed = false
		}
		h.removed = nil
		if n < now-1 {
			delete(l.hours, n)
		}
	}
	return nil
}

// write stores the changed rows in one transaction, and removes rows that are too old once in each hour.
func (l *Ledger) write(ctx context.Context, now int64) error {
	changed := l.pruned != now
	for _, h := range l.hours {
		for _, r := range h.rows {
			changed = changed || r.changed
		}
		changed = changed || len(h.removed) > 0
	}
	if !changed {
		return nil
	}
	t, err := l.Store.Begin(ctx, storage.TxnOptions{})
	if err != nil {
		return err
	}
	defer t.Close()
	own, wrote := l.server(), false
	for n, h := range l.hours {
		for _, id := range h.removed {
			if h.rows[id] == nil {
				wrote = true
				if err := t.Delete(rowKey(n, own, id)); err != nil {
					return err
				}
			}
		}
		for id, r := range h.rows {
			if !r.changed {
				continue
			}
			wrote, r.stored = true, true
			if err := t.Set(rowKey(n, own, id), r.encode()); err != nil {
				return err
			}
		}
	}
	more := false
	if l.pruned != now {
		var old [][]byte
		err := scan(ctx, t, 0, func(key []byte, hour int64, _ []byte, _ rowID, _ []byte) (bool, error) {
			if hour >= now-KeptHours {
				return false, nil
			}
			old = append(old, bytes.Clone(key))
			more = len(old) == removedAtOne
			return !more, nil
		})
		if err != nil {
			return err
		}
		for _, key := range old {
			wrote = true
			if err := t.Delete(key); err != nil {
				return err
			}
		}
	}
	if wrote {
		if _, err := t.Commit(ctx, storage.Buffered); err != nil {
			return err
		}
	}
	if !more {
		l.pruned = now
	}
	return nil
}
