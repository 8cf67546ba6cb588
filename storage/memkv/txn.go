package memkv

import (
	"bytes"
	"context"

	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/writebuf"
)

// txn implements storage.Txn.
type txn struct {
	view
	writebuf.Txn
	buf writebuf.Buffer
}

// Claim implements storage.Txn.
func (t *txn) Claim(ctx context.Context, keys ...[]byte) error {
	if err := t.s.lock(ctx); err != nil {
		return err
	}
	defer t.s.mu.Unlock()
	for _, key := range keys {
		if t.s.touched[string(key)] > t.ts {
			return storage.ErrConflict
		}
	}
	return nil
}

// Apply implements writebuf.Engine.
func (t *txn) Apply(ctx context.Context, _ storage.Durability) (storage.Timestamp, error) {
	if t.buf.Empty() {
		return t.ts, nil
	}
	s := t.s
	if err := s.lock(ctx); err != nil {
		return 0, err
	}
	defer s.mu.Unlock()
	for k := range t.buf.Touched() {
		if s.touched[string(k)] > t.ts {
			s.conflicts++
			return 0, storage.ErrConflict
		}
	}
	ts := s.next(len(t.buf.Logs()))
	for k := range t.buf.Touched() {
		s.touched[string(k)] = ts
	}
	for k, v := range t.buf.All() {
		s.put(string(k), ts, bytes.Clone(v))
	}
	for i, r := range t.buf.Logs() {
		name := string(r.Stream)
		own := ts - storage.Timestamp(len(t.buf.Logs())-1-i)
		s.logs[name] = append(s.logs[name], record{ts, own, bytes.Clone(r.Rec)})
	}
	return ts, nil
}

// Release implements writebuf.Engine.
func (t *txn) Release() { t.release() }
