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

// TiKV keeps every version of every key until a client declares a safe point: no version before it is read
// any more. On a cluster without an SQL layer no other program does that, so it is done here: by the server
// that holds the lease, or if several servers share the store by the owner of that job; see points.go.

const (
	// collectEvery is the interval between two moves of the safe point.
	collectEvery = time.Minute
	// gcService, with the keyspace, identifies this store among the services that hold PD's safe point back:
	// each keyspace has its own readers. PD drops the entry gcServiceFor seconds after its last update.
	gcService    = "cantle/"
	gcServiceFor = 3600
	// gcWorker is the service that PD itself requires: without an update of it the safe point never moves.
	gcWorker = "gc_worker"
)

// collector calls Collect every minute until the store is closed.
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

// collectWhileOpen runs Collect until the store is closed. On a large or slow cluster Collect takes up to a
// minute, and the shutdown of a server must not wait for that.
func (s *store) collectWhileOpen() {
	ctx, end := s.untilClosed()
	defer end()
	if err := s.Collect(ctx); err != nil && ctx.Err() == nil && !errors.Is(err, storage.ErrClosed) {
		s.o.Log(true, "the garbage of the cluster is not collected: "+err.Error())
	}
}

// Collect moves the safe point once, and destroys the ranges that no reader can reach any more.
func (s *store) Collect(ctx context.Context) error {
	move := s.collect
	if s.o.KeepGarbage {
		move = s.followSafePoint
	}
	if err := move(ctx); err != nil {
		return err
	}
	return s.destroyDropped(ctx, s.safePoint.Load())
}

// followSafePoint refuses reads before the safe point that another program has set in PD.
func (s *store) followSafePoint(ctx context.Context) error {
	point, err := s.externalSafePoint(ctx)
	if err == nil {
		s.advanceSafePoint(point)
	}
	return err
}

// externalSafePoint returns the safe point that another program has set in PD.
func (s *store) externalSafePoint(ctx context.Context) (uint64, error) {
	e := s.beginRequest(ctx, s.limits.read)
	defer e.end()
	point, err := s.kv.GetPDClient().UpdateGCSafePoint(e, 0)
	return point, e.fail(err)
}

// collect moves the safe point once: to now minus the retention, but not past the oldest reader, and not
// past what other services in PD, such as backups, hold back. It resolves all locks before that point, of
// any client.
func (s *store) collect(ctx context.Context) error {
	now, err := s.fetchTS(ctx)
	if err != nil {
		return err
	}
	point, err := s.serviceSafePoint(ctx, s.safePointAt(now, s.oldestReader(now)))
	if err != nil || !s.advanceSafePoint(point) {
		return err
	}
	return s.removeBefore(ctx, point)
}

// serviceSafePoint returns the safe point that all services of the cluster allow: this keyspace, other keyspaces,
// backups.
func (s *store) serviceSafePoint(ctx context.Context, point uint64) (uint64, error) {
	e := s.beginRequest(ctx, s.limits.read)
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

// removeBefore lets the cluster remove the versions that no read at or after the safe point needs.
func (s *store) removeBefore(ctx context.Context, point uint64) error {
	e := s.beginRequest(ctx, collectEvery)
	defer e.end()
	if err := s.kv.GetSafePointKV().Put(tikv.GcSavedSafePoint, strconv.FormatUint(point, 10)); err != nil {
		return err
	}
	_, err := s.kv.GC(e, point)
	return e.fail(err)
}

// safePointAt returns the safe point that the retention and the oldest reader allow.
func (s *store) safePointAt(now, oldest uint64) uint64 {
	point := subMillis(now, s.o.Retention.Milliseconds())
	if oldest < point {
		point = max(oldest, subMillis(now, s.limits.reader.Milliseconds()))
	}
	return point
}

// advanceSafePoint sets the safe point, and so refuses reads before it, also of readers that are open: client-go
// itself notices only minutes later that the versions they read are being removed. It returns false if a
// reader before that point has been opened meanwhile, or if the safe point is already there or later.
func (s *store) advanceSafePoint(point uint64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if point <= s.safePoint.Load() {
		return false
	}
	for ts := range s.readers {
		if ts < point && ts > subMillis(s.maxSeenTS.Load(), s.limits.reader.Milliseconds()) {
			return false
		}
	}
	s.safePoint.Store(point)
	return true
}
