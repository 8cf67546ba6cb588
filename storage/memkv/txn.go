package memkv

import (
	"bytes"
	"context"

	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/writebuf"
)

// txn implements storage.Txn.
type txn struct {
	*reader
	writebuf.Writer
	buf  writebuf.Buffer
	held writebuf.Held
}

// state implements storage.Reader over a transaction: its snapshot, and over it a layer of
// what the transaction has written.
type state struct {
	*txn
	layer writebuf.Layer
}

func (t *txn) now() state { return state{t, t.buf.Newest()} }

// Snapshot implements storage.Txn.
func (t *txn) Snapshot() storage.Reader { return &state{t, t.buf.Snapshot()} }

func (t *txn) Get(ctx context.Context, key, dst []byte) ([]byte, error) {
	return t.now().Get(ctx, key, dst)
}

func (t *txn) Has(ctx context.Context, key []byte) (bool, error) { return t.now().Has(ctx, key) }

func (t *txn) GetMany(ctx context.Context, keys [][]byte, emit func(i int, value []byte) error) error {
	return t.now().GetMany(ctx, keys, emit)
}

func (t *txn) Iter(ctx context.Context, r storage.Range, o storage.IterOptions) (storage.Iterator, error) {
	return t.now().Iter(ctx, r, o)
}

// lookup returns the value that the state has, nil if absent.
func (s state) lookup(ctx context.Context, key []byte) ([]byte, error) {
	v, err := s.reader.lookup(ctx, key)
	if err == nil {
		if own, written := s.layer.Get(key); written != writebuf.Untouched {
			v = own
		}
	}
	return v, err
}

func (s state) Get(ctx context.Context, key, dst []byte) ([]byte, error) {
	v, err := s.lookup(ctx, key)
	if err == nil && v == nil {
		err = storage.ErrNotFound
	}
	return append(dst, v...), err
}

func (s state) Has(ctx context.Context, key []byte) (bool, error) {
	v, err := s.lookup(ctx, key)
	return v != nil, err
}

func (s state) GetMany(ctx context.Context, keys [][]byte, emit func(i int, value []byte) error) error {
	for i, k := range keys {
		v, err := s.lookup(ctx, k)
		if err == nil {
			err = emit(i, v)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (s state) Iter(ctx context.Context, r storage.Range, o storage.IterOptions) (storage.Iterator, error) {
	it, err := s.iter(ctx, r, o)
	if err != nil {
		return nil, err
	}
	return s.layer.Over(it, r, o.Reverse), nil
}

// Close does nothing: the transaction ends the state.
func (state) Close() {}

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
	t.reader.Close()
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
