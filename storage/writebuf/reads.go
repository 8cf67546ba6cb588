package writebuf

import (
	"context"

	"github.com/cantledb/cantle/storage"
)

// Below is the snapshot of an engine below the writes of a transaction: the engine implements these reads, and
// Reads adds the writes.
type Below interface {
	ReadTimestamp() storage.Timestamp
	// Check is called before each read. Errors: errors that each read of the engine may have, such as ErrClosed.
	Check(ctx context.Context) error
	// Lookup is storage.Reader.Get of the snapshot.
	Lookup(ctx context.Context, key, dst []byte) ([]byte, error)
	// Contains see storage.Reader.Has.
	Contains(ctx context.Context, key []byte) (bool, error)
	// LookupMany is storage.Reader.GetMany of the snapshot with the writes of l: for a key that l includes, it
	// emits the value in l.
	LookupMany(ctx context.Context, l Layer, keys [][]byte, emit func(i int, value []byte) error) error
	// Walk is storage.Reader.Iter of the snapshot.
	Walk(ctx context.Context, r storage.Range, o storage.IterOptions) (storage.Iterator, error)
}

// Reads implements the reading methods of storage.Reader and storage.Txn: an engine embeds it. It reads the writes
// in Layer before the snapshot. A reader without writes has the zero Layer.
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

// At returns a reader of the same snapshot with another layer of writes over it. Its Close does nothing.
func (r *Reads) At(l Layer) storage.Reader { return &layerReader{Reads{r.Below, l}} }

// layerReader is a reader with its own layer over the snapshot of another reader, which closes the snapshot.
type layerReader struct{ Reads }

// Close implements storage.Reader.
func (*layerReader) Close() {}

// Over returns the reads of the reader under with the writes of layer l over it. The owner of under closes it.
func Over(under storage.Reader, l Layer) Reads { return Reads{unchecked{under}, l} }

// unchecked makes a Below of a storage.Reader. Its Check does nothing, because each read of the reader checks by
// itself.
type unchecked struct{ storage.Reader }

// Check implements Below.
func (unchecked) Check(context.Context) error { return nil }

// Lookup implements Below.
func (u unchecked) Lookup(ctx context.Context, key, dst []byte) ([]byte, error) {
	return u.Get(ctx, key, dst)
}

// Contains implements Below.
func (u unchecked) Contains(ctx context.Context, key []byte) (bool, error) { return u.Has(ctx, key) }

// LookupMany implements Below: it reads all keys from the reader, also those that l includes, and emits the values
// in l for these.
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
