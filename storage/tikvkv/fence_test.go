package tikvkv

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pingcap/kvproto/pkg/kvrpcpb"
	"github.com/tikv/client-go/v2/tikvrpc"

	"github.com/cantledb/cantle/storage"
)

// With one-phase and asynchronous commit TiKV chooses the commit time during the prewrite, so the fence sets its bound
// in that prewrite request, unless the request has an earlier one.
func TestFencePrewrites(t *testing.T) {
	for what, c := range map[string]struct {
		req  kvrpcpb.PrewriteRequest
		want uint64
	}{
		"two phases":           {kvrpcpb.PrewriteRequest{}, 0},
		"asynchronous":         {kvrpcpb.PrewriteRequest{UseAsyncCommit: true}, 100},
		"one phase":            {kvrpcpb.PrewriteRequest{TryOnePc: true}, 100},
		"one phase, by itself": {kvrpcpb.PrewriteRequest{TryOnePc: true, MaxCommitTs: 50}, 50},
		"later by itself":      {kvrpcpb.PrewriteRequest{UseAsyncCommit: true, MaxCommitTs: 200}, 100},
	} {
		f := fence{bound: func() uint64 { return 100 }}
		if f.prewrite(&c.req); c.req.MaxCommitTs != c.want {
			t.Errorf("%s: at most %d, want %d", what, c.req.MaxCommitTs, c.want)
		}
	}
}

// A latch lasts until all keys of the commit are committed, not until Commit returns: otherwise the next
// writer would find the remaining locks.
func TestLatchOutlivesLease(t *testing.T) {
	c := fake(t)
	s := separated(t, c, letters())
	defer s.Close()
	s.limits.latch = time.Hour
	var commits atomic.Int64
	free := make(chan struct{})
	c.SetHook(func(_ context.Context, req *tikvrpc.Request, next func() (*tikvrpc.Response, error)) (*tikvrpc.Response, error) {
		if req.Type == tikvrpc.CmdCommit && commits.Add(1) > 1 {
			<-free
		}
		return next()
	})
	latched := storage.TxnOptions{Latch: [][]byte{[]byte("hot")}}
	tx, err := s.Begin(t.Context(), latched)
	must(t, err)
	must(t, errors.Join(tx.Set([]byte("a"), []byte("1")), tx.Set([]byte("z"), []byte("1"))))
	_, err = tx.Commit(t.Context(), storage.Synced)
	must(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if early, err := s.Begin(ctx, latched); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the next one begins while a key is not committed: %v", err)
		if err == nil {
			early.Close()
		}
	}
	close(free)
	next, err := s.Begin(t.Context(), latched)
	must(t, err)
	defer next.Close()
	c.SetHook(nil)
	c.Count()
	v, err := next.Get(t.Context(), []byte("z"), nil)
	if sent, _ := c.Count(); string(v) != "1" || err != nil || len(sent) != 1 {
		t.Errorf("the next one reads %s, %v, for %v", v, err, sent)
	}
}

// A commit that passed the fence once passes again, although the bound has moved below it since: the first
// answer was lost, and the commit may have happened.
func TestFenceAgain(t *testing.T) {
	bound := uint64(100)
	f := fence{bound: func() uint64 { return bound }}
	sent := 0
	try := func(at uint64) {
		req := tikvrpc.NewRequest(tikvrpc.CmdCommit, &kvrpcpb.CommitRequest{CommitVersion: at})
		_, _ = f.commit("", req, func(string, *tikvrpc.Request) (*tikvrpc.Response, error) {
			sent++
			return nil, gone
		})
	}
	try(90)
	bound = 1
	if try(90); sent != 2 || f.refused.Load() {
		t.Errorf("sent %d times, refused: %v", sent, f.refused.Load())
	}
	if try(91); sent != 2 || !f.refused.Load() {
		t.Errorf("a later time: sent %d times, refused: %v", sent, f.refused.Load())
	}
}

// A transaction that another client has rolled back, as it may while its server is paused, gives a conflict
// if the cluster reports the rollback in the answer to a prewrite.
func TestRolledBackByOthers(t *testing.T) {
	c := fake(t)
	s := separated(t, c, letters())
	defer s.Close()
	c.SetHook(func(_ context.Context, req *tikvrpc.Request, next func() (*tikvrpc.Response, error)) (*tikvrpc.Response, error) {
		if req.Type == tikvrpc.CmdPrewrite {
			return &tikvrpc.Response{Resp: &kvrpcpb.PrewriteResponse{Errors: []*kvrpcpb.KeyError{{Abort: "it is already rolled back"}}}}, nil
		}
		return next()
	})
	defer c.SetHook(nil)
	tx, err := s.Begin(t.Context(), storage.TxnOptions{})
	must(t, err)
	must(t, tx.Set([]byte("a"), []byte("1")))
	if _, err := tx.Commit(t.Context(), storage.Synced); !errors.Is(err, storage.ErrConflict) {
		t.Errorf("%v, want a conflict", err)
	}
}
