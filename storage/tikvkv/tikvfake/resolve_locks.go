package tikvfake

import (
	"context"
	"slices"
	"time"

	"github.com/pingcap/kvproto/pkg/kvrpcpb"
	"github.com/tikv/client-go/v2/tikv"
	"github.com/tikv/client-go/v2/tikvrpc"
)

// sendResolving sends a read request in which the client lists transactions that it has found to be committed. A real
// store ignores their locks; the simulator reports each lock again. The client would then resolve the lock in a
// separate goroutine and retry the read at once, until that goroutine gets its turn: on a busy machine there were
// thousands of them within seconds, and everything waited for minutes. So sendResolving itself commits those of these
// locks whose primary key is committed, and repeats the read if these are all.
func (c *Cluster) sendResolving(ctx context.Context, to tikv.Client, addr string, req *tikvrpc.Request, timeout time.Duration) (*tikvrpc.Response, error) {
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
		if resolved < len(met) { // the client has to find the commit time through the other locks of the transaction
			select {
			case <-time.After(time.Millisecond):
			case <-ctx.Done():
			}
			return resp, nil
		}
	}
}

// locksIn returns the locks that a read has found.
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

// commit commits the lock of a transaction whose primary key is committed, at the same commit time. If the primary key
// is not committed or not known, ok is false and err is nil.
func (c *Cluster) commit(l *kvrpcpb.LockInfo) (ok bool, err error) {
	_, at, _, err := c.rpc.MvccStore.CheckTxnStatus(l.PrimaryLock, l.LockVersion, 0, 0, false, false)
	if err != nil || at == 0 {
		return false, nil // unknown there, or not committed yet
	}
	return true, c.settle(l.Key, l.LockVersion, at)
}
