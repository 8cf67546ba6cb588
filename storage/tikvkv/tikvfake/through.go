package tikvfake

import (
	"context"
	"slices"
	"time"

	"github.com/pingcap/kvproto/pkg/kvrpcpb"
	"github.com/tikv/client-go/v2/tikv"
	"github.com/tikv/client-go/v2/tikvrpc"
)

// through sends a read that names transactions which its client knows to be committed. A store
// reads through their locks; the simulator reports each again. The client then resolves it, in a goroutine
// of its own, and asks again at once, and does so until one of those goroutines has had its turn among all who
// ask: on a busy machine there were thousands of them within seconds, and everything waited for minutes.
func (c *Cluster) through(ctx context.Context, to tikv.Client, addr string, req *tikvrpc.Request, timeout time.Duration) (*tikvrpc.Response, error) {
	for {
		resp, err := to.SendRequest(ctx, addr, req, timeout)
		if err != nil {
			return resp, err
		}
		met := locksIn(resp.Resp)
		met = slices.DeleteFunc(met, func(l *kvrpcpb.LockInfo) bool { return !slices.Contains(req.CommittedLocks, l.LockVersion) })
		if len(met) == 0 {
			return resp, nil
		}
		resolved := 0
		for _, l := range met {
			ok, err := c.commit(l)
			if err != nil {
				return nil, err
			}
			if ok {
				resolved++
			}
		}
		if resolved < len(met) { // its time is to be found among other locks: the client does that
			select {
			case <-time.After(time.Millisecond):
			case <-ctx.Done():
			}
			return resp, nil
		}
	}
}

// locksIn are the locks that a read has met.
func locksIn(resp any) (out []*kvrpcpb.LockInfo) {
	add := func(e *kvrpcpb.KeyError) {
		if l := e.GetLocked(); l != nil {
			out = append(out, l)
		}
	}
	switch resp := resp.(type) {
	case *kvrpcpb.GetResponse:
		add(resp.Error)
	case *kvrpcpb.BatchGetResponse:
		add(resp.Error)
		for _, p := range resp.Pairs {
			add(p.Error)
		}
	}
	return out
}

// commit makes a lock what its transaction has committed; ok is false where its first key does not say
// when that was.
func (c *Cluster) commit(l *kvrpcpb.LockInfo) (ok bool, err error) {
	_, at, _, err := c.rpc.MvccStore.CheckTxnStatus(l.PrimaryLock, l.LockVersion, 0, 0, false, false)
	if err != nil || at == 0 {
		return false, nil // it is not known there, or not committed yet
	}
	return true, c.settle(l.Key, l.LockVersion, at)
}
