package tikvkv

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/cantledb/cantle/storage"
)

// snapshots holds the timestamps of the open readers and transactions, and the safe point, before which
// none of these may read.
type snapshots struct {
	*settings
	oracle *oracle
	lease  *lease
	cached *cachedTS

	safePoint atomic.Uint64 // reads before this PD timestamp are refused; written with mu held

	mu        sync.Mutex // guards the fields below
	readers   map[uint64]int
	open      int // readers and transactions
	iterators int
	closed    bool
}

// newSnapshots returns the snapshots of a store that has no readers yet.
func newSnapshots(set *settings, o *oracle, l *lease, cached *cachedTS) *snapshots {
	return &snapshots{settings: set, oracle: o, lease: l, cached: cached, readers: map[uint64]int{}}
}

// acquire opens v, the view of a reader or transaction, at the timestamp at (0 = the newest state), and counts it as
// open until release. Errors: ErrSnapshotTooOld if at is before the safe point or in the future; ErrUnavailable,
// ErrLeaseExpired, ErrClosed, ctx.Err().
func (s *snapshots) acquire(ctx context.Context, v *view, at storage.Timestamp) error {
	v.term = s.lease.term.Load()
	want := oracleOf(at)
	now, known := s.oracle.maxSeenTS.Load(), at != 0
	if at == 0 && v.readOnly {
		now, known = s.cached.readTS()
	}
	if !known || want > now {
		var err error
		if now, err = s.oracle.fetchTS(ctx); err != nil {
			return err
		}
	}
	if at == 0 {
		want = now
	}
	if want > now { // not yet reached
		return storage.ErrSnapshotTooOld
	}
	if err := s.lease.waitUntilCovers(ctx, want); err != nil {
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

// add counts a reader at a PD timestamp; release ends it.
func (s *snapshots) add(ts uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.readers[ts]++
	s.open++
}

// release ends what acquire or add began.
func (s *snapshots) release(ts uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open--
	if s.readers[ts]--; s.readers[ts] == 0 {
		delete(s.readers, ts)
	}
}

// countIterators adds n to the number of open iterators.
func (s *snapshots) countIterators(n int) {
	s.mu.Lock()
	s.iterators += n
	s.mu.Unlock()
}

// counts returns the number of open readers and transactions, and of open iterators.
func (s *snapshots) counts() (open, iterators int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.open, s.iterators
}

// close refuses new readers, and returns the counts of those that are open.
func (s *snapshots) close() (open, iterators int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	return s.open, s.iterators
}

// oldestReader returns the oldest timestamp that has an open reader, now if there is none.
func (s *snapshots) oldestReader(now uint64) uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	for ts := range s.readers {
		now = min(now, ts)
	}
	return now
}

// advanceSafePoint sets the safe point, and so refuses reads before it, also of readers that are open: client-go
// itself notices only minutes later that the versions they read are being removed. It returns false and changes
// nothing if a reader before that point is open, unless that reader is older than limits.reader, or if the safe point
// is already there or later.
func (s *snapshots) advanceSafePoint(point uint64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if point <= s.safePoint.Load() {
		return false
	}
	for ts := range s.readers {
		if ts < point && ts > subMillis(s.oracle.maxSeenTS.Load(), s.limits.reader.Milliseconds()) {
			return false
		}
	}
	s.safePoint.Store(point)
	return true
}

// forceSafePoint sets the safe point, if point is later than the present one, even if there are open readers before
// it; their next reads are refused.
func (s *snapshots) forceSafePoint(point uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.safePoint.Store(max(s.safePoint.Load(), point))
}
