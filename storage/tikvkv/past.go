package tikvkv

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/pingcap/kvproto/pkg/kvrpcpb"
	tikverr "github.com/tikv/client-go/v2/error"
	"github.com/tikv/client-go/v2/tikv"
	"github.com/tikv/client-go/v2/tikvrpc"

	"github.com/cantledb/cantle/storage"
)

// A transaction that reads a state of the past, or one that others read too, cannot have its
// time for a beginning: the cluster tells transactions, and their locks, apart by when they
// begin, and a mark that one was rolled back lies where a commit at that time would. It has a
// beginning of its own, and the cluster sees to conflicts with what was committed since then. What
// was committed between the state and the beginning is looked up at each of its keys.

// pastAtOnce is how many keys are looked up at the same time.
const pastAtOnce = 16

// unchanged makes sure that nobody has written or locked a key of the transaction between the
// state that it reads and its beginning. Errors: ErrConflict, those of a read.
func (t *txn) unchanged(ctx context.Context) error {
	if t.start == t.ts {
		return nil
	}
	var keys [][]byte
	for _, key := range t.buf.Locks() {
		keys = append(keys, t.s.keys.user(key))
	}
	for key := range t.buf.All() {
		keys = append(keys, t.s.keys.user(key))
	}
	for some := range slices.Chunk(keys, pastAtOnce) {
		errs := make([]error, len(some))
		var all sync.WaitGroup
		for i, key := range some {
			all.Go(func() {
				changed, err := t.s.changed(ctx, key, t.ts, t.start)
				if err == nil && changed {
					t.s.refused.Add(1)
					err = fmt.Errorf("%w: a key was written since the state that the transaction reads", storage.ErrConflict)
				}
				errs[i] = err
			})
		}
		all.Wait()
		if err := errors.Join(errs...); err != nil {
			return err
		}
	}
	return nil
}

// changed reports that a key of the cluster was written or locked after one time and up to
// another one, or that somebody who began before that is about to.
func (s *store) changed(ctx context.Context, key []byte, after, upTo uint64) (bool, error) {
	e := s.errand(ctx, s.limits.read)
	defer e.end()
	bo := tikv.NewBackofferWithVars(e, pageBackoff, nil)
	for {
		info, err := s.versions(bo, key)
		if err != nil {
			return false, e.fail(err)
		}
		if info == nil {
			continue
		}
		if lock := info.Lock; lock != nil && lock.StartTs <= upTo {
			return true, nil
		}
		for _, w := range info.Writes {
			if w.Type != kvrpcpb.Op_Rollback && w.CommitTs > after && w.CommitTs <= upTo {
				return true, nil
			}
		}
		return false, nil
	}
}

// versions is what the cluster knows of a key; nil asks for another try, where its region is then.
func (s *store) versions(bo *tikv.Backoffer, key []byte) (*kvrpcpb.MvccInfo, error) {
	loc, err := s.kv.GetRegionCache().LocateKey(bo, key)
	if err != nil {
		return nil, err
	}
	resp, err := s.kv.SendReq(bo, tikvrpc.NewRequest(tikvrpc.CmdMvccGetByKey, &kvrpcpb.MvccGetByKeyRequest{Key: key}), loc.Region, tikv.ReadTimeoutMedium)
	if err != nil {
		return nil, err
	}
	if broken, err := resp.GetRegionError(); err != nil {
		return nil, err
	} else if broken != nil {
		return nil, bo.Backoff(tikv.BoRegionMiss(), errors.New(broken.String()))
	}
	got, ok := resp.Resp.(*kvrpcpb.MvccGetByKeyResponse)
	switch {
	case !ok:
		return nil, tikverr.ErrBodyMissing
	case got.Error != "":
		return nil, errors.New(got.Error)
	case got.Info == nil:
		return &kvrpcpb.MvccInfo{}, nil
	}
	return got.Info, nil
}
