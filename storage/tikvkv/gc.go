package tikvkv

import (
	"context"
	"errors"
	"math"
	"strconv"
	"time"

	"github.com/tikv/client-go/v2/tikv"

	"github.com/cantledb/cantle/storage"
)

// TiKV keeps every version of every key until somebody says that nobody reads those before a
// safe point any more. On a cluster without an SQL layer nobody does, so the one who has the lease
// does it, and of several who use the store the one who has that duty; see points.go.

const (
	// collectEvery is how often the safe point is moved.
	collectEvery = time.Minute
	// gcService names us among those who hold PD's safe point back, with the keyspace: each has
	// readers of its own. It counts for as many seconds after it was last told.
	gcService    = "cantle/"
	gcServiceFor = 3600
	// gcWorker is whom PD itself waits for: where nobody says how far he is he never moves.
	gcWorker = "gc_worker"
)

// collector collects garbage until the store is closed.
func (s *store) collector() {
	every := time.NewTicker(collectEvery)
	defer every.Stop()
	for {
		select {
		case <-every.C:
		case <-s.stop:
			return
		}
		s.collectWhileOpen()
	}
}

// collectWhileOpen is Collect for as long as the store is open: on a large cluster, or one that does not
// answer, it takes up to a minute, for which nobody who stops a server waits.
func (s *store) collectWhileOpen() {
	ctx, end := s.whileOpen()
	defer end()
	if err := s.Collect(ctx); err != nil && ctx.Err() == nil && !errors.Is(err, storage.ErrClosed) {
		s.o.Log(true, "the garbage of the cluster is not collected: "+err.Error())
	}
}

// Collect moves the safe point once, and destroys the ranges that nobody can reach any more. It
// is done every minute.
func (s *store) Collect(ctx context.Context) error {
	move := s.collect
	if s.o.KeepGarbage {
		move = s.followPoint
	}
	if err := move(ctx); err != nil {
		return err
	}
	return s.destroyDropped(ctx, s.safePoint.Load())
}

// followPoint refuses reads before the safe point that somebody else has moved.
func (s *store) followPoint(ctx context.Context) error {
	point, err := s.othersPoint(ctx)
	if err == nil {
		s.advance(point)
	}
	return err
}

// othersPoint is the safe point that somebody else has moved.
func (s *store) othersPoint(ctx context.Context) (uint64, error) {
	e := s.errand(ctx, s.limits.read)
	defer e.end()
	point, err := s.kv.GetPDClient().UpdateGCSafePoint(e, 0)
	return point, e.fail(err)
}

// collect moves the safe point once: as far back as states are kept, not beyond the oldest
// reader, and not beyond what others, such as backups, have asked PD to keep. It resolves all
// locks before that point, of whoever they are.
func (s *store) collect(ctx context.Context) error {
	now, err := s.ask(ctx)
	if err != nil {
		return err
	}
	point, err := s.agreed(ctx, s.safePointAt(now, s.oldestReader(now)))
	if err != nil || !s.advance(point) {
		return err
	}
	return s.removeBefore(ctx, point)
}

// agreed is the safe point that those who share the cluster agree to: other keyspaces, backups.
func (s *store) agreed(ctx context.Context, point uint64) (uint64, error) {
	e := s.errand(ctx, s.limits.read)
	defer e.end()
	pd := s.kv.GetPDClient()
	if _, err := pd.UpdateServiceGCSafePoint(e, gcService+s.o.Keyspace, gcServiceFor, point); err != nil {
		return 0, e.fail(err)
	}
	kept, err := pd.UpdateServiceGCSafePoint(e, gcWorker, math.MaxInt64, point)
	if err != nil {
		return 0, e.fail(err)
	}
	return min(point, kept), nil
}

// removeBefore has the cluster remove what nobody reads at or after a safe point.
func (s *store) removeBefore(ctx context.Context, point uint64) error {
	e := s.errand(ctx, collectEvery)
	defer e.end()
	if err := s.kv.GetSafePointKV().Put(tikv.GcSavedSafePoint, strconv.FormatUint(point, 10)); err != nil {
		return err
	}
	_, err := s.kv.GC(e, point)
	return e.fail(err)
}

// safePointAt is the safe point that a time and the oldest reader allow.
func (s *store) safePointAt(now, oldest uint64) uint64 {
	point := earlier(now, s.o.Retention.Milliseconds())
	if oldest < point {
		point = max(oldest, earlier(now, s.limits.reader.Milliseconds()))
	}
	return point
}

// advance refuses reads before a point from now on, also of readers that are open: the client
// would notice only minutes later that what they see is being removed. It reports false if somebody began to
// read before it meanwhile, or the point is an old one.
func (s *store) advance(point uint64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if point <= s.safePoint.Load() {
		return false
	}
	for ts := range s.readers {
		if ts < point && ts > earlier(s.met.Load(), s.limits.reader.Milliseconds()) {
			return false
		}
	}
	s.safePoint.Store(point)
	return true
}
