package tikvkv

import (
	"context"
	"maps"
	"sync"
	"sync/atomic"

	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/writebuf"
)

// view is the common part of readers and transactions: reads at one PD timestamp.
type view struct {
	rows   *rows
	ts     uint64
	term   *leaseTerm // the lease term in which the view was opened
	closed atomic.Bool

	readOnly bool // no transaction starts at its timestamp

	mu    sync.Mutex // guards chunkCounts
	notes bool       // chunkCounts is filled: the transaction may write
	// chunkCounts holds the number of chunks of each value seen that is stored in chunks. A transaction that
	// overwrites or deletes such a value deletes the chunks that are no longer used.
	chunkCounts map[string]uint32

	// fetched holds stored values that Prefetch has read, nil for absent keys.
	fetched map[string][]byte
}

// batchKeysMax is the number of keys that are fetched in one batch.
const batchKeysMax = 256

// noteChunks records that the value of a key is stored in chunks, which a later overwrite of the value deletes.
func (v *view) noteChunks(key []byte, chunks uint32) {
	if !v.notes {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.chunkCounts == nil {
		v.chunkCounts = map[string]uint32{}
	}
	v.chunkCounts[string(key)] = chunks
}

// ReadTimestamp implements storage.Reader.
func (v *view) ReadTimestamp() storage.Timestamp { return timestampOf(v.ts) }

// Check implements writebuf.Below.
func (v *view) Check(ctx context.Context) error {
	switch {
	case v.closed.Load():
		return storage.ErrClosed
	case v.ts < v.rows.snapshots.safePoint.Load():
		return storage.ErrSnapshotTooOld
	}
	return ctx.Err()
}

// Prefetch keeps up to prefetchKeysMax keys, over one or several calls, and values of up to prefetchBytesMax bytes.
const (
	prefetchKeysMax  = 4096
	prefetchBytesMax = 16 << 10
)

// Prefetch implements storage.Fetcher.
func (v *view) Prefetch(ctx context.Context, keys [][]byte, _ bool) error {
	if err := v.Check(ctx); err != nil || len(keys) < 2 {
		return err
	}
	keys = keys[:min(len(keys), prefetchKeysMax)]
	want := make([][]byte, len(keys))
	for i, key := range keys {
		want[i] = v.rows.keys.user(key)
	}
	got, err := v.rows.batch(ctx, v.ts, want)
	if err != nil {
		return err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	kept := make(map[string][]byte, len(want))
	if len(v.fetched)+len(want) <= prefetchKeysMax {
		maps.Copy(kept, v.fetched) // a new map: concurrent readers may be using the old one
	}
	v.fetched = kept
	for _, key := range want {
		if entry, ok := got[string(key)]; !ok {
			v.fetched[string(key)] = nil
		} else if len(entry.Value) <= prefetchBytesMax {
			v.fetched[string(key)] = entry.Value
		}
	}
	return nil
}

// stored returns the stored value of a key, nil if it is absent.
func (v *view) stored(ctx context.Context, key []byte) ([]byte, error) {
	k := v.rows.keys.user(key)
	v.mu.Lock()
	stored, ok := v.fetched[string(k)]
	v.mu.Unlock()
	if ok {
		return stored, nil
	}
	return v.rows.get(ctx, v.ts, k)
}

// Lookup implements writebuf.Below.
func (v *view) Lookup(ctx context.Context, key, dst []byte) ([]byte, error) {
	stored, err := v.stored(ctx, key)
	if err != nil {
		return dst, err
	}
	if stored == nil {
		return dst, storage.ErrNotFound
	}
	return v.value(ctx, key, stored, dst)
}

// Contains implements writebuf.Below.
func (v *view) Contains(ctx context.Context, key []byte) (bool, error) {
	stored, err := v.stored(ctx, key)
	if chunks := chunksOf(stored); chunks > 0 {
		v.noteChunks(key, chunks)
	}
	return stored != nil, err
}

// LookupMany implements writebuf.Below in batches, so that many keys need few round trips.
func (v *view) LookupMany(ctx context.Context, layer writebuf.Layer, keys [][]byte, emit func(i int, value []byte) error) error {
	var value []byte
	for first := 0; first < len(keys); first += batchKeysMax {
		part := keys[first:min(len(keys), first+batchKeysMax)]
		want := make([][]byte, 0, len(part))
		for _, key := range part {
			if _, written := layer.Get(key); written != writebuf.Untouched {
				continue
			}
			want = append(want, v.rows.keys.user(key))
		}
		got, err := v.rows.batch(ctx, v.ts, want)
		if err != nil {
			return err
		}
		for i, key := range part {
			if err := ctx.Err(); err != nil {
				return err
			}
			if own, written := layer.Get(key); written != writebuf.Untouched {
				if err := emit(first+i, own); err != nil {
					return err
				}
				continue
			}
			var found []byte
			if entry, ok := got[string(v.rows.keys.user(key))]; ok {
				if value, err = v.value(ctx, key, entry.Value, value[:0]); err != nil {
					return err
				}
				found = value
			}
			if err := emit(first+i, found); err != nil {
				return err
			}
		}
	}
	return nil
}

// reader implements storage.Reader.
type reader struct {
	view
	writebuf.Reads
}

func (r *reader) Close() {
	if !r.closed.Swap(true) {
		r.rows.snapshots.release(r.ts)
	}
}
