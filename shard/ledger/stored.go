package ledger

import (
	"bytes"
	"context"
	"encoding/binary"
	"slices"

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
	name := append(hourName(hour), server...)
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

// hourName begins the names of the rows of an hour.
func hourName(hour int64) []byte { return binary.BigEndian.AppendUint64(nil, uint64(max(0, hour))) }

// hoursFrom returns the range of the keys of an hour and of all later ones.
func hoursFrom(hour int64) storage.Range {
	r := keyspace.MetaRange(keyspace.MetaLedger)
	r.Start = keyspace.AppendMeta(nil, keyspace.MetaLedger, hourName(hour))
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

// scan visits the stored rows in a range of keys, in the order of the hours, until visit returns false.
func scan(ctx context.Context, in storage.Reader, of storage.Range, visit func(key []byte, hour int64, server []byte, id rowID, value []byte) bool) error {
	it, err := in.Iter(ctx, of, storage.IterOptions{})
	if err != nil {
		return err
	}
	defer it.Close()
	for it.Next() {
		hour, server, id, ok := splitKey(it.Key())
		if ok && !visit(it.Key(), hour, server, id, it.Value()) {
			return nil
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
	own := keyspace.MetaPrefixRange(keyspace.MetaLedger, append(hourName(n), l.server()...))
	return scan(ctx, snap, own, func(_ []byte, _ int64, _ []byte, id rowID, value []byte) bool {
		h.rows[id] = &heldRow{Row: decodeRow(id, value), stored: true}
		return true
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

// record is a stored row to set, or without a value to remove.
type record struct{ key, value []byte }

// write stores the changed rows in one transaction, and removes rows that are too old once in each hour.
func (l *Ledger) write(ctx context.Context, now int64) error {
	var list []record
	own := l.server()
	for n, h := range l.hours {
		for _, id := range h.removed {
			if h.rows[id] == nil {
				list = append(list, record{rowKey(n, own, id), nil})
			}
		}
		for id, r := range h.rows {
			if r.changed {
				r.stored = true
				list = append(list, record{rowKey(n, own, id), r.encode()})
			}
		}
	}
	if len(list) == 0 && l.pruned == now {
		return nil
	}
	more := false
	err := storage.Update(ctx, l.Store, storage.TxnOptions{}, storage.Buffered, func(t storage.Txn) error {
		all := list
		if l.pruned != now {
			old, err := tooOld(ctx, t, now)
			if err != nil {
				return err
			}
			more, all = len(old) == removedAtOne, slices.Concat(list, old)
		}
		for _, x := range all {
			var err error
			if x.value == nil {
				err = t.Delete(x.key)
			} else {
				err = t.Set(x.key, x.value)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil && !more {
		l.pruned = now
	}
	return err
}

// tooOld returns the removal of rows of all servers that are older than KeptHours, at most removedAtOne.
func tooOld(ctx context.Context, in storage.Reader, now int64) (old []record, err error) {
	all := storage.Range{Start: hoursFrom(0).Start, End: hoursFrom(now - KeptHours).Start}
	err = scan(ctx, in, all, func(key []byte, _ int64, _ []byte, _ rowID, _ []byte) bool {
		old = append(old, record{bytes.Clone(key), nil})
		return len(old) < removedAtOne
	})
	return old, err
}
