package rewind

import (
	"context"
	"fmt"

	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/keyspace"
	"github.com/cantledb/cantle/storage/writebuf"
)

// Reader is a storage.Reader of a State, a time in the past. Only collections that were loaded by State.Load can be
// read.
type Reader struct {
	s       *State
	under   storage.Reader
	release func()
}

// Reader opens a reader of the state. release is called when the reader is closed; it may be nil.
func (s *State) Reader(release func()) *Reader { return &Reader{s: s, under: s.base, release: release} }

// ReadTimestamp implements storage.Reader.
func (r *Reader) ReadTimestamp() storage.Timestamp { return r.s.at }

// Get implements storage.Reader.
func (r *Reader) Get(ctx context.Context, key, dst []byte) ([]byte, error) {
	l, err := r.readerFor(key)
	if err != nil {
		return dst, err
	}
	return l.Get(ctx, key, dst)
}

// Has implements storage.Reader.
func (r *Reader) Has(ctx context.Context, key []byte) (bool, error) {
	l, err := r.readerFor(key)
	if err != nil {
		return false, err
	}
	return l.Has(ctx, key)
}

// GetMany implements storage.Reader. The keys are of one collection.
func (r *Reader) GetMany(ctx context.Context, keys [][]byte, emit func(i int, value []byte) error) error {
	if len(keys) == 0 {
		return nil
	}
	l, err := r.readerFor(keys[0])
	if err != nil {
		return err
	}
	return l.GetMany(ctx, keys, emit)
}

// Iter implements storage.Reader. The range is within one collection.
func (r *Reader) Iter(ctx context.Context, rg storage.Range, o storage.IterOptions) (storage.Iterator, error) {
	l, err := r.readerFor(rg.Start)
	if err != nil {
		return nil, err
	}
	return l.Iter(ctx, rg, o)
}

// Close implements storage.Reader.
func (r *Reader) Close() {
	if release := r.release; release != nil {
		r.release = nil
		release()
	}
}

// readerFor returns the reader for a key: the newest state, under the layer of the collection that owns the key.
func (r *Reader) readerFor(key []byte) (writebuf.Reads, error) {
	b, err := r.s.layerFor(key)
	if err != nil {
		return writebuf.Reads{}, err
	}
	return writebuf.Over(r.under, b.Newest()), nil
}

// nothing is the layer for keys that belong to no collection.
var nothing = &writebuf.Buffer{}

// layerFor returns the layer of the collection that owns a key. A collection that was not loaded must not be read,
// because its records and entries would be the present ones.
func (s *State) layerFor(key []byte) (*writebuf.Buffer, error) {
	id, ok := keyspace.CollectionOf(key)
	if !ok {
		return nothing, nil
	}
	layer := s.layer(id)
	if layer == nil {
		return nil, fmt.Errorf("BUG: rewind: collection %d was not loaded", id)
	}
	return layer, nil
}
