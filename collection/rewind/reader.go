package rewind

import (
	"context"
	"fmt"

	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/keyspace"
	"github.com/cantledb/cantle/storage/writebuf"
)

// Reader reads a state. Only collections that were loaded can be read.
type Reader struct {
	s       *State
	under   storage.Reader
	release func()
}

// Reader opens a reader; release is called when it is closed. nil does nothing.
func (s *State) Reader(release func()) *Reader { return &Reader{s: s, under: s.base, release: release} }

// ReadTimestamp implements storage.Reader.
func (r *Reader) ReadTimestamp() storage.Timestamp { return r.s.at }

// Get implements storage.Reader.
func (r *Reader) Get(ctx context.Context, key, dst []byte) ([]byte, error) {
	layer, err := r.s.over(key)
	if err != nil {
		return dst, err
	}
	return get(ctx, r.under, layer, key, dst)
}

// Has implements storage.Reader.
func (r *Reader) Has(ctx context.Context, key []byte) (bool, error) {
	layer, err := r.s.over(key)
	if err != nil {
		return false, err
	}
	return has(ctx, r.under, layer, key)
}

// GetMany implements storage.Reader. The keys are of one collection.
func (r *Reader) GetMany(ctx context.Context, keys [][]byte, emit func(i int, value []byte) error) error {
	if len(keys) == 0 {
		return nil
	}
	layer, err := r.s.over(keys[0])
	if err != nil {
		return err
	}
	return getMany(ctx, r.under, layer, keys, emit)
}

// Iter implements storage.Reader. The range is within one collection.
func (r *Reader) Iter(ctx context.Context, rg storage.Range, o storage.IterOptions) (storage.Iterator, error) {
	layer, err := r.s.over(rg.Start)
	if err != nil {
		return nil, err
	}
	return iterate(ctx, r.under, layer, rg, o)
}

// Close implements storage.Reader.
func (r *Reader) Close() {
	if release := r.release; release != nil {
		r.release = nil
		release()
	}
}

// nothing is the layer over what belongs to no collection.
var nothing = &writebuf.Buffer{}

// over is the layer that lies over a key. Records and entries of a collection that was
// not loaded must not be read: they would be of today.
func (s *State) over(key []byte) (*writebuf.Buffer, error) {
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

func get(ctx context.Context, under storage.Reader, layer *writebuf.Buffer, key, dst []byte) ([]byte, error) {
	switch v, state := layer.Get(key); state {
	case writebuf.Written:
		return append(dst, v...), nil
	case writebuf.Deleted:
		return dst, storage.ErrNotFound
	}
	return under.Get(ctx, key, dst)
}

func has(ctx context.Context, under storage.Reader, layer *writebuf.Buffer, key []byte) (bool, error) {
	if _, state := layer.Get(key); state != writebuf.Untouched {
		return state == writebuf.Written, nil
	}
	return under.Has(ctx, key)
}

// getMany asks the reader below for all keys, and passes on the layer's values
// instead where it has some.
func getMany(ctx context.Context, under storage.Reader, layer *writebuf.Buffer, keys [][]byte, emit func(i int, value []byte) error) error {
	return under.GetMany(ctx, keys, func(i int, value []byte) error {
		if v, state := layer.Get(keys[i]); state != writebuf.Untouched {
			value = v
		}
		return emit(i, value)
	})
}

func iterate(ctx context.Context, under storage.Reader, layer *writebuf.Buffer, r storage.Range, o storage.IterOptions) (storage.Iterator, error) {
	it, err := under.Iter(ctx, r, o)
	if err != nil || layer.Len() == 0 {
		return it, err
	}
	return writebuf.Guard(writebuf.Merge(it, layer, r, o.Reverse)), nil
}
