package pebblekv

import (
	"context"
	"errors"
	"hash/maphash"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"

	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/writebuf"
)

// view reads one snapshot of the store; it is the common part of readers and transactions.
type view struct {
	s      *store
	snap   *snap
	points atomic.Pointer[pebble.Iterator] // an iterator kept for the next lookup of one key, if keeps is set
	closed atomic.Bool
	keeps  bool // the lookup iterator is kept after its use
}

// byFilters are the options of iterators that look up single keys: Bloom filters are checked on the last level
// too, so that an absent key costs no read of a block.
var byFilters = pebble.IterOptions{UseL6Filters: true}

// ReadTimestamp implements storage.Reader.
func (v *view) ReadTimestamp() storage.Timestamp { return v.snap.ts }

// Check implements writebuf.Below.
func (v *view) Check(ctx context.Context) error {
	if v.closed.Load() {
		return storage.ErrClosed
	}
	return ctx.Err()
}

// Lookup implements writebuf.Below.
func (v *view) Lookup(_ context.Context, key, dst []byte) ([]byte, error) {
	print := maphash.Bytes(v.s.seed, key)
	if found, ok := v.s.hot.get(key, print, v.snap.ts, dst); ok {
		return found, nil
	}
	value, closer, err := v.s.pebble(v.snap).Get(key)
	if err != nil {
		if errors.Is(err, pebble.ErrNotFound) {
			return dst, storage.ErrNotFound
		}
		return dst, v.s.translate(err)
	}
	dst = append(dst, value...)
	v.s.hot.offer(key, value, print, v.snap.ts)
	if err := closer.Close(); err != nil {
		return dst, v.s.translate(err)
	}
	return dst, nil
}

// takePoints returns the view's kept iterator for lookups of single keys. If another goroutine has taken it, or
// none is kept, it creates a new one.
func (v *view) takePoints() (*pebble.Iterator, error) {
	if p := v.points.Swap(nil); p != nil {
		return p, nil
	}
	p, err := v.s.pebble(v.snap).NewIter(&byFilters)
	return p, v.s.translate(err)
}

// givePoints takes an iterator of takePoints back: if keep is set and none is kept yet, it keeps it for the next
// lookup, else it closes it.
func (v *view) givePoints(p *pebble.Iterator, keep bool) error {
	if keep && v.points.CompareAndSwap(nil, p) {
		return nil
	}
	return v.s.translate(p.Close())
}

// lookup moves the iterator p to key, and reports whether the snapshot has that key. In Pebble's default comparer
// the prefix of a key is the whole key, so this seek by prefix only finds the same key.
func (v *view) lookup(p *pebble.Iterator, key []byte) (bool, error) {
	if p.SeekPrefixGE(key) {
		return true, nil
	}
	return false, v.s.translate(p.Error())
}

// Contains implements writebuf.Below.
func (v *view) Contains(_ context.Context, key []byte) (bool, error) {
	p, err := v.takePoints()
	if err != nil {
		return false, err
	}
	ok, err := v.lookup(p, key)
	return ok, errors.Join(err, v.givePoints(p, v.keeps && err == nil))
}

// LookupMany implements writebuf.Below.
func (v *view) LookupMany(ctx context.Context, layer writebuf.Layer, keys [][]byte, emit func(i int, value []byte) error) error {
	p, err := v.takePoints()
	if err != nil {
		return err
	}
	for i, key := range keys {
		if i%256 == 255 {
			if err = ctx.Err(); err != nil {
				break
			}
		}
		value, written := layer.Get(key)
		if written == writebuf.Untouched {
			var ok bool
			if ok, err = v.lookup(p, key); err != nil {
				break
			} else if ok {
				if value, err = p.ValueAndErr(); err != nil {
					err = v.s.translate(err)
					break
				}
			}
		}
		if err = emit(i, value); err != nil {
			break
		}
	}
	if closeErr := v.givePoints(p, false); err == nil {
		err = closeErr
	}
	return err
}

// release ends the view's use of its snapshot, and returns the Pebble snapshot for the caller to close, or nil.
// The caller holds store.mu.
func (v *view) release() *pebble.Snapshot {
	v.s.open--
	return v.s.snaps.release(v.snap)
}

// dropPoints closes the iterator that is kept for lookups of single keys.
func (v *view) dropPoints() {
	if p := v.points.Swap(nil); p != nil {
		_ = p.Close() // the lookup has already returned its error
	}
}

// reader implements storage.Reader.
type reader struct {
	view
	writebuf.Reads
}

func (r *reader) Close() {
	if r.closed.Swap(true) {
		return
	}
	r.s.mu.Lock()
	ps := r.release()
	r.s.mu.Unlock()
	r.s.anchor.close(ps)
}
