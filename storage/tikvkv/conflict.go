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

// A transaction on a past state, or on a state that others may read too, cannot use its snapshot
// timestamp as its start timestamp. TiKV identifies transactions and their locks by start
// timestamp, and stores the mark of a rollback where a commit at that timestamp would be. So the
// transaction gets a start timestamp of its own, and TiKV detects conflicts with commits after
// that. Conflicts between the snapshot and the start are looked up here, for each key that the
// transaction has written or locked.

// pastAtOnce is the number of keys whose versions checkUnchanged looks up at the same time.
const pastAtOnce = 16

// checkUnchanged checks that no other transaction has written or locked a key that t has written or locked, between
// the snapshot that t reads and the start timestamp of t: TiKV detects only later conflicts. Errors: ErrConflict;
// errors of reads.
func (m *committer) checkUnchanged(ctx context.Context, t *txn) error {
	if t.start == t.ts {
		return nil
	}
	var keys [][]byte
	for key := range t.buf.Touched() {
		keys = append(keys, m.keys.user(key))
	}
	for some := range slices.Chunk(keys, pastAtOnce) {
		errs := make([]error, len(some))
		var all sync.WaitGroup
		for i, key := range some {
			all.Go(func() {
				changed, err := m.rows.changed(ctx, key, t.ts, t.start)
				if err == nil && changed {
					m.refused.Add(1)
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

// changed reports whether a key of the cluster was written after one timestamp and up to another,
// or is locked by a transaction that began at or before the latter.
func (r *rows) changed(ctx context.Context, key []byte, after, upTo uint64) (bool, error) {
	e := r.cluster.beginRequest(ctx, r.limits.read)
	defer e.end()
	bo := tikv.NewBackofferWithVars(e, pageBackoff, nil)
	for {
		info, err := r.versions(bo, key)
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

// versions returns the versions and the lock that TiKV stores for a key. If the region of the key has moved, it
// returns nil without an error, and the caller retries.
func (r *rows) versions(bo *tikv.Backoffer, key []byte) (*kvrpcpb.MvccInfo, error) {
	loc, err := r.cluster.kv.GetRegionCache().LocateKey(bo, key)
	if err != nil {
		return nil, err
	}
	resp, err := r.cluster.kv.SendReq(bo, tikvrpc.NewRequest(tikvrpc.CmdMvccGetByKey, &kvrpcpb.MvccGetByKeyRequest{Key: key}), loc.Region, tikv.ReadTimeoutMedium)
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
