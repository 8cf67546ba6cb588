package tikvkv

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	clientkv "github.com/tikv/client-go/v2/kv"
	"github.com/tikv/client-go/v2/oracle"
	"github.com/tikv/client-go/v2/tikv"

	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/writebuf"
)

// store implements storage.Store.
type store struct {
	o       Options
	kv      *tikv.KVStore
	keys    layout
	writer  uint32 // writer tells the log records of this process from those of others
	latches *writebuf.Latches
	bounds  writebuf.Bounds // of a transaction

	heard     atomic.Int64  // when the cluster last did what the lease needs, in nanoseconds
	slow      atomic.Int64  // until when commits have the long window, in nanoseconds
	safePoint atomic.Uint64 // no state before it is read
	level     atomic.Uint32 // at which this process writes; 0 until it knows

	met       atomic.Uint64 // the newest oracle's time this process knows
	logSeq    atomic.Uint32 // numbers the commits with log records
	asked     atomic.Int64  // times of the oracle
	askTime   atomic.Int64  // until they came, in nanoseconds
	commits   atomic.Int64
	refused   atomic.Int64 // commits that conflicted
	late      atomic.Int64 // commits that the fence refused
	settled   atomic.Int64 // commits whose outcome had to be asked for
	destroyed atomic.Int64 // ranges
	doubts    atomic.Int64 // commits whose outcome is not known
	clocked   bool         // the options have a clock
	places    placeCache
	tail      tail

	separating sync.Mutex // one at a time splits regions

	lease  lease
	limits limits

	mu        sync.Mutex // the fields below
	readers   map[uint64]int
	open      int // readers and transactions
	iterators int
	closed    bool
	newest    storage.Timestamp // of the commits of this process
	wake      chan struct{}     // closed by the next of them

	stop    chan struct{}
	stopped sync.WaitGroup
}

// limits are how long things may take; tests have shorter ones.
type limits struct {
	read    time.Duration  // a read, before it is given up
	commit  time.Duration  // a commit; by itself the client tries for 80 s
	settle  time.Duration  // the question what became of a commit
	most    int            // how many times as long they take while the cluster answers others
	reader  time.Duration  // what an open reader holds the safe point back
	open    time.Duration  // for how long a step of opening the store is begun anew
	latch   time.Duration  // what a latch outlasts its commit: keys that are not committed by then are left to whoever meets them
	windows [classes]int64 // how long after its place a commit of a class may come, in milliseconds
}

// usualLimits are those of a server.
var usualLimits = limits{
	read: 8 * time.Second, commit: 10 * time.Second, settle: 10 * time.Second, most: 3, reader: time.Hour, open: 30 * time.Second, latch: time.Second,
	windows: [classes]int64{classSmall: 5_000, classLarge: 60_000},
}

// Now implements storage.Store.
func (s *store) Now(ctx context.Context) (storage.Timestamp, error) {
	ts, err := s.ask(ctx)
	return timestampOf(ts), err
}

// ask asks the oracle for a new time. Errors: ErrClosed, ErrUnavailable, ctx.Err().
func (s *store) ask(ctx context.Context) (uint64, error) {
	if err := s.check(ctx); err != nil {
		return 0, err
	}
	e := s.errand(ctx, s.limits.read)
	defer e.end()
	begun := s.o.Clock()
	ts, err := s.kv.GetTimestampWithRetry(tikv.NewBackofferWithVars(e, oracleBackoff, nil), oracle.GlobalTxnScope)
	if err != nil {
		if err = e.fail(err); ctx.Err() == nil && !errors.Is(err, storage.ErrUnavailable) {
			err = fmt.Errorf("%w: the oracle: %w", storage.ErrUnavailable, err)
		}
		return 0, err
	}
	s.asked.Add(1)
	s.askTime.Add(int64(s.o.Clock().Sub(begun)))
	s.meet(ts)
	return ts, nil
}

// oracleBackoff is how long the client itself tries to get a time, in milliseconds.
const oracleBackoff = 15000

// meet notes a time of the oracle.
func (s *store) meet(ts uint64) {
	for old := s.met.Load(); ts > old && !s.met.CompareAndSwap(old, ts); old = s.met.Load() {
	}
}

// check refuses calls of a closed store.
func (s *store) check(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return storage.ErrClosed
	}
	return nil
}

// Latest implements storage.Store.
func (s *store) Latest() storage.Timestamp { return timestampOf(s.met.Load()) }

// Durable implements storage.Store: what is committed lies on a majority.
func (s *store) Durable() storage.Timestamp { return s.Latest() }

// Sync implements storage.Store.
func (s *store) Sync(ctx context.Context) error { return s.check(ctx) }

// Snapshot implements storage.Store.
func (s *store) Snapshot(ctx context.Context, at storage.Timestamp) (storage.Reader, error) {
	r := &reader{view: view{s: s, readOnly: true}}
	r.Below = &r.view
	if err := s.acquire(ctx, &r.view, at); err != nil {
		return nil, err
	}
	return r, nil
}

// acquire gives v the state at a timestamp.
// Errors: ErrSnapshotTooOld, ErrUnavailable, ErrClosed, ctx.Err().
func (s *store) acquire(ctx context.Context, v *view, at storage.Timestamp) error {
	v.tenure = s.lease.tenure.Load()
	want := oracleOf(at)
	now, known := s.met.Load(), at != 0
	if at == 0 && v.readOnly {
		now, known = s.known()
	}
	if !known || want > now {
		var err error
		if now, err = s.ask(ctx); err != nil {
			return err
		}
	}
	if at == 0 {
		want = now
	}
	if want > now { // not yet reached
		return storage.ErrSnapshotTooOld
	}
	if err := s.lease.covers(ctx, s, want); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return storage.ErrClosed
	case want < s.safePoint.Load():
		return storage.ErrSnapshotTooOld
	}
	s.readers[want]++
	s.open++
	v.ts = want
	return nil
}

// release ends a view.
func (s *store) release(v *view) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open--
	if s.readers[v.ts]--; s.readers[v.ts] == 0 {
		delete(s.readers, v.ts)
	}
}

// get is the stored value of a key of the cluster at a time, nil if absent.
func (s *store) get(ctx context.Context, ts uint64, key []byte) ([]byte, error) {
	e := s.errand(ctx, s.limits.read)
	defer e.end()
	entry, err := s.kv.GetSnapshot(ts).Get(e, key)
	if isAbsent(err) {
		return nil, s.kept(ctx, ts)
	}
	if err != nil {
		return nil, e.fail(err)
	}
	return entry.Value, s.kept(ctx, ts)
}

// kept refuses what was read at a time before the safe point: parts of it may have been
// missing. It is asked after each read, as the point moves meanwhile.
func (s *store) kept(ctx context.Context, ts uint64) error {
	if ts < s.safePoint.Load() {
		return storage.ErrSnapshotTooOld
	}
	if !s.o.Several || s.fresh() {
		return nil
	}
	now, err := s.ask(ctx) // whether the point has moved while this process slept
	if err != nil || ts >= earlier(now, s.o.Retention.Milliseconds()) {
		return err
	}
	if err := s.lease.covers(ctx, s, now); err != nil {
		return err
	}
	if ts < s.safePoint.Load() {
		return storage.ErrSnapshotTooOld
	}
	return nil
}

// batch is the stored values of keys of the cluster at a time.
func (s *store) batch(ctx context.Context, ts uint64, keys [][]byte, o ...clientkv.BatchGetOption) (map[string]clientkv.ValueEntry, error) {
	e := s.errand(ctx, s.limits.read)
	defer e.end()
	got, err := s.kv.GetSnapshot(ts).BatchGet(e, keys, o...)
	if err != nil {
		return nil, e.fail(err)
	}
	return got, s.kept(ctx, ts)
}

// ApproximateBytes implements storage.Store. Ranges of few rows are counted; of others the
// rows counted say what is in the rest of the regions that they span.
func (s *store) ApproximateBytes(ctx context.Context, r storage.Range) (uint64, error) {
	if err := s.check(ctx); err != nil || r.Empty() {
		return 0, err
	}
	v := view{s: s}
	if err := s.acquire(ctx, &v, 0); err != nil {
		return 0, err
	}
	defer s.release(&v)
	start, end := s.keys.users(r)
	n := uint64(0)
	for rows := 0; ; {
		p, err := s.page(ctx, v.ts, pageWant{start: start, end: end, rows: pageRowsMax})
		if err != nil {
			return 0, err
		}
		for i, key := range p.keys {
			n += uint64(len(key) - len(start) + len(r.Start))
			if len(p.values[i]) > 0 && p.values[i][0] == valueChunked && chunksOf(p.values[i]) > 0 {
				n += uint64(chunksOf(p.values[i])) * chunkBytes
			} else {
				n += uint64(len(p.values[i]))
			}
		}
		rows += len(p.keys)
		if p.next == nil {
			return n, nil
		}
		if rows >= countMax {
			regions, err := s.regions(ctx, p.next, end)
			if err != nil || regions <= 1 {
				return n, err
			}
			return max(n, uint64(regions-1)*regionBytes/2), nil
		}
		start = p.next
	}
}

// countMax is up to how many rows are counted, and regionBytes what TiKV lets a region
// grow to by default.
const (
	countMax    = 50_000
	regionBytes = 256 << 20
)

// regions is how many regions a range of the cluster's keys touches.
func (s *store) regions(ctx context.Context, start, end []byte) (int, error) {
	e := s.errand(ctx, s.limits.read)
	defer e.end()
	regions, err := s.kv.GetRegionCache().LoadRegionsInKeyRange(tikv.NewBackofferWithVars(e, pageBackoff, nil), start, end)
	return len(regions), e.fail(err)
}

// Checkpoint implements storage.Store.
func (s *store) Checkpoint(context.Context, string) error {
	return errors.New("tikvkv: the data are not in files of this server: back up the cluster with TiKV's BR, or one database with cantle dump")
}

// DiskFull implements storage.Store: the disks are those of TiKV, which refuses by itself.
func (s *store) DiskFull() bool { return false }

// Metrics implements storage.Store.
func (s *store) Metrics() storage.Metrics {
	s.mu.Lock()
	defer s.mu.Unlock()
	return storage.Metrics{
		Commits: s.commits.Load(), Conflicts: s.refused.Load(), OpenSnapshots: int64(s.open), OpenIterators: int64(s.iterators),
		CacheBytes: s.places.bytes(), CacheMax: placesBytesMax,
	}
}

// Close implements storage.Store.
func (s *store) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return storage.ErrClosed
	}
	s.closed = true
	close(s.wake)
	open, iterators := s.open, s.iterators
	s.mu.Unlock()
	close(s.stop)
	s.stopped.Wait()
	err := s.lease.give(s)
	err = errors.Join(err, s.kv.Close())
	if open > 0 || iterators > 0 {
		err = errors.Join(err, fmt.Errorf("tikvkv: closed with %d readers and %d iterators open", open, iterators))
	}
	return err
}

// oldestReader is the oldest time that somebody reads, now if nobody does.
func (s *store) oldestReader(now uint64) uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	for ts := range s.readers {
		now = min(now, ts)
	}
	return now
}
