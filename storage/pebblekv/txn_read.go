package pebblekv

import (
	"context"

	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/writebuf"
)

// state implements storage.Reader over a transaction: its snapshot, and over it a layer of
// what the transaction has written.
type state struct {
	*txn
	layer writebuf.Layer
}

func (t *txn) now() state { return state{t, t.Newest()} }

// Snapshot implements storage.Txn.
func (t *txn) Snapshot() storage.Reader { return &state{t, t.Written()} }

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

func (s state) Get(ctx context.Context, key, dst []byte) ([]byte, error) {
	if err := s.check(ctx); err != nil {
		return dst, err
	}
	switch v, found := s.layer.Get(key); found {
	case writebuf.Written:
		return append(dst, v...), nil
	case writebuf.Deleted:
		return dst, storage.ErrNotFound
	}
	return s.get(key, dst)
}

func (s state) Has(ctx context.Context, key []byte) (bool, error) {
	if err := s.check(ctx); err != nil {
		return false, err
	}
	if _, found := s.layer.Get(key); found != writebuf.Untouched {
		return found == writebuf.Written, nil
	}
	return s.has(key, true)
}

func (s state) GetMany(ctx context.Context, keys [][]byte, emit func(i int, value []byte) error) error {
	if err := s.check(ctx); err != nil {
		return err
	}
	return s.getMany(ctx, s.layer, keys, emit)
}

func (s state) Iter(ctx context.Context, r storage.Range, o storage.IterOptions) (storage.Iterator, error) {
	if err := s.check(ctx); err != nil {
		return nil, err
	}
	r = clip(r)
	it, err := s.iter(r, o)
	if err != nil {
		return nil, err
	}
	return s.layer.Over(it, r, o.Reverse), nil
}

// Close does nothing: the transaction ends the state.
func (state) Close() {}
