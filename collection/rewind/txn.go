package rewind

import (
	"context"
	"errors"

	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/writebuf"
)

// Txn is a transaction that reads a State, a time in the past. Keys whose values differ between this time and the
// state's base cannot be written: the first committer wins. So the transaction's writes and the layers have different
// keys, and reads need not determine which of them takes precedence.
type Txn struct {
	storage.Txn
	reader Reader
	state  *State
}

// Begin opens a transaction that reads the store at a time in the past, with a State of its own.
// Errors: the errors of Open and of Store.Begin.
func Begin(ctx context.Context, store storage.Store, at, since storage.Timestamp, memory *ratelimit.Memory) (*Txn, error) {
	const tries = 10
	for try := 1; ; try++ {
		s, err := Open(ctx, store, at, since, memory)
		if err != nil {
			return nil, err
		}
		under, err := store.Begin(ctx, storage.TxnOptions{At: s.Base()})
		if err == nil {
			return &Txn{Txn: under, reader: Reader{s: s, under: under}, state: s}, nil
		}
		s.Close()
		if try == tries || !errors.Is(err, storage.ErrSnapshotTooOld) {
			return nil, err
		} // so much was written since Base that the store cannot detect conflicts any more: try again with a newer one
	}
}

// State returns the state that the transaction reads.
func (t *Txn) State() *State { return t.state }

// Snapshot implements storage.Txn.
func (t *Txn) Snapshot() storage.Reader { return &Reader{s: t.state, under: t.Txn.Snapshot()} }

// ReadTimestamp implements storage.Reader.
func (t *Txn) ReadTimestamp() storage.Timestamp { return t.state.at }

// Get implements storage.Reader.
func (t *Txn) Get(ctx context.Context, key, dst []byte) ([]byte, error) {
	return t.reader.Get(ctx, key, dst)
}

// Has implements storage.Reader.
func (t *Txn) Has(ctx context.Context, key []byte) (bool, error) { return t.reader.Has(ctx, key) }

// GetMany implements storage.Reader.
func (t *Txn) GetMany(ctx context.Context, keys [][]byte, emit func(i int, value []byte) error) error {
	return t.reader.GetMany(ctx, keys, emit)
}

// Iter implements storage.Reader.
func (t *Txn) Iter(ctx context.Context, r storage.Range, o storage.IterOptions) (storage.Iterator, error) {
	return t.reader.Iter(ctx, r, o)
}

// Set implements storage.Txn. Errors: also ErrConflict.
func (t *Txn) Set(key, value []byte) error {
	if err := t.check(key); err != nil {
		return err
	}
	return t.Txn.Set(key, value)
}

// Delete implements storage.Txn. Errors: also ErrConflict.
func (t *Txn) Delete(key []byte) error {
	if err := t.check(key); err != nil {
		return err
	}
	return t.Txn.Delete(key)
}

// Lock implements storage.Txn. Errors: also ErrConflict.
func (t *Txn) Lock(ctx context.Context, keys ...[]byte) error {
	for _, key := range keys {
		if err := t.check(key); err != nil {
			return err
		}
	}
	return t.Txn.Lock(ctx, keys...)
}

// Claim implements storage.Txn.
func (t *Txn) Claim(ctx context.Context, keys ...[]byte) error {
	for _, key := range keys {
		if err := t.check(key); err != nil {
			return err
		}
	}
	return t.Txn.Claim(ctx, keys...)
}

// check returns storage.ErrConflict for a key whose value at the time that the transaction reads differs from that at
// Base.
func (t *Txn) check(key []byte) error {
	layer, err := t.state.layerFor(key)
	if err != nil {
		return err
	}
	if _, state := layer.Get(key); state != writebuf.Untouched {
		return storage.ErrConflict
	}
	return nil
}

// Commit implements storage.Txn.
func (t *Txn) Commit(ctx context.Context, d storage.Durability) (storage.Timestamp, error) {
	defer t.Close()
	return t.Txn.Commit(ctx, d)
}

// Close implements storage.Txn.
func (t *Txn) Close() {
	t.Txn.Close()
	t.state.Close()
}
