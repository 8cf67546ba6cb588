package memkv

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/writebuf"
)

// Options are the settings of a store in memory.
type Options struct {
	// Clock returns the time from which new timestamps take their seconds. If it is nil, timestamps count from 1.
	Clock func() time.Time
}

// bounds are the maximum sizes of one transaction and one value, in bytes.
var bounds = writebuf.Bounds{Txn: 256 << 20, Value: 64 << 20}

// store implements storage.Store.
type store struct {
	o         Options
	txnConfig writebuf.Config

	mu        sync.Mutex
	versions  map[string][]version
	keys      []string // sorted; the keys of versions
	touched   map[string]storage.Timestamp
	logs      map[string][]record
	truncated map[string]storage.Timestamp
	latest    storage.Timestamp
	readers   map[storage.Timestamp]int // open readers and transactions
	iterators int
	commits   int64
	conflicts int64
	wake      chan struct{} // closed by the next commit
	closed    bool
}

// version is the value of a key since a commit; a nil value is a deletion.
type version struct {
	ts    storage.Timestamp
	value []byte
}

// record is one record of a change-log stream, with the timestamp of its commit and its own.
type record struct {
	ts, own storage.Timestamp
	rec     []byte
}

// Open returns an empty store.
func Open(o Options) storage.Store {
	s := &store{
		o: o, txnConfig: writebuf.Config{Bounds: bounds, Latches: writebuf.NewLatches()}, latest: 1,
		versions: map[string][]version{}, touched: map[string]storage.Timestamp{},
		logs: map[string][]record{}, truncated: map[string]storage.Timestamp{},
		readers: map[storage.Timestamp]int{}, wake: make(chan struct{}),
	}
	s.latest = max(s.latest, s.clock())
	return s
}

func (s *store) clock() storage.Timestamp {
	if s.o.Clock == nil {
		return 0
	}
	return storage.MakeTimestamp(uint32(s.o.Clock().Unix()), 1)
}

// lock locks the store's mutex. Errors: ErrClosed, ctx.Err(); then the mutex is not locked.
func (s *store) lock(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return storage.ErrClosed
	}
	return nil
}

// Begin implements storage.Store.
func (s *store) Begin(ctx context.Context, o storage.TxnOptions) (storage.Txn, error) {
	t := &txn{}
	t.Below, t.Closed = &t.view, &t.closed
	if err := t.Txn.Begin(ctx, t, &s.txnConfig, &o); err != nil {
		return nil, err
	}
	if !o.ReadOnly {
		t.Write(&t.buf)
	}
	if err := s.open(ctx, &t.view, o.At); err != nil {
		t.Abandon()
		return nil, err
	}
	return t, nil
}

// Snapshot implements storage.Store.
func (s *store) Snapshot(ctx context.Context, at storage.Timestamp) (storage.Reader, error) {
	r := &reader{}
	r.Below = &r.view
	if err := s.open(ctx, &r.view, at); err != nil {
		return nil, err
	}
	return r, nil
}

func (s *store) open(ctx context.Context, v *view, at storage.Timestamp) error {
	if err := s.lock(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	if at == 0 {
		at = s.latest
	} else if at != s.latest && s.readers[at] == 0 {
		return storage.ErrSnapshotTooOld
	}
	s.readers[at]++
	v.s, v.ts = s, at
	return nil
}

// release counts one open reader or transaction at a timestamp less. If none is left at any timestamp, it empties
// the table of keys that detects conflicts. The caller holds mu.
func (s *store) release(ts storage.Timestamp) {
	if s.readers[ts]--; s.readers[ts] == 0 {
		delete(s.readers, ts)
	}
	if len(s.readers) == 0 {
		clear(s.touched)
	}
}

// at returns the value of a key in the snapshot at a timestamp, nil if the key is absent. The caller holds mu.
func (s *store) at(key string, ts storage.Timestamp) []byte {
	vs := s.versions[key]
	for i := len(vs) - 1; i >= 0; i-- {
		if vs[i].ts <= ts {
			return vs[i].value
		}
	}
	return nil
}

// put adds a version of a key and drops the versions before the one that the oldest reader sees. The caller holds
// mu.
func (s *store) put(key string, ts storage.Timestamp, value []byte) {
	vs, known := s.versions[key]
	if !known {
		i, _ := slices.BinarySearch(s.keys, key)
		s.keys = slices.Insert(s.keys, i, key)
	}
	oldest := ts
	for r := range maps.Keys(s.readers) {
		oldest = min(oldest, r)
	}
	for len(vs) > 1 && vs[1].ts <= oldest {
		vs = vs[1:]
	}
	s.versions[key] = append(slices.Clip(vs), version{ts, value})
}

// next returns the timestamp of a new commit with so many log records, each of which has a timestamp of its own.
// It counts the commit and wakes waiting log readers. The caller holds mu.
func (s *store) next(records int) storage.Timestamp {
	s.latest = max(s.latest+1, s.clock()) + storage.Timestamp(max(records, 1)-1)
	s.commits++
	close(s.wake)
	s.wake = make(chan struct{})
	return s.latest
}

// Latest implements storage.Store.
func (s *store) Latest() storage.Timestamp {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.latest
}

// Now implements storage.Store.
func (s *store) Now(ctx context.Context) (storage.Timestamp, error) {
	if err := s.lock(ctx); err != nil {
		return 0, err
	}
	defer s.mu.Unlock()
	return s.latest, nil
}

// Durable implements storage.Store.
func (s *store) Durable() storage.Timestamp { return s.Latest() }

// Sync implements storage.Store.
func (s *store) Sync(ctx context.Context) error {
	if err := s.lock(ctx); err != nil {
		return err
	}
	s.mu.Unlock()
	return nil
}

// ReadLog implements storage.Store.
func (s *store) ReadLog(ctx context.Context, stream []byte, after storage.Timestamp, yield func(ts, own storage.Timestamp, rec []byte) bool) (storage.Timestamp, error) {
	if err := s.lock(ctx); err != nil {
		return after, err
	}
	recs, latest, mark := s.logs[string(stream)], s.latest, s.truncated[string(stream)]
	s.mu.Unlock()
	if after > 0 && mark > after {
		return after, storage.ErrLogTruncated
	}
	for _, r := range recs {
		if r.ts > after && !yield(r.ts, r.own, bytes.Clone(r.rec)) {
			return r.ts - 1, nil
		}
	}
	return max(after, latest), nil
}

// ReadLogBack implements storage.Store.
func (s *store) ReadLogBack(ctx context.Context, stream []byte, upTo, after storage.Timestamp, yield func(ts storage.Timestamp, rec []byte) bool) error {
	if err := s.lock(ctx); err != nil {
		return err
	}
	recs, mark := s.logs[string(stream)], s.truncated[string(stream)]
	s.mu.Unlock()
	if after > 0 && mark > after {
		return storage.ErrLogTruncated
	}
	for _, r := range slices.Backward(recs) {
		if r.ts > after && r.ts <= upTo && !yield(r.ts, bytes.Clone(r.rec)) {
			break
		}
	}
	return nil
}

// TruncateLog implements storage.Store.
func (s *store) TruncateLog(ctx context.Context, stream []byte, ts storage.Timestamp) error {
	if err := s.lock(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	name := string(stream)
	ts = min(ts, s.latest)
	var kept []record // a new slice, because readers may still read the old one
	for _, r := range s.logs[name] {
		if r.ts > ts {
			kept = append(kept, r)
		} else {
			s.truncated[name] = r.ts
		}
	}
	s.logs[name] = kept
	return nil
}

// WaitLog implements storage.Store.
func (s *store) WaitLog(ctx context.Context, after storage.Timestamp) error {
	for {
		if err := s.lock(ctx); err != nil {
			return err
		}
		ready, wake := s.latest > after, s.wake
		s.mu.Unlock()
		if ready {
			return nil
		}
		select {
		case <-wake:
		case <-ctx.Done():
		}
	}
}

// ApproximateBytes implements storage.Store.
func (s *store) ApproximateBytes(ctx context.Context, r storage.Range) (n uint64, err error) {
	if err := s.lock(ctx); err != nil {
		return 0, err
	}
	defer s.mu.Unlock()
	i, _ := slices.BinarySearch(s.keys, string(r.Start))
	for ; i < len(s.keys) && r.Contains([]byte(s.keys[i])); i++ {
		if v := s.at(s.keys[i], s.latest); v != nil {
			n += uint64(len(s.keys[i]) + len(v))
		}
	}
	return n, nil
}

// DeleteRange implements storage.Store.
func (s *store) DeleteRange(ctx context.Context, r storage.Range) error {
	if err := s.lock(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	ts := s.next(0)
	i, _ := slices.BinarySearch(s.keys, string(r.Start))
	for ; i < len(s.keys) && r.Contains([]byte(s.keys[i])); i++ {
		s.put(s.keys[i], ts, nil)
	}
	return nil
}

// Checkpoint implements storage.Store.
func (s *store) Checkpoint(context.Context, string) error {
	return errors.New("memkv: no files to copy")
}

// DiskFull implements storage.Store.
func (s *store) DiskFull() bool { return false }

// Metrics implements storage.Store.
func (s *store) Metrics() storage.Metrics {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := storage.Metrics{
		Commits: s.commits, Conflicts: s.conflicts,
		OpenIterators: int64(s.iterators), ConflictKeys: int64(len(s.touched)),
	}
	for _, n := range s.readers {
		m.OpenSnapshots += int64(n)
	}
	return m
}

// Close implements storage.Store.
func (s *store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return storage.ErrClosed
	}
	s.closed = true
	close(s.wake)
	if n := len(s.readers); n > 0 || s.iterators > 0 {
		return fmt.Errorf("memkv: closed with readers at %d timestamps and %d iterators open", n, s.iterators)
	}
	return nil
}
