package tikvkv

import (
	"bytes"
	"context"
	"errors"
	"slices"

	"github.com/tikv/client-go/v2/tikv"
	"github.com/tikv/client-go/v2/txnkv/txnlock"

	"github.com/cantledb/cantle/storage"
)

// DeleteRange implements storage.Store. The keys go with all their versions, through Raft like
// any write, so that no replica can bring them back; locks that dead writers left in the range
// are resolved before, for one that is resolved later would bring a key back.
func (s *store) DeleteRange(ctx context.Context, r storage.Range) error {
	if err := s.check(ctx); err != nil || r.Empty() {
		return err
	}
	now, err := s.ask(ctx)
	if err != nil {
		return err
	}
	if err := s.lease.covers(ctx, s, now); err != nil {
		return err
	}
	start, end := s.keys.users(r)
	if err := s.destroy(ctx, now, start, end); err != nil {
		return err
	}
	start, end = s.keys.chunks(r)
	return s.destroy(ctx, now, start, end)
}

// rangeLocks resolves the locks of a range and no others: the client lists those of whole
// regions, and ends the transactions of all that it is given, however alive they are.
type rangeLocks struct {
	*tikv.BaseRegionLockResolver
	start, end []byte
}

// ScanLocksInOneRegion implements tikv.RegionLockResolver.
func (r rangeLocks) ScanLocksInOneRegion(bo *tikv.Backoffer, key []byte, max uint64, most uint32) ([]*txnlock.Lock, *tikv.KeyLocation, error) {
	locks, loc, err := r.BaseRegionLockResolver.ScanLocksInOneRegion(bo, key, max, most)
	return slices.DeleteFunc(locks, func(l *txnlock.Lock) bool {
		return bytes.Compare(l.Key, r.start) < 0 || bytes.Compare(l.Key, r.end) >= 0
	}), loc, err
}

// destroy removes a range of the cluster's keys.
func (s *store) destroy(ctx context.Context, now uint64, start, end []byte) error {
	e := s.errand(ctx, 10*s.limits.read) // region by region
	defer e.end()
	_, err := tikv.ResolveLocksForRange(e, rangeLocks{tikv.NewRegionLockResolver("cantle", s.kv), start, end}, now, start, end, tikv.NewGcResolveLockMaxBackoffer, tikv.GCScanLockLimit)
	if err == nil {
		_, err = s.kv.DeleteRange(e, start, end, 2)
	}
	if err != nil && e.Err() == nil && named(err) == nil {
		return errors.Join(storage.ErrUnavailable, err)
	}
	return e.fail(err)
}
