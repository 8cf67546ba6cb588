package memkv

import (
	"context"
	"slices"
	"sync/atomic"

	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/writebuf"
)

// reader implements storage.Reader.
type reader struct {
	s      *store
	ts     storage.Timestamp
	closed atomic.Bool
}

func (r *reader) ReadTimestamp() storage.Timestamp { return r.ts }

// lookup returns the value in the snapshot, nil if absent.
func (r *reader) lookup(ctx context.Context, key []byte) ([]byte, error) {
	if r.closed.Load() {
		return nil, storage.ErrClosed
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	return r.s.at(string(key), r.ts), nil
}

func (r *reader) Get(ctx context.Context, key, dst []byte) ([]byte, error) {
	v, err := r.lookup(ctx, key)
	if err == nil && v == nil {
		err = storage.ErrNotFound
	}
	return append(dst, v...), err
}

func (r *reader) Has(ctx context.Context, key []byte) (bool, error) {
	v, err := r.lookup(ctx, key)
	return v != nil, err
}

func (r *reader) GetMany(ctx context.Context, keys [][]byte, emit func(i int, value []byte) error) error {
	for i, k := range keys {
		v, err := r.lookup(ctx, k)
		if err == nil {
			err = emit(i, v)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *reader) Iter(ctx context.Context, rg storage.Range, o storage.IterOptions) (storage.Iterator, error) {
	it, err := r.iter(ctx, rg, o)
	if err != nil {
		return nil, err
	}
	return writebuf.Guard(it), nil
}

func (r *reader) iter(ctx context.Context, rg storage.Range, o storage.IterOptions) (*iterator, error) {
	if r.closed.Load() {
		return nil, storage.ErrClosed
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	r.s.mu.Lock()
	r.s.iterators++
	r.s.mu.Unlock()
	it := &iterator{r: r, reverse: o.Reverse, start: string(rg.Start), end: string(rg.End), bounded: rg.End != nil}
	return it, nil
}

func (r *reader) Close() {
	if r.closed.Swap(true) {
		return
	}
	r.s.mu.Lock()
	r.s.release(r.ts)
	r.s.mu.Unlock()
}

// iterator finds each next key anew, so the store may change under it.
type iterator struct {
	r              *reader
	start, end     string
	bounded        bool // end counts
	reverse        bool
	started, ended bool
	key            string
	value          []byte
	closed         bool
}

func (i *iterator) Next() bool {
	switch {
	case i.closed || i.ended:
		return false
	case i.started:
		return i.from(i.key, false)
	case !i.reverse:
		return i.from(i.start, true)
	}
	return i.from(i.end, false)
}

func (i *iterator) Seek(key []byte) bool {
	if i.closed || i.ended {
		return false
	}
	k := string(key)
	if i.started && (i.key == k || (i.key > k) != i.reverse) {
		return true
	}
	if !i.reverse && k < i.start {
		return i.from(i.start, true)
	}
	if i.reverse && i.bounded && k >= i.end {
		return i.from(i.end, false)
	}
	return i.from(k, true)
}

// from stands on the first visible key at or beyond k; beyond it if not inclusive.
func (i *iterator) from(k string, inclusive bool) bool {
	s := i.r.s
	s.mu.Lock()
	defer s.mu.Unlock()
	at, found := slices.BinarySearch(s.keys, k)
	step := 1
	if i.reverse {
		step = -1
		if !i.started && !inclusive && !i.bounded { // from the very end
			at, found = len(s.keys), false
		}
		if !(found && inclusive) {
			at--
		}
	} else if found && !inclusive {
		at++
	}
	i.started = true
	for ; at >= 0 && at < len(s.keys); at += step {
		key := s.keys[at]
		if key < i.start || i.bounded && key >= i.end {
			break
		}
		if v := s.at(key, i.r.ts); v != nil {
			i.key, i.value = key, v
			return true
		}
	}
	i.ended = true
	return false
}

func (i *iterator) Key() []byte   { return []byte(i.key) }
func (i *iterator) Value() []byte { return slices.Clone(i.value) }
func (i *iterator) Err() error    { return nil }

func (i *iterator) Close() {
	if i.closed {
		return
	}
	i.closed = true
	i.r.s.mu.Lock()
	i.r.s.iterators--
	i.r.s.mu.Unlock()
}
