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

// lookup returns the value the transaction sees, nil if absent.
func (t *txn) lookup(ctx context.Context, key []byte) ([]byte, error) {
	v, err := t.reader.lookup(ctx, key)
	if err == nil {
		if own, state := t.buf.Get(key); state != writebuf.Untouched {
			v = own
		}
	}
	return v, err
}

func (t *txn) Get(ctx context.Context, key, dst []byte) ([]byte, error) {
	v, err := t.lookup(ctx, key)
	if err == nil && v == nil {
		err = storage.ErrNotFound
	}
	return append(dst, v...), err
}

func (t *txn) Has(ctx context.Context, key []byte) (bool, error) {
	v, err := t.lookup(ctx, key)
	return v != nil, err
}

func (t *txn) GetMany(ctx context.Context, keys [][]byte, emit func(i int, value []byte) error) error {
	for i, k := range keys {
		v, err := t.lookup(ctx, k)
		if err == nil {
			err = emit(i, v)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (t *txn) Iter(ctx context.Context, r storage.Range, o storage.IterOptions) (storage.Iterator, error) {
	it, err := t.iter(ctx, r, o)
	if err != nil {
		return nil, err
	}
	return writebuf.Guard(writebuf.Merge(it, &t.buf, r, o.Reverse)), nil
}

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
