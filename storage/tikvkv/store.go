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
	o        Options
	kv       *tikv.KVStore
	keys     layout
	writerID uint32 // ID of this process in the keys of its log records
	latches  *writebuf.Latches
	bounds   writebuf.Bounds // of a transaction

	lastAnswer    atomic.Int64  // when the lease was last renewed in the cluster, in nanoseconds
	slow          atomic.Int64  // until then all commits have the long window, in nanoseconds
	safePoint     atomic.Uint64 // reads before this PD timestamp are refused
	formatVersion atomic.Uint32 // the level at which this process writes; 0 until it has been read

	maxSeenTS       atomic.Uint64 // the newest PD timestamp seen by this process
	logSeq          atomic.Uint32 // sequence number of commits with log records
	asked           atomic.Int64  // timestamps fetched from the oracle
	tsFetchTime     atomic.Int64  // total time of these requests, in nanoseconds
	commits         atomic.Int64
	refused         atomic.Int64 // commits refused with a conflict
	lateCommits     atomic.Int64 // commits that the fence refused
	settledCommits  atomic.Int64 // commits whose outcome had to be looked up
	destroyedRanges atomic.Int64 // destroyed ranges
	undetermined    atomic.Int64 // undetermined commits
	hasClock        bool         // the options have a clock
	logCache        logCache
	tail            tail

	separateMu sync.Mutex // one goroutine at a time splits regions

	lease  lease
	limits limits

	mu        sync.Mutex // guards the fields below
	readers   map[uint64]int
	open      int // readers and transactions
	iterators int
	closed    bool
	newest    storage.Timestamp // newest commit of this process
	wake      chan struct{}     // closed by the next commit

	stop    chan struct{}
	stopped sync.WaitGroup
}

// limits are timeouts and similar durations; tests use shorter ones.
type limits struct {
	read    time.Duration  // timeout of a read
	commit  time.Duration  // timeout of a commit; the client itself retries for 80 s
	settle  time.Duration  // timeout for finding out the outcome of a commit
	most    int            // by which factor these timeouts are extended while the cluster answers other requests
	reader  time.Duration  // for how long an open reader can hold the safe point back
	open    time.Duration  // for how long a step of opening the store is retried
	latch   time.Duration  // how long a latch may outlast its commit; locks on keys not committed by then are left to the next writer
	windows [classes]int64 // by how many milliseconds the commit time may be after the place, per class
}

// defaultLimits are the limits of a server.
var defaultLimits = limits{
	read: 8 * time.Second, commit: 10 * time.Second, settle: 10 * time.Second, most: 3, reader: time.Hour, open: 30 * time.Second, latch: time.Second,
	windows: [classes]int64{classSmall: 5_000, classLarge: 60_000},
}

// Now implements storage.Store.
func (s *store) Now(ctx context.Context) (storage.Timestamp, error) {
	ts, err := s.fetchTS(ctx)
	return timestampOf(ts), err
}

// fetchTS fetches a new timestamp from the oracle. Errors: ErrClosed, ErrUnavailable,
// ctx.Err().
func (s *store) fetchTS(ctx context.Context) (uint64, error) {
	if err := s.check(ctx); err != nil {
		return 0, err
	}
	e := s.beginRequest(ctx, s.limits.read)
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
	s.tsFetchTime.Add(int64(s.o.Clock().Sub(begun)))
	s.observeTS(ts)
	return ts, nil
}

// oracleBackoff is the time for which the client itself retries to get a timestamp, in
// milliseconds.
const oracleBackoff = 15000

// observeTS records a PD timestamp, if it is the newest one seen.
func (s *store) observeTS(ts uint64) {
	for old := s.maxSeenTS.Load(); ts > old && !s.maxSeenTS.CompareAndSwap(old, ts); old = s.maxSeenTS.Load() {
	}
}

// check returns an error if the store is closed or ctx has ended.
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
func (s *store) Latest() storage.Timestamp { return timestampOf(s.maxSeenTS.Load()) }

// Durable implements storage.Store: a commit is stored on a majority of replicas when it
// ends.
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

// acquire opens the state at a timestamp for v. Errors: ErrSnapshotTooOld, ErrUnavailable,
// ErrClosed, ctx.Err().
func (s *store) acquire(ctx context.Context, v *view, at storage.Timestamp) error {
	v.term = s.lease.term.Load()
	want := oracleOf(at)
	now, known := s.maxSeenTS.Load(), at != 0
	if at == 0 && v.readOnly {
		now, known = s.known()
	}
	if !known || want > now {
		var err error
		if now, err = s.fetchTS(ctx); err != nil {
			return err
		}
	}
	if at == 0 {
		want = now
	}
	if want > now { // not yet reached
		return storage.ErrSnapshotTooOld
	}
	if err := s.lease.waitUntilCovers(ctx, s, want); err != nil {
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

// release ends what acquire began.
func (s *store) release(v *view) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open--
	if s.readers[v.ts]--; s.readers[v.ts] == 0 {
		delete(s.readers, v.ts)
	}
}

// get returns the stored value of a key of the cluster at a PD timestamp, nil if it is
// absent.
func (s *store) get(ctx context.Context, ts uint64, key []byte) ([]byte, error) {
	e := s.beginRequest(ctx, s.limits.read)
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

// kept returns ErrSnapshotTooOld for a read before the safe point, because some versions
// may have been removed. It is called after each read, because the safe point may have
// moved during the read.
func (s *store) kept(ctx context.Context, ts uint64) error {
	if ts < s.safePoint.Load() {
		return storage.ErrSnapshotTooOld
	}
	if !s.o.Several || s.leaseFresh() {
		return nil
	}
	now, err := s.fetchTS(ctx) // the safe point may have moved while this process was paused
	if err != nil || ts >= subMillis(now, s.o.Retention.Milliseconds()) {
		return err
	}
	if err := s.lease.waitUntilCovers(ctx, s, now); err != nil {
		return err
	}
	if ts < s.safePoint.Load() {
		return storage.ErrSnapshotTooOld
	}
	return nil
}

// batch returns the stored values of several keys of the cluster at a PD timestamp.
func (s *store) batch(ctx context.Context, ts uint64, keys [][]byte, o ...clientkv.BatchGetOption) (map[string]clientkv.ValueEntry, error) {
	e := s.beginRequest(ctx, s.limits.read)
	defer e.end()
	got, err := s.kv.GetSnapshot(ts).BatchGet(e, keys, o...)
	if err != nil {
		return nil, e.fail(err)
	}
	return got, s.kept(ctx, ts)
}

// ApproximateBytes implements storage.Store. It counts the rows of small ranges. For
// larger ranges it stops after countMax rows, and estimates the size from the number of
// regions that the rest of the range spans.
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
		p, err := s.page(ctx, v.ts, pageRequest{start: start, end: end, rows: pageRowsMax})
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

// countMax is the number of rows up to which rows are counted, and regionBytes the size at
// which TiKV splits a region by default.
const (
	countMax    = 50_000
	regionBytes = 256 << 20
)

// regions returns the number of regions that a range of the cluster's keys touches.
func (s *store) regions(ctx context.Context, start, end []byte) (int, error) {
	e := s.beginRequest(ctx, s.limits.read)
	defer e.end()
	regions, err := s.kv.GetRegionCache().LoadRegionsInKeyRange(tikv.NewBackofferWithVars(e, pageBackoff, nil), start, end)
	return len(regions), e.fail(err)
}

// Checkpoint implements storage.Store.
func (s *store) Checkpoint(context.Context, string) error {
	return errors.New("tikvkv: the data are not in files of this server: back up the cluster with TiKV's BR, or one database with cantle dump")
}

// DiskFull implements storage.Store. It is always false: TiKV itself refuses writes when
// its disks are full.
func (s *store) DiskFull() bool { return false }

// Metrics implements storage.Store.
func (s *store) Metrics() storage.Metrics {
	s.mu.Lock()
	defer s.mu.Unlock()
	return storage.Metrics{
		Commits: s.commits.Load(), Conflicts: s.refused.Load(), OpenSnapshots: int64(s.open), OpenIterators: int64(s.iterators),
		CacheBytes: s.logCache.bytes(), CacheMax: logCacheBytesMax,
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
	err := s.lease.release(s)
	err = errors.Join(err, s.kv.Close())
	if open > 0 || iterators > 0 {
		err = errors.Join(err, fmt.Errorf("tikvkv: closed with %d readers and %d iterators open", open, iterators))
	}
	return err
}

// oldestReader returns the oldest timestamp that has an open reader, now if there is none.
func (s *store) oldestReader(now uint64) uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	for ts := range s.readers {
		now = min(now, ts)
	}
	return now
}
