package writebuf

import (
	"context"

	"github.com/cantledb/cantle/storage"
)

// Below is a snapshot of an engine, under the writes of a transaction.
type Below interface {
	ReadTimestamp() storage.Timestamp
	// Check is called before each read. Errors: those that every read of the engine may have.
	Check(ctx context.Context) error
	// Lookup see storage.Reader.Get.
	Lookup(ctx context.Context, key, dst []byte) ([]byte, error)
	// Contains see storage.Reader.Has.
	Contains(ctx context.Context, key []byte) (bool, error)
	// LookupMany is storage.Reader.GetMany; a key that l includes is emitted with the value of
	// l.
	LookupMany(ctx context.Context, l Layer, keys [][]byte, emit func(i int, value []byte) error) error
	// Walk see storage.Reader.Iter.
	Walk(ctx context.Context, r storage.Range, o storage.IterOptions) (storage.Iterator, error)
}

// Reads is the half of a storage.Reader, and of a storage.Txn, that reads: an engine embeds it.
// A reader without writes has the zero Layer.
type Reads struct {
	Below
	Layer Layer
}

// Get implements storage.Reader.
func (r *Reads) Get(ctx context.Context, key, dst []byte) ([]byte, error) {
	if err := r.Check(ctx); err != nil {
		return dst, err
	}
	switch v, state := r.Layer.Get(key); state {
	case Written:
		return append(dst, v...), nil
	case Deleted:
		return dst, storage.ErrNotFound
	}
	return r.Lookup(ctx, key, dst)
}

// Has implements storage.Reader.
func (r *Reads) Has(ctx context.Context, key []byte) (bool, error) {
	if err := r.Check(ctx); err != nil {
		return false, err
	}
	if _, state := r.Layer.Get(key); state != Untouched {
		return state == Written, nil
	}
	return r.Contains(ctx, key)
}

// GetMany implements storage.Reader.
func (r *Reads) GetMany(ctx context.Context, keys [][]byte, emit func(i int, value []byte) error) error {
	if err := r.Check(ctx); err != nil {
		return err
	}
	return r.LookupMany(ctx, r.Layer, keys, emit)
}

// Iter implements storage.Reader.
func (r *Reads) Iter(ctx context.Context, rg storage.Range, o storage.IterOptions) (storage.Iterator, error) {
	if err := r.Check(ctx); err != nil {
		return nil, err
	}
	it, err := r.Walk(ctx, rg, o)
	if err != nil {
		return nil, err
	}
	return r.Layer.Over(it, rg, o.Reverse), nil
}

// At returns a reader with another layer over the same snapshot. Its Close does nothing.
func (r *Reads) At(l Layer) storage.Reader { return &layerReader{Reads{r.Below, l}} }

// layerReader is a reader over the snapshot of another reader, which owns the snapshot.
type layerReader struct{ Reads }

// Close implements storage.Reader.
func (*layerReader) Close() {}

// Over returns reads of under with the layer l over it. Closing under is up to its owner.
func Over(under storage.Reader, l Layer) Reads { return Reads{unchecked{under}, l} }

// unchecked is a reader that checks itself in each read.
type unchecked struct{ storage.Reader }

// Check implements Below.
func (unchecked) Check(context.Context) error { return nil }

// Lookup implements Below.
func (u unchecked) Lookup(ctx context.Context, key, dst []byte) ([]byte, error) {
	return u.Get(ctx, key, dst)
}

// Contains implements Below.
func (u unchecked) Contains(ctx context.Context, key []byte) (bool, error) { return u.Has(ctx, key) }

// LookupMany implements Below: it reads all keys, also those that l includes.
func (u unchecked) LookupMany(ctx context.Context, l Layer, keys [][]byte, emit func(i int, value []byte) error) error {
	return u.GetMany(ctx, keys, func(i int, value []byte) error {
		if v, state := l.Get(keys[i]); state != Untouched {
			value = v
		}
		return emit(i, value)
	})
}

// Walk implements Below.
func (u unchecked) Walk(ctx context.Context, r storage.Range, o storage.IterOptions) (storage.Iterator, error) {
	return u.Iter(ctx, r, o)
}
