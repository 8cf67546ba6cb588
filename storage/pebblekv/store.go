package pebblekv

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/writebuf"
)

// store implements storage.Store.
type store struct {
	o         Options
	dir       string
	db        *pebble.DB
	lock      *pebble.Lock
	watch     io.Closer    // stops the watchdog
	seed      maphash.Seed // seed of key fingerprints
	hot       *hotCache
	dead      deadRanges
	unflushed unflushed
	buffers   sync.Pool // *work
	txnConfig writebuf.Config

	commit  sync.Mutex        // held during a commit, so that commits run one at a time; locked before mu
	ceiling storage.Timestamp // copy of the stored upper bound of all timestamps; guarded by commit
	fenced  bool              // commits are refused, because another server was promoted; guarded by commit
	// position is that of the writes of the followed store that are applied; guarded by commit.
	position FollowPosition

	mu        sync.Mutex // guards the fields below; never held during disk access
	snaps     snaps
	txns      txnList // open writable transactions, by start timestamp
	conflicts conflicts
	open      int // readers and transactions
	closed    bool

	directUse sync.RWMutex // read-locked by methods that use db without a snapshot, so that Close waits for them
	latest    atomic.Uint64
	syncer    syncer
	anchor    anchor
	marks     logMarks
	iterators atomic.Int64
	commits   atomic.Int64
	refused   atomic.Int64 // commits refused with a conflict
	stalls    atomic.Int64
	diskSpace diskSpace
	reclaimer reclaimer
	// reclaimSteps holds the ranges that reclaim compacts on a full disk. Tables end at their starts, so that each
	// can be compacted alone. It is nil if there are none.
	reclaimSteps atomic.Pointer[[]storage.Range]
	damaged      atomic.Bool // a damaged table was found; commits that are not Essential are refused
	damages      damages
	retained     *retainingFS
	written      atomic.Uint64 // sequence number after the last applied write
	stop         chan struct{}
	stopped      sync.WaitGroup
}

// Latest implements storage.Store.
func (s *store) Latest() storage.Timestamp { return storage.Timestamp(s.latest.Load()) }

// Now implements storage.Store. It returns Latest, because no other process writes to the files.
func (s *store) Now(ctx context.Context) (storage.Timestamp, error) {
	done, err := s.use(ctx)
	if err != nil {
		return 0, err
	}
	defer done()
	return s.Latest(), nil
}

// Durable implements storage.Store.
func (s *store) Durable() storage.Timestamp { return s.syncer.durable() }

// Snapshot implements storage.Store.
func (s *store) Snapshot(ctx context.Context, at storage.Timestamp) (storage.Reader, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	r := &reader{view: view{s: s}}
	r.Below = &r.view
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.acquire(&r.view, at); err != nil {
		return nil, err
	}
	return r, nil
}

// acquire sets v's snapshot to the state at a timestamp (0 = the newest) and counts one more reader of it. The
// caller holds store.mu. Errors: ErrClosed, ErrSnapshotTooOld if that state is neither the newest nor one with
// readers.
func (s *store) acquire(v *view, at storage.Timestamp) error {
	if s.closed {
		return storage.ErrClosed
	}
	sn := s.snaps.newest
	if at != 0 {
		if sn = s.snaps.at(at); sn == nil {
			return storage.ErrSnapshotTooOld
		}
	}
	sn.refs++
	s.open++
	v.snap = sn
	return nil
}

// use prevents Close from closing Pebble while a method uses db without a snapshot. The caller defers done.
// Errors: ErrClosed, errors of the context.
func (s *store) use(ctx context.Context) (done func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.directUse.RLock()
	s.mu.Lock()
	closed := s.closed
	s.mu.Unlock()
	if closed {
		s.directUse.RUnlock()
		return nil, storage.ErrClosed
	}
	return s.directUse.RUnlock, nil
}

// ApproximateBytes implements storage.Store. Pebble's estimate omits writes that are not flushed yet, so it counts
// up to 1,000 entries of the range exactly. If there are as many, it returns Pebble's estimate, or the count if
// that is larger.
func (s *store) ApproximateBytes(ctx context.Context, r storage.Range) (uint64, error) {
	done, err := s.use(ctx)
	if err != nil {
		return 0, err
	}
	defer done()
	r = clip(r)
	if r.Empty() {
		return 0, nil
	}
	estimate, err := s.db.EstimateDiskUsage(r.Start, r.End)
	if err != nil {
		return 0, s.translate(err)
	}
	const countMax = 1000
	it, err := s.db.NewIter(&pebble.IterOptions{LowerBound: r.Start, UpperBound: r.End})
	if err != nil {
		return 0, s.translate(err)
	}
	counted, n := uint64(0), 0
	for ok := it.First(); ok && n < countMax; ok = it.Next() {
		v := it.LazyValue()
		counted += uint64(len(it.Key()) + v.Len())
		n++
	}
	if err := it.Close(); err != nil {
		return 0, s.translate(err)
	}
	if n < countMax {
		return counted, nil
	}
	return max(counted, estimate), nil
}

// DeleteRange implements storage.Store. It writes one range tombstone, however many keys the range has.
func (s *store) DeleteRange(ctx context.Context, r storage.Range) error {
	done, err := s.use(ctx)
	if err != nil {
		return err
	}
	defer done()
	r = clip(r)
	if r.Empty() {
		return nil
	}
	if s.o.Follow {
		return storage.ErrFollower
	}
	b := s.db.NewBatch()
	defer func() { _ = b.Close() }()
	if err := b.DeleteRange(r.Start, r.End, nil); err != nil {
		return s.translate(err)
	}
	_, err = s.apply(b, &work{ranges: true}, nil)
	return err
}

// Checkpoint implements storage.Store.
func (s *store) Checkpoint(ctx context.Context, dir string) error {
	done, err := s.use(ctx)
	if err != nil {
		return err
	}
	defer done()
	if s.o.InMemory {
		return errNoFiles
	}
	// A checkpoint holds unflushed writes as a write-ahead log, which each open of the copy would have to replay.
	// So they are flushed first.
	if err := s.db.Flush(); err != nil {
		return s.translate(err)
	}
	return s.translate(s.db.Checkpoint(dir, pebble.WithFlushedWAL()))
}

// DiskFull implements storage.Store.
func (s *store) DiskFull() bool { return s.o.DiskFull || s.diskSpace.full() }

// Metrics implements storage.Store.
func (s *store) Metrics() storage.Metrics {
	s.directUse.RLock()
	defer s.directUse.RUnlock()
	s.mu.Lock()
	m := storage.Metrics{OpenSnapshots: int64(s.open), ConflictKeys: int64(s.conflicts.len())}
	closed := s.closed
	s.mu.Unlock()
	m.Commits, m.Conflicts, m.Syncs = s.commits.Load(), s.refused.Load(), s.syncer.times.count.Load()
	m.SyncTime, m.SlowSyncs = time.Duration(s.syncer.times.nanos.Load()), s.syncer.times.slow.Load()
	m.OpenIterators, m.Stalls = s.iterators.Load(), s.stalls.Load()
	m.DiskFree, m.DiskTotal = uint64(s.diskSpace.free.Load()), uint64(s.diskSpace.total.Load())
	m.DiskReserve, m.DiskBallast = uint64(s.diskSpace.reserve()), uint64(s.diskSpace.ballast.bytes())
	if closed {
		return m
	}
	p := s.db.Metrics()
	m.DiskBytes, m.DirtyBytes = p.DiskSpaceUsage(), p.MemTable.Size
	m.LogBytes, _ = s.db.EstimateDiskUsage(logStart, logEnd) // on an error the other metrics are still returned
	m.KeptBytes = s.retained.bytes.Load()
	m.CacheMax, m.Checkpoints = s.o.CacheBytes, p.Flush.Count
	m.CacheBytes, m.CacheHits, m.CacheMisses = p.BlockCache.Size+s.hot.bytes.Load(), p.BlockCache.Hits, p.BlockCache.Misses
	return m
}

// Close implements storage.Store. If readers, transactions or iterators are still open, it returns an error and
// does not close the files: closing Pebble under a running read would crash the process.
func (s *store) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return storage.ErrClosed
	}
	s.closed = true
	s.mu.Unlock()
	s.diskSpace.closing.Store(true)
	close(s.stop)
	s.stopped.Wait()
	s.directUse.Lock()
	defer s.directUse.Unlock()
	s.commit.Lock() // wait for the running commit
	defer s.commit.Unlock()
	err := s.syncer.close(s.Latest())
	s.mu.Lock()
	open := s.open
	newest := s.snaps.newest.ps.Swap(nil)
	s.mu.Unlock()
	if n := s.iterators.Load(); open > 0 || n > 0 {
		return errors.Join(err, fmt.Errorf("pebblekv: closed with %d readers and %d iterators open", open, n))
	}
	s.anchor.close(newest)
	s.anchor.release()
	s.damages.close()
	if !s.o.InMemory && !s.o.ReadOnly && !s.o.Follow {
		err = errors.Join(err, s.db.Set(keyCeiling, encodeTimestamp(s.Latest()), pebble.Sync))
	}
	return errors.Join(err, translate(s.db.Close()), s.watch.Close(), s.syncer.mark.Close(), s.lock.Close())
}

// translate wraps Pebble's errors in the errors of package storage.
func translate(err error) error {
	switch {
	case err == nil:
		return nil
	case pebble.IsCorruptionError(err):
		return fmt.Errorf("%w: %w", storage.ErrCorruption, err)
	case errors.Is(err, pebble.ErrClosed):
		return fmt.Errorf("%w: %w", storage.ErrClosed, err)
	case storage.IsDiskFull(err):
		return fmt.Errorf("%w: %w", storage.ErrDiskFull, err)
	}
	if cause := syscall.Errno(0); errors.As(err, &cause) {
		return fmt.Errorf("%w: %w", storage.ErrDiskFails, err)
	}
	return err
}
