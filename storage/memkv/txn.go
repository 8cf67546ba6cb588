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
	writebuf.Reads
	writebuf.Writer
	buf  writebuf.Buffer
	held writebuf.HeldLatches
}

// Snapshot implements storage.Txn.
func (t *txn) Snapshot() storage.Reader { return t.At(t.Written()) }

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

func (t *txn) Close() {
	t.view.Close()
	t.held.Release()
}

func (t *txn) Commit(ctx context.Context, _ storage.Durability) (storage.Timestamp, error) {
	if t.closed.Load() {
		return 0, storage.ErrClosed
	}
	defer t.Close()
	if t.buf.Empty() {
		return t.ts, nil
	}
	s := t.s
	if err := s.lock(ctx); err != nil {
		return 0, err
	}
	defer s.mu.Unlock()
	defer t.leave()
	touch := t.buf.Locks()
	for k := range t.buf.All() {
		touch = append(touch, k)
	}
	for _, k := range touch {
		if s.touched[string(k)] > t.ts {
			s.conflicts++
			return 0, storage.ErrConflict
		}
	}
	ts := s.next(len(t.buf.Logs()))
	for _, k := range touch {
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

// leave ends the reader; mu is held.
func (t *txn) leave() {
	if !t.closed.Swap(true) {
		t.s.release(t.ts)
	}
}
