package tikvkv

import (
	"bytes"
	"fmt"
	"sync/atomic"

	"github.com/pingcap/kvproto/pkg/kvrpcpb"
	"github.com/tikv/client-go/v2/tikvrpc"
	"github.com/tikv/client-go/v2/tikvrpc/interceptor"

	"github.com/cantledb/cantle/storage"
)

// fence sees every request of a commit just before it leaves, and refuses the one that would
// commit too late. The client asks the oracle for a newer commit time, without asking anybody
// else, when a reader has pushed the first one away: the fence sees that attempt too.
//
// What was let through once is let through again, wherever the bound is by then: an attempt
// whose answer was lost has the same commit time. So a refusal is certain: nothing of the
// transaction was or will be committed.
type fence struct {
	// bound is the newest commit time that is allowed, asked at the last moment.
	bound func() uint64
	way   *passage // of the commit through the tail of the log; nil if there is none
	sent  func()   // told before a request that may commit leaves; nil for nobody

	primary   atomic.Pointer[[]byte] // the key that decides whether the transaction is committed
	passed    atomic.Uint64          // the newest commit time that was let through
	refused   atomic.Bool            // by this fence
	aborted   atomic.Bool            // by the cluster, for good
	committed atomic.Bool            // the primary key is
}

// wrap is the fence as the client takes it.
func (f *fence) wrap() interceptor.RPCInterceptor {
	return interceptor.NewRPCInterceptor("cantle-fence", func(next interceptor.RPCInterceptorFunc) interceptor.RPCInterceptorFunc {
		return func(target string, req *tikvrpc.Request) (*tikvrpc.Response, error) {
			switch req.Type {
			case tikvrpc.CmdPrewrite:
				f.prewrite(req.Prewrite())
				if f.way != nil {
					f.way.prewriting()
					defer f.way.prewritten()
				}
				resp, err := next(target, req)
				f.prewrote(resp)
				return resp, err
			case tikvrpc.CmdCommit:
				return f.commit(target, req, next)
			}
			return next(target, req)
		}
	})
}

// prewrite gives the bound to those who choose the commit time themselves: TiKV does for
// transactions in one phase and for asynchronous ones.
func (f *fence) prewrite(req *kvrpcpb.PrewriteRequest) {
	if f.primary.Load() == nil {
		key := bytes.Clone(req.PrimaryLock)
		f.primary.CompareAndSwap(nil, &key)
	}
	if req.UseAsyncCommit || req.TryOnePc {
		if bound := f.bound(); req.MaxCommitTs == 0 || bound < req.MaxCommitTs {
			req.MaxCommitTs = bound
		}
	}
}

// prewrote looks whether the cluster has rolled the transaction back already, as others may once
// its locks are old: then it is never committed.
func (f *fence) prewrote(resp *tikvrpc.Response) {
	if resp == nil {
		return
	}
	if got, ok := resp.Resp.(*kvrpcpb.PrewriteResponse); ok {
		for _, e := range got.GetErrors() {
			if e.Abort != "" {
				f.aborted.Store(true)
			}
		}
	}
}

// commit lets a commit pass unless it comes too late.
func (f *fence) commit(target string, req *tikvrpc.Request, next interceptor.RPCInterceptorFunc) (*tikvrpc.Response, error) {
	r := req.Commit()
	if !f.committed.Load() && r.CommitVersion > f.passed.Load() && r.CommitVersion > f.bound() {
		f.refused.Store(true)
		return &tikvrpc.Response{Resp: &kvrpcpb.CommitResponse{Error: &kvrpcpb.KeyError{Abort: "the commit comes later than it may"}}}, nil
	}
	f.passed.Store(r.CommitVersion)
	if f.way != nil && !f.committed.Load() {
		f.way.dated(r.CommitVersion)
	}
	if f.sent != nil {
		f.sent()
	}
	resp, err := next(target, req)
	if err != nil || resp == nil || f.committed.Load() {
		return resp, err
	}
	if got, ok := resp.Resp.(*kvrpcpb.CommitResponse); ok && got.RegionError == nil {
		switch {
		case got.Error == nil:
			f.committed.Store(true)
		case got.Error.Abort != "" || got.Error.TxnNotFound != nil:
			f.aborted.Store(true)
		}
	}
	return resp, err
}

// fail is an error of a commit that stands by itself: one that came too late is tried again like
// any conflict.
func (f *fence) fail(e *errand, err error) error {
	if f.refused.Load() || f.aborted.Load() {
		return fmt.Errorf("%w: %w", storage.ErrConflict, err)
	}
	return e.fail(err)
}
