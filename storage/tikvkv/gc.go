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
// safe point any more. On a cluster without an SQL layer nobody does, so the one who has the lease does it.

const (
	// collectEvery is how often the safe point is moved.
	collectEvery = time.Minute
	// gcService names us among those who hold PD's safe point back.
	gcService = "cantle"
)

// collector collects garbage until the store is closed.
func (s *store) collector(ctx context.Context) {
	every := time.NewTicker(collectEvery)
	defer every.Stop()
	for {
		select {
		case <-every.C:
		case <-s.stop:
			return
		}
		if err := s.Collect(ctx); err != nil && !errors.Is(err, storage.ErrClosed) {
			s.o.Log(true, "the garbage of the cluster is not collected: "+err.Error())
		}
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
	e := s.errand(ctx, s.limits.read)
	defer e.end()
	point, err := s.kv.GetPDClient().UpdateGCSafePoint(e, 0)
	if err != nil {
		return e.fail(err)
	}
	s.advance(point)
	return nil
}

// collect moves the safe point once: as far back as states are kept, not beyond the oldest
// reader, and not beyond what others, such as backups, have asked PD to keep. It resolves all
// locks before that point, of whoever they are.
func (s *store) collect(ctx context.Context) error {
	now, err := s.ask(ctx)
	if err != nil {
		return err
	}
	point := s.safePointAt(now)
	e := s.errand(ctx, collectEvery)
	defer e.end()
	kept, err := s.kv.GetPDClient().UpdateServiceGCSafePoint(e, gcService, math.MaxInt64, point)
	if err != nil {
		return e.fail(err)
	}
	point = min(point, kept)
	if !s.advance(point) {
		return nil
	}
	if err := s.kv.GetSafePointKV().Put(tikv.GcSavedSafePoint, strconv.FormatUint(point, 10)); err != nil {
		return err
	}
	_, err = s.kv.GC(e, point)
	return e.fail(err)
}

// safePointAt is the safe point that a time allows.
func (s *store) safePointAt(now uint64) uint64 {
	point := earlier(now, s.o.Retention.Milliseconds())
	if oldest := s.oldestReader(now); oldest < point {
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
