package tikvkv

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tikv/client-go/v2/tikvrpc"

	"github.com/cantledb/cantle/storage"
)

// pass waits until the oracle has advanced by some milliseconds.
func pass(t *testing.T, s *store) {
	t.Helper()
	for end := later(s.oracle.maxSeenTS.Load(), 5); s.oracle.maxSeenTS.Load() < end; {
		_, err := s.oracle.fetchTS(t.Context())
		must(t, err)
	}
}

// quick returns the options of a member with a very short retention. Its lease is longer than renewals take on a busy
// machine.
func quick(self string) Options {
	return Options{ServerName: self, Lease: 3 * time.Second, Retention: time.Millisecond, Clock: time.Now}
}

// A member joins although each of its reads takes longer than the retention: no renewal ends a wait of these reads.
func TestJoinSlowly(t *testing.T) {
	c := fake(t)
	for _, self := range []string{"a", "b"} {
		o := quick(self)
		o.Retention = time.Nanosecond
		m := openMember(t, c, o)
		_, err := commit(t, m, set(self, "1"))
		must(t, err)
		defer func() { must(t, m.Close()) }()
	}
}

// A collection by one member keeps what another member reads, and removes what no member reads: a
// dropped range is destroyed once no member reads it.
func TestCollectAmongMembers(t *testing.T) {
	c := fake(t)
	member := func(self string) *sharedStore {
		o := quick(self)
		o.Lease = 5 * time.Second // no lease ends meanwhile, and what members publish is read three times in it
		return openMember(t, c, o)
	}
	a, b := member("a"), member("b")
	first, err := commit(t, a, set("lost", "1"))
	must(t, err)
	r, err := b.Snapshot(t.Context(), 0)
	must(t, err)
	_, err = commit(t, a, set("lost", "2"))
	must(t, err)
	must(t, a.DeleteRange(t.Context(), lost))
	pass(t, a.store)
	must(t, b.Publish(t.Context(), nil)) // publishes its oldest reader
	must(t, a.Collect(t.Context()))
	if v, err := r.Get(t.Context(), []byte("lost"), nil); string(v) != "1" || err != nil {
		t.Errorf("a reader at another member finds %q, %v", v, err)
	}
	if n := a.dropped.destroyed.Load(); n != 0 {
		t.Errorf("%d ranges were destroyed while somebody reads", n)
	}
	r.Close()
	pass(t, a.store)
	must(t, b.Publish(t.Context(), nil)) // publishes that it has no reader
	for a.dropped.destroyed.Load() == 0 {
		must(t, a.Collect(t.Context()))
		pass(t, a.store)
	}
	if _, err := b.Snapshot(t.Context(), first); !errors.Is(err, storage.ErrSnapshotTooOld) {
		t.Errorf("a member reads what another one has removed: %v", err)
	}
	d := member("d")
	if _, err := d.Snapshot(t.Context(), first); !errors.Is(err, storage.ErrSnapshotTooOld) {
		t.Errorf("a member that comes later reads what was removed: %v", err)
	}
	for _, m := range []*sharedStore{a, b, d} {
		must(t, m.Close())
	}
}

// Closing a store does not wait for the cluster to remove old versions.
func TestCloseWhileCollecting(t *testing.T) {
	c := fake(t)
	a := openOn(t, c, quick("a"))
	_, err := commit(t, a, set("k", "1"))
	must(t, err)
	pass(t, a)
	begun := make(chan struct{})
	var once sync.Once
	c.SetHook(func(ctx context.Context, req *tikvrpc.Request, next func() (*tikvrpc.Response, error)) (*tikvrpc.Response, error) {
		if req.Type == tikvrpc.CmdScanLock {
			once.Do(func() { close(begun) })
			<-ctx.Done()
			return nil, ctx.Err()
		}
		return next()
	})
	ended := make(chan struct{})
	go func() {
		a.safePoints.collectWhileOpen()
		close(ended)
	}()
	select {
	case <-begun:
	case <-ended:
		t.Fatal("nothing was to collect")
	}
	must(t, a.Close())
	<-ended
}

// A member that is paused no longer holds the safe point back once its lease has expired. When it continues, it gets
// an error for reads of states removed meanwhile.
func TestCollectPastSleeper(t *testing.T) {
	c := fake(t)
	var asleep atomic.Bool
	o := quick("b")
	o.Several = true
	b := openAsleep(t, c, &asleep, o)
	a := openMember(t, c, quick("a"))
	_, err := commit(t, a, set("k", "1"))
	must(t, err)
	r, err := b.Snapshot(t.Context(), 0)
	must(t, err)
	asleep.Store(true)
	at := r.ReadTimestamp()
	_, err = commit(t, a, set("k", "2"))
	must(t, err)
	for timestampOf(a.snapshots.safePoint.Load()) <= at { // until the lease of b has expired
		must(t, a.Collect(t.Context()))
		pass(t, a.store)
	}
	if v, err := r.Get(t.Context(), []byte("k"), nil); err == nil {
		t.Errorf("a member that is asleep reads %q", v)
	}
	asleep.Store(false)
	if v, err := r.Get(t.Context(), []byte("k"), nil); !errors.Is(err, storage.ErrSnapshotTooOld) {
		t.Errorf("a member that woke reads %q, %v", v, err)
	}
	r.Close()
	must(t, b.Close())
	must(t, a.Close())
}
