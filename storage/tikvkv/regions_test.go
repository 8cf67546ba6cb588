package tikvkv

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pingcap/kvproto/pkg/errorpb"
	"github.com/tikv/client-go/v2/tikvrpc"

	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/storagetest"
	"github.com/cantledb/cantle/storage/tikvkv/tikvfake"
)

// letters returns the keys at which tests split regions.
func letters() (keys [][]byte) {
	for c := byte('a'); c <= 'z'; c++ {
		keys = append(keys, []byte{c})
	}
	return keys
}

// separated returns a store whose regions begin at keys.
func separated(tb testing.TB, c *tikvfake.Cluster, keys [][]byte) *store {
	tb.Helper()
	s := openOn(tb, c, forConformance)
	stored := [][]byte{s.keys.in(spaceLog, nil), s.keys.in(spaceChunk, nil)}
	for _, key := range keys {
		stored = append(stored, s.keys.user(key))
	}
	if err := s.regions.split(tb.Context(), stored); err != nil {
		tb.Fatal(err)
	}
	return s
}

// Separate splits regions at the given keys; a second call with these keys splits nothing. A store with such regions
// passes Conformance.
func TestSeparate(t *testing.T) {
	c := fake(t)
	s := separated(t, c, letters())
	for range 2 { // the second call has nothing to do
		if n, err := s.regions.count(t.Context(), s.keys.user([]byte("a")), s.keys.user([]byte("z"))); n != 25 || err != nil {
			t.Errorf("%d regions from a to z, %v", n, err)
		}
		s.Separate(letters())
	}
	must(t, s.Close()) // ends Separate
	storagetest.Conformance(t, func(tb testing.TB) storage.Store { return separated(tb, fake(tb), letters()) })
}

// Closing a store does not wait for a split of regions that never succeeds because another client
// is always faster.
func TestSeparateEnds(t *testing.T) {
	c := fake(t)
	s := openOn(t, c, forConformance)
	met := make(chan struct{}, 1)
	c.SetHook(func(_ context.Context, req *tikvrpc.Request, next func() (*tikvrpc.Response, error)) (*tikvrpc.Response, error) {
		if req.Type != tikvrpc.CmdSplitRegion {
			return next()
		}
		select {
		case met <- struct{}{}:
		default:
		}
		return tikvrpc.GenRegionErrorResp(req, &errorpb.Error{EpochNotMatch: &errorpb.EpochNotMatch{}})
	})
	s.limits.read = time.Hour // the client retries until then
	s.Separate(letters())
	<-met
	must(t, s.Close())
}

// moving lets requests fail with the region errors of trouble while concurrent transfers run: all
// succeed, and no transfer is lost or made twice.
func moving(t *testing.T, trouble func(req *tikvrpc.Request, n int64) *errorpb.Error) {
	met := atomic.Int64{}
	storagetest.Nemesis(t, func(tb testing.TB) storage.Store {
		c := fake(tb)
		s := separated(tb, c, letters())
		var n atomic.Int64
		c.SetHook(func(_ context.Context, req *tikvrpc.Request, next func() (*tikvrpc.Response, error)) (*tikvrpc.Response, error) {
			if e := trouble(req, n.Add(1)); e != nil {
				met.Add(1)
				return tikvrpc.GenRegionErrorResp(req, e)
			}
			return next()
		})
		return s
	}, storagetest.NemesisOptions{Rounds: 10})
	if met.Load() < 10 {
		t.Errorf("only %d requests met trouble", met.Load())
	}
}

// Leaders of regions move.
func TestLeaderMoves(t *testing.T) {
	moving(t, func(req *tikvrpc.Request, n int64) *errorpb.Error {
		if n%17 != 0 {
			return nil
		}
		return &errorpb.Error{Message: "moved", NotLeader: &errorpb.NotLeader{RegionId: req.RegionId}}
	})
}

// Regions split or disappear, and commands are stale.
func TestRegionErrors(t *testing.T) {
	moving(t, func(req *tikvrpc.Request, n int64) *errorpb.Error {
		switch {
		case n%23 == 0:
			return &errorpb.Error{Message: "split", EpochNotMatch: &errorpb.EpochNotMatch{}}
		case n%29 == 0:
			return &errorpb.Error{Message: "gone", RegionNotFound: &errorpb.RegionNotFound{RegionId: req.RegionId}}
		case n%31 == 0:
			return &errorpb.Error{Message: "stale", StaleCommand: &errorpb.StaleCommand{}}
		}
		return nil
	})
}

// A commit that the fence has refused has not happened, not even in part.
func TestRefusedCommits(t *testing.T) {
	c := fake(t)
	s := separated(t, c, letters())
	defer s.Close()
	_, err := commit(t, s, func(tx storage.Txn) error {
		return errors.Join(tx.Set([]byte("a"), []byte("1")), tx.Set([]byte("z"), []byte("1")))
	})
	must(t, err)
	s.limits.windows = [classes]int64{-1000, -1000} // each commit comes too late
	for i := range 5 {
		_, err := commit(t, s, func(tx storage.Txn) error {
			return errors.Join(tx.Set([]byte("a"), fmt.Append(nil, i+2)), tx.Set([]byte("z"), fmt.Append(nil, i+2)), tx.AppendLog([]byte("s"), []byte("r")))
		})
		if !errors.Is(err, storage.ErrConflict) {
			t.Errorf("a commit that is too late: %v", err)
		}
	}
	s.limits.windows = defaultLimits.windows
	r, err := s.Snapshot(t.Context(), 0)
	must(t, err)
	defer r.Close()
	for _, key := range []string{"a", "z"} {
		if v, err := r.Get(t.Context(), []byte(key), nil); string(v) != "1" || err != nil {
			t.Errorf("%s is %s, %v", key, v, err)
		}
	}
	n := 0
	_, err = s.ReadLog(t.Context(), []byte("s"), 0, func(_, _ storage.Timestamp, _ []byte) bool { n++; return true })
	if n != 0 || err != nil {
		t.Errorf("%d log records of refused commits, %v", n, err)
	}
}
