package tikvkv

import (
	"context"
	"errors"

	"github.com/tikv/client-go/v2/tikv"

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

// destroy removes a range of the cluster's keys.
func (s *store) destroy(ctx context.Context, now uint64, start, end []byte) error {
	e := s.errand(ctx, 10*s.limits.read) // region by region
	defer e.end()
	_, err := tikv.ResolveLocksForRange(e, tikv.NewRegionLockResolver("cantle", s.kv), now, start, end, tikv.NewGcResolveLockMaxBackoffer, tikv.GCScanLockLimit)
	if err == nil {
		_, err = s.kv.DeleteRange(e, start, end, 2)
	}
	if err != nil && e.Err() == nil && named(err) == nil {
		return errors.Join(storage.ErrUnavailable, err)
	}
	return e.fail(err)
}
