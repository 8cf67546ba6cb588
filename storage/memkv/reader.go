package memkv

import (
	"context"
	"slices"
	"sync/atomic"

	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/writebuf"
)

// view is the common part of readers and transactions: it reads one snapshot of the store.
type view struct {
	s      *store
	ts     storage.Timestamp
	closed atomic.Bool
}

// reader implements storage.Reader.
type reader struct {
	view
	writebuf.Reads
}

// ReadTimestamp implements storage.Reader.
func (v *view) ReadTimestamp() storage.Timestamp { return v.ts }

// Check implements writebuf.Below.
func (v *view) Check(ctx context.Context) error {
	if v.closed.Load() {
		return storage.ErrClosed
	}
	return ctx.Err()
}

// lookup returns the value of a key in the snapshot, nil if the key is absent.
func (v *view) lookup(key []byte) []byte {
	v.s.mu.Lock()
	defer v.s.mu.Unlock()
	return v.s.at(string(key), v.ts)
}

// Lookup implements writebuf.Below.
func (v *view) Lookup(_ context.Context, key, dst []byte) ([]byte, error) {
	value := v.lookup(key)
	if value == nil {
		return dst, storage.ErrNotFound
	}
	return append(dst, value...), nil
}

// Contains implements writebuf.Below.
func (v *view) Contains(_ context.Context, key []byte) (bool, error) {
	return v.lookup(key) != nil, nil
}

// LookupMany implements writebuf.Below.
func (v *view) LookupMany(ctx context.Context, l writebuf.Layer, keys [][]byte, emit func(i int, value []byte) error) error {
	for i, k := range keys {
		if err := v.Check(ctx); err != nil {
			return err
		}
		value, written := l.Get(k)
		if written == writebuf.Untouched {
			value = v.lookup(k)
		}
		if err := emit(i, value); err != nil {
			return err
		}
	}
	return nil
}

// Walk implements writebuf.Below.
func (v *view) Walk(_ context.Context, rg storage.Range, o storage.IterOptions) (storage.Iterator, error) {
	v.s.mu.Lock()
	v.s.iterators++
	v.s.mu.Unlock()
	it := &iterator{v: v, reverse: o.Reverse}
	it.SetRange(rg)
	return it, nil
}

// release ends the use of the snapshot, so that the store can drop old versions.
func (v *view) release() {
	v.s.mu.Lock()
	v.s.release(v.ts)
	v.s.mu.Unlock()
}

// Close implements storage.Reader.
func (r *reader) Close() {
	if !r.closed.Swap(true) {
		r.release()
	}
}

// iterator iterates over a range in one snapshot. Each step searches for the next key from the last one, so the
// store may change in between.
type iterator struct {
	v              *view
	start, end     string
	bounded        bool // end is valid
	reverse        bool
	started, ended bool
	key            string
	value          []byte
	closed         bool
}

// SetRange implements storage.RangeSetter.
func (i *iterator) SetRange(r storage.Range) {
	i.start, i.end, i.bounded = string(r.Start), string(r.End), r.End != nil
	i.started, i.ended, i.key, i.value = false, false, "", nil
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

// from moves the iterator to the first key at or beyond k, in its direction, that the snapshot has, and reports
// whether there is one. If not inclusive, k itself is skipped.
func (i *iterator) from(k string, inclusive bool) bool {
	s := i.v.s
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
		if v := s.at(key, i.v.ts); v != nil {
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
	i.v.s.mu.Lock()
	i.v.s.iterators--
	i.v.s.mu.Unlock()
}
