package tikvkv

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pingcap/kvproto/pkg/kvrpcpb"
	"github.com/tikv/client-go/v2/tikvrpc"

	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/tikvkv/tikvfake"
)

// The lease keeps a second store out while the first one is open, and keeps the first one out if its renewals were held
// up so long that a second one has taken over. Both stores are in this process, over a simulated cluster.
func TestLease(t *testing.T) {
	c := fake(t)
	s := openOn(t, c, Options{ServerName: "first on host-1", Lease: 600 * time.Millisecond})
	_, err := commit(t, s, set("a", "1"))
	must(t, err)
	_, err = tryOpen(t, c, Options{ServerName: "second", Lease: 600 * time.Millisecond})
	if !errors.Is(err, storage.ErrLocked) || !strings.Contains(err.Error(), "first on host-1") {
		t.Fatalf("a second process: %v", err)
	}
	other := openOn(t, c, Options{Keyspace: "other"}) // unaffected
	must(t, other.Close())
	must(t, s.Close())

	fatal := make(chan string, 1)
	s = openOn(t, c, Options{Lease: 300 * time.Millisecond, Fatal: func(why string) { fatal <- why }})
	asleep, err := s.Begin(t.Context(), storage.TxnOptions{})
	must(t, err)
	must(t, asleep.Set([]byte("a"), []byte("late")))
	var sleeping atomic.Bool
	sleeping.Store(true)
	held := make(chan struct{})
	c.SetHook(func(_ context.Context, req *tikvrpc.Request, next func() (*tikvrpc.Response, error)) (*tikvrpc.Response, error) {
		if sleeping.Load() && req.Type == tikvrpc.CmdPrewrite { // the renewal
			<-held
		}
		return next()
	})
	begun := s.lease.maxCommitTS()
	for s.lease.maxCommitTS() == begun && s.oracle.maxSeenTS.Load() < later(begun, 100) {
		_, err := s.oracle.fetchTS(t.Context())
		must(t, err)
	}
	sleeping.Store(false)
	second := openOn(t, c, Options{ServerName: "second", Lease: 300 * time.Millisecond})
	_, err = commit(t, second, set("a", "2"))
	must(t, err)
	close(held)
	if _, err := asleep.Commit(t.Context(), storage.Synced); err == nil {
		t.Error("a process that has lost its lease commits")
	}
	if _, err := s.Snapshot(t.Context(), 0); !errors.Is(err, storage.ErrUnavailable) {
		t.Errorf("a process that has lost its lease reads: %v", err)
	}
	<-fatal
	r, err := second.Snapshot(t.Context(), 0)
	must(t, err)
	if v, err := r.Get(t.Context(), []byte("a"), nil); string(v) != "2" || err != nil {
		t.Errorf("the second one reads %s, %v", v, err)
	}
	r.Close()
	must(t, s.Close())
	must(t, second.Close())
}

// The safe point follows the oldest reader and the retention, and reads before it are refused.
func TestCollect(t *testing.T) {
	c := fake(t)
	s := openOn(t, c, Options{Retention: time.Millisecond, KeepGarbage: true})
	defer s.Close()
	first, err := commit(t, s, set("a", "1"))
	must(t, err)
	r, err := s.Snapshot(t.Context(), first)
	must(t, err)
	_, err = commit(t, s, set("a", "2"))
	must(t, err)
	pass := func() {
		for end := later(s.oracle.maxSeenTS.Load(), 5); s.oracle.maxSeenTS.Load() < end; {
			_, err := s.oracle.fetchTS(t.Context())
			must(t, err)
		}
	}
	pass()
	must(t, s.safePoints.advance(t.Context()))
	if again, err := s.Snapshot(t.Context(), first); err != nil {
		t.Errorf("a time that somebody reads: %v", err)
	} else {
		again.Close()
	}
	if v, err := r.Get(t.Context(), []byte("a"), nil); string(v) != "1" || err != nil {
		t.Errorf("the open reader reads %s, %v", v, err)
	}
	r.Close()
	pass()
	must(t, s.safePoints.advance(t.Context()))
	if _, err := s.Snapshot(t.Context(), first); !errors.Is(err, storage.ErrSnapshotTooOld) {
		t.Errorf("a time before the safe point: %v", err)
	}
}

// A reader that is open for too long gets an error once the versions that it reads may be removed;
// it never returns incomplete results.
func TestCollectPastReader(t *testing.T) {
	c := fake(t)
	s := openOn(t, c, Options{Retention: time.Millisecond, KeepGarbage: true})
	defer s.Close()
	s.limits.reader = time.Millisecond
	_, err := commit(t, s, set("a", "1"))
	must(t, err)
	r, err := s.Snapshot(t.Context(), 0)
	must(t, err)
	defer r.Close()
	it, err := r.Iter(t.Context(), storage.Range{}, storage.IterOptions{})
	must(t, err)
	defer it.Close()
	for end := later(s.oracle.maxSeenTS.Load(), 5); s.oracle.maxSeenTS.Load() < end; {
		_, err := s.oracle.fetchTS(t.Context())
		must(t, err)
	}
	must(t, s.safePoints.advance(t.Context()))
	if _, err := r.Get(t.Context(), []byte("a"), nil); !errors.Is(err, storage.ErrSnapshotTooOld) {
		t.Errorf("a read of a state that may be removed: %v", err)
	}
	if it.Next() || !errors.Is(it.Err(), storage.ErrSnapshotTooOld) {
		t.Errorf("a scan of it: %v", it.Err())
	}
}

// The numbers of requests that common operations of a store send to the cluster are as listed here.
func TestRoundTrips(t *testing.T) {
	c := fake(t)
	s := openOn(t, c, Options{Lease: time.Hour})
	defer s.Close()
	keys := make([][]byte, 200)
	_, err := commit(t, s, func(tx storage.Txn) (err error) {
		for i := range keys {
			keys[i] = fmt.Appendf(nil, "k%03d", i)
			err = errors.Join(err, tx.Set(keys[i], []byte("v")))
		}
		return err
	})
	must(t, err)
	var r storage.Reader
	expect := func(what string, times int, want map[tikvrpc.CmdType]int, do func()) {
		t.Helper()
		c.Count()
		do()
		sent, asked := c.Count()
		if fmt.Sprint(sent) != fmt.Sprint(want) || asked != times {
			t.Errorf("%s: %v and %d times of the oracle, want %v and %d", what, sent, asked, want, times)
		}
	}
	expect("a snapshot", 1, map[tikvrpc.CmdType]int{}, func() { r, err = s.Snapshot(t.Context(), 0); must(t, err) })
	defer r.Close()
	expect("a get", 0, map[tikvrpc.CmdType]int{tikvrpc.CmdGet: 1}, func() { _, err := r.Get(t.Context(), keys[0], nil); must(t, err) })
	expect("200 gets", 0, map[tikvrpc.CmdType]int{tikvrpc.CmdBatchGet: 1}, func() {
		must(t, r.GetMany(t.Context(), keys, func(int, []byte) error { return nil }))
	})
	expect("200 keys that are fetched and looked up", 1, map[tikvrpc.CmdType]int{tikvrpc.CmdBatchGet: 1}, func() {
		r, err := s.Snapshot(t.Context(), 0)
		must(t, err)
		defer r.Close()
		must(t, r.(storage.Fetcher).Prefetch(t.Context(), append([][]byte{[]byte("none")}, keys...), false))
		for _, key := range keys {
			v, err := r.Get(t.Context(), key, nil)
			if ok, hasErr := r.Has(t.Context(), key); string(v) != "v" || !ok || err != nil || hasErr != nil {
				t.Errorf("%s: %s, %v, %v, %v", key, v, ok, err, hasErr)
			}
		}
		if ok, err := r.Has(t.Context(), []byte("none")); ok || err != nil {
			t.Errorf("a key that is absent: %v, %v", ok, err)
		}
	})
	expect("20 rows of a scan", 0, map[tikvrpc.CmdType]int{tikvrpc.CmdScan: 1}, func() {
		it, err := r.Iter(t.Context(), storage.Range{}, storage.IterOptions{FetchRows: 20})
		must(t, err)
		for range 20 {
			it.Next()
		}
		it.Close()
	})
	expect("a commit of one key with a record", 2, map[tikvrpc.CmdType]int{tikvrpc.CmdPrewrite: 1, tikvrpc.CmdCommit: 1}, func() {
		_, err := commit(t, s, func(tx storage.Txn) error {
			return errors.Join(tx.Set(keys[0], []byte("w")), tx.AppendLog([]byte("s"), []byte("r")))
		})
		must(t, err)
	})
}

// A scan of the end of the log needs three round trips, however many buckets there are: the
// timestamp, the mark, and the first pages of all buckets together; values written by this store are
// cached. A server that has the store exclusively needs no request, if it has a clock.
func TestLogTrips(t *testing.T) {
	for what, o := range map[string]Options{"the store": {Lease: time.Hour}, "memory": {Lease: time.Hour, Clock: newWatch().Now}} {
		c := fake(t)
		s := openOn(t, c, o)
		defer s.Close()
		begun := s.Latest()
		for range 20 {
			_, err := commit(t, s, func(tx storage.Txn) error { return tx.AppendLog([]byte("s"), []byte("r")) })
			must(t, err)
		}
		c.Count()
		n := 0
		next, err := s.ReadLog(t.Context(), []byte("s"), begun, func(_, _ storage.Timestamp, _ []byte) bool { n++; return true })
		must(t, err)
		sent, times := c.Count()
		want := map[tikvrpc.CmdType]int{}
		if s.lease.exclusive() {
			times++
		} else {
			want = map[tikvrpc.CmdType]int{tikvrpc.CmdGet: 1, tikvrpc.CmdScan: classes * buckets}
		}
		if n != 20 || times != 1 || fmt.Sprint(sent) != fmt.Sprint(want) || next < s.newestCommit() {
			t.Errorf("%s: %d records up to %v for %v and %d times", what, n, next, sent, times)
		}
	}
}

// While a store is opened, the answer to the first write of its row is lost; the row is written or not. The store opens
// nevertheless, and accepts a commit.
func TestOpenUnanswered(t *testing.T) {
	for _, arrives := range []bool{true, false} {
		t.Run(fmt.Sprintf("arrives=%v", arrives), func(t *testing.T) {
			c := fake(t)
			var lost atomic.Uint64 // the transaction whose commit is not answered
			c.SetHook(func(ctx context.Context, req *tikvrpc.Request, next func() (*tikvrpc.Response, error)) (*tikvrpc.Response, error) {
				if req.Type != tikvrpc.CmdCommit {
					return next()
				}
				if lost.CompareAndSwap(0, req.Commit().StartVersion); lost.Load() != req.Commit().StartVersion {
					return next()
				}
				if arrives {
					_, _ = next()
				}
				return nil, gone
			})
			s := openOn(t, c, Options{Lease: time.Second})
			if lost.Load() == 0 {
				t.Error("no answer was lost")
			}
			_, err := commit(t, s, func(tx storage.Txn) error { return tx.Set([]byte("a"), []byte("1")) })
			must(t, err)
			must(t, s.Close())
		})
	}
}

// While a store is opened, its row is committed after the end of its lease, or the cluster refuses
// it. The store opens nevertheless, and logs the reason for the delay.
func TestOpenLate(t *testing.T) {
	var said atomic.Int64
	o := Options{Lease: 100 * time.Millisecond, Log: func(bool, string) { said.Add(1) }}
	for what, trouble := range map[string]func() tikvfake.Hook{
		"a late commit, after a slow look at the row": func() tikvfake.Hook {
			var met atomic.Bool
			return func(_ context.Context, req *tikvrpc.Request, next func() (*tikvrpc.Response, error)) (*tikvrpc.Response, error) {
				if req.Type != tikvrpc.CmdGet || met.Swap(true) {
					return next()
				}
				<-time.After(3 * o.Lease)
				return next()
			}
		},
		"a refused row": func() tikvfake.Hook {
			var met atomic.Bool
			return func(_ context.Context, req *tikvrpc.Request, next func() (*tikvrpc.Response, error)) (*tikvrpc.Response, error) {
				if req.Type != tikvrpc.CmdCommit || met.Swap(true) {
					return next()
				}
				return &tikvrpc.Response{Resp: &kvrpcpb.CommitResponse{Error: &kvrpcpb.KeyError{Abort: "no"}}}, nil
			}
		},
	} {
		t.Run(what, func(t *testing.T) {
			c := fake(t)
			c.SetHook(trouble())
			said.Store(0)
			s := openOn(t, c, o)
			if said.Load() == 0 {
				t.Error("nobody is told what is waited for")
			}
			_, err := commit(t, s, set("a", "1"))
			must(t, err)
			must(t, s.Close())
		})
	}
}

// While a store is opened, its row is delayed until its lease would have expired: the row is
// written again.
func TestOpenTooLate(t *testing.T) {
	for _, several := range []bool{false, true} {
		t.Run(fmt.Sprintf("several=%v", several), func(t *testing.T) {
			c := fake(t)
			clock, err := c.Client()
			must(t, err)
			defer clock.Close()
			const lease = 200
			var held atomic.Bool
			c.SetHook(func(_ context.Context, req *tikvrpc.Request, next func() (*tikvrpc.Response, error)) (*tikvrpc.Response, error) {
				if req.Type == tikvrpc.CmdPrewrite && held.CompareAndSwap(false, true) {
					over := later(req.Prewrite().StartVersion, lease)
					for now := uint64(0); now <= over; {
						if now, err = clock.CurrentTimestamp("global"); err != nil {
							return nil, err
						}
					}
				}
				return next()
			})
			var said atomic.Int64
			kv, err := c.Client()
			must(t, err)
			s, err := OpenOn(t.Context(), kv, Options{Keyspace: "test", Lease: lease * time.Millisecond, Several: several, Log: func(bool, string) { said.Add(1) }})
			must(t, err)
			if !held.Load() || said.Load() == 0 {
				t.Error("no commit was late, or nothing was logged")
			}
			must(t, s.Close())
		})
	}
}
