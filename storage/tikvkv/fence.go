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

// fence intercepts every request of one commit just before it is sent, and refuses a commit request whose commit time
// is after a bound, such as the end of the lease. If a reader has pushed the commit time away, the client fetches a
// newer one from the oracle by itself and sends the commit again; the fence checks that attempt too.
//
// A commit time that the fence has allowed once is allowed again, even if the bound has moved meanwhile, because an
// attempt whose answer was lost has the same commit time. So a refusal is final: nothing of the transaction was or
// will be committed.
type fence struct {
	// bound returns the newest commit time that is allowed at the moment of the call.
	bound    func() uint64
	inflight *inflightCommit // entry of this commit in the tail of the log; nil for commits of the engine itself
	sent     func()          // called before each commit request that is sent; may be nil

	primary   atomic.Pointer[[]byte] // the primary key: it decides whether the transaction is committed
	passed    atomic.Uint64          // the newest commit time that was allowed
	refused   atomic.Bool            // this fence has refused the commit
	aborted   atomic.Bool            // the cluster has aborted the transaction
	committed atomic.Bool            // the primary key is committed
}

// wrap returns the fence as an interceptor of the client's requests.
func (f *fence) wrap() interceptor.RPCInterceptor {
	return interceptor.NewRPCInterceptor("cantle-fence", func(next interceptor.RPCInterceptorFunc) interceptor.RPCInterceptorFunc {
		return func(target string, req *tikvrpc.Request) (*tikvrpc.Response, error) {
			switch req.Type {
			case tikvrpc.CmdPrewrite:
				f.prewrite(req.Prewrite())
				if f.inflight != nil {
					f.inflight.beginPrewrite()
					defer f.inflight.endPrewrite()
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

// prewrite records the primary key of the transaction, and sets the bound in a prewrite request of a one-phase or
// asynchronous commit: TiKV itself chooses the commit time of these, and obeys that bound.
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

// prewrote checks in the answer to a prewrite whether the cluster has already rolled the transaction back, as other
// clients may do once its locks are old. A transaction that was rolled back is never committed.
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

// commit sends a commit request with next and evaluates the answer. If the commit time is after the bound and after
// all those allowed before, and the primary key is not committed, commit sends nothing and returns an answer with an
// abort instead.
func (f *fence) commit(target string, req *tikvrpc.Request, next interceptor.RPCInterceptorFunc) (*tikvrpc.Response, error) {
	r := req.Commit()
	if !f.committed.Load() && r.CommitVersion > f.passed.Load() && r.CommitVersion > f.bound() {
		f.refused.Store(true)
		return &tikvrpc.Response{Resp: &kvrpcpb.CommitResponse{Error: &kvrpcpb.KeyError{Abort: "the commit comes later than it may"}}}, nil
	}
	f.passed.Store(r.CommitVersion)
	if f.inflight != nil && !f.committed.Load() {
		f.inflight.setCommitTS(r.CommitVersion)
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

// fail maps the client's error of a commit that the engine itself makes, such as a renewal of the lease, to an error
// of package storage. If the commit came too late or was aborted, that is ErrConflict, after which the caller
// retries.
func (f *fence) fail(e *request, err error) error {
	if f.refused.Load() || f.aborted.Load() {
		return fmt.Errorf("%w: %w", storage.ErrConflict, err)
	}
	return e.fail(err)
}
