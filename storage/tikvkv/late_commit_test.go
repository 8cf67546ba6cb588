package tikvkv

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tikv/client-go/v2/tikvrpc"

	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/writebuf"
)

// A commit while the lease has expired, because everything paused, waits for the renewal and then fails
// with a retryable error. The retry succeeds.
func TestCommitAfterStandstill(t *testing.T) {
	c := fake(t)
	s := openOn(t, c, Options{Lease: 300 * time.Millisecond})
	defer s.Close()
	var still atomic.Bool
	still.Store(true)
	waiting, moving := make(chan struct{}, 1), make(chan struct{})
	c.SetHook(func(_ context.Context, req *tikvrpc.Request, next func() (*tikvrpc.Response, error)) (*tikvrpc.Response, error) {
		if still.Load() && req.Type == tikvrpc.CmdPrewrite && bytes.Equal(req.Prewrite().PrimaryLock, s.membership.key()) {
			<-moving
		}
		if still.Load() && req.Type == tikvrpc.CmdBatchRollback { // of the transaction that the fence has refused
			waiting <- struct{}{}
		}
		return next()
	})
	tx, err := s.Begin(t.Context(), storage.TxnOptions{})
	must(t, err)
	must(t, tx.Set([]byte("a"), []byte("1")))
	for !s.lease.expired(s.oracle.maxSeenTS.Load()) {
		_, err := s.oracle.fetchTS(t.Context())
		must(t, err)
	}
	ended := make(chan error, 1)
	go func() {
		_, err := tx.Commit(t.Context(), storage.Synced)
		ended <- err
	}()
	select {
	case <-waiting:
	case err := <-ended:
		t.Errorf("while the lease is over: %v", err)
		ended <- err
	}
	still.Store(false)
	close(moving)
	if err := <-ended; !errors.Is(err, storage.ErrConflict) {
		t.Errorf("a commit after the lease was over: %v", err)
	}
	_, err = commit(t, s, set("a", "1"))
	must(t, err)
}

// After a commit has come too late, commits have the long window for a while; so have commits with
// many keys.
func TestSlowCommitsAreLarge(t *testing.T) {
	now := time.Unix(1000, 0)
	s := openOn(t, fake(t), Options{Lease: time.Hour, Clock: func() time.Time { return now }})
	defer s.Close()
	var one, many writebuf.Buffer
	one.Set([]byte("a"), []byte("1"))
	for i := range largeKeys + 1 {
		many.Set(fmt.Appendf(nil, "k%d", i), []byte("1"))
	}
	class := func(b *writebuf.Buffer, want byte, when string) {
		if got := s.committer.classOf(b); got != want {
			t.Errorf("%d keys %s: class %d", b.Len(), when, got)
		}
	}
	class(&one, classSmall, "at first")
	class(&many, classLarge, "at first")
	s.limits.windows[classSmall] = -1
	if _, err := commit(t, s, set("a", "1")); !errors.Is(err, storage.ErrConflict) {
		t.Fatalf("a commit that is late: %v", err)
	}
	class(&one, classLarge, "after a late commit")
	_, err := commit(t, s, set("a", "1"))
	must(t, err)
	now = now.Add(slowFor)
	class(&one, classSmall, "when that is past")
}

// If the cluster answers other requests but not a commit, the outcome of the commit is looked up
// after the timeout: the extension of timeouts for slow clusters is not for answers that never
// come.
func TestUndeterminedCommitIsResolved(t *testing.T) {
	c := fake(t)
	s := openOn(t, c, Options{Lease: 200 * time.Millisecond})
	defer s.Close()
	s.limits.commit, s.limits.most = 400*time.Millisecond, 1<<30
	var asked atomic.Bool
	tx, err := s.Begin(t.Context(), storage.TxnOptions{})
	must(t, err)
	must(t, tx.Set([]byte("a"), []byte("1")))
	key := s.keys.user([]byte("a"))
	c.SetHook(func(ctx context.Context, req *tikvrpc.Request, next func() (*tikvrpc.Response, error)) (*tikvrpc.Response, error) {
		switch {
		case req.Type == tikvrpc.CmdCheckTxnStatus && bytes.Equal(req.CheckTxnStatus().PrimaryKey, key):
			asked.Store(true)
		case req.Type == tikvrpc.CmdCommit && bytes.Equal(req.Commit().Keys[0], key):
			if _, err := next(); err != nil {
				return nil, err
			}
			<-ctx.Done()
			return nil, ctx.Err()
		}
		return next()
	})
	_, err = tx.Commit(t.Context(), storage.Synced)
	must(t, err)
	if !asked.Load() {
		t.Error("nobody asked what became of the commit")
	}
}
