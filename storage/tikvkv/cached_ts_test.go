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
	"github.com/cantledb/cantle/storage/tikvkv/tikvfake"
)

// watch is a clock that the test advances.
type watch struct {
	mu  sync.Mutex
	now time.Time
}

func (w *watch) Now() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

func (w *watch) move(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(d)
}

// newWatch returns a watch.
func newWatch() *watch { return &watch{now: time.Unix(1_800_000_000, 0)} }

// read returns the value of a key in the newest state, and the number of timestamps fetched for
// the read.
func read(t *testing.T, c *tikvfake.Cluster, s storage.Store, key string) (value string, times int) {
	t.Helper()
	c.Count()
	r, err := s.Snapshot(t.Context(), 0)
	must(t, err)
	defer r.Close()
	v, err := r.Get(t.Context(), []byte(key), nil)
	if err != nil && !errors.Is(err, storage.ErrNotFound) {
		t.Fatal(err)
	}
	_, times = c.Count()
	return string(v), times
}

// A server that has the store exclusively reads the newest state without a request to the oracle,
// as long as its own clock guarantees that its lease has not expired.
func TestKnownTimes(t *testing.T) {
	c, clock := fake(t), newWatch()
	s := openOn(t, c, Options{Clock: clock.Now, Lease: time.Hour})
	defer s.Close()
	expect := func(what, value string, times int) {
		t.Helper()
		if v, n := read(t, c, s, "a"); v != value || n != times {
			t.Errorf("%s: %q for %d times of the oracle, want %q for %d", what, v, n, value, times)
		}
	}
	for _, value := range []string{"1", "2", "3"} {
		_, err := commit(t, s, set("a", value))
		must(t, err)
		expect("a read after its commit", value, 0)
	}
	clock.move(44 * time.Minute)
	expect("three quarters of the lease have not passed", "3", 0)
	clock.move(time.Minute)
	expect("three quarters of the lease have passed", "3", 1)
	must(t, s.membership.renew(t.Context()))
	expect("the lease is renewed", "3", 0)
	clock.move(-time.Minute)
	expect("the clock went back", "3", 1)
	clock.move(time.Minute)

	before := s.oracle.maxSeenTS.Load()
	tx, err := s.Begin(t.Context(), storage.TxnOptions{})
	must(t, err)
	defer tx.Close()
	if tx.ReadTimestamp() <= timestampOf(before) {
		t.Error("a transaction that writes has a time that others may have")
	}
	c.Count()
	ro, err := s.Begin(t.Context(), storage.TxnOptions{ReadOnly: true})
	must(t, err)
	defer ro.Close()
	if _, n := c.Count(); n != 0 {
		t.Errorf("a transaction that does not write asks the oracle %d times", n)
	}

	unclocked := openOn(t, c, Options{Keyspace: "unclocked", Lease: time.Hour})
	defer unclocked.Close()
	if _, n := read(t, c, unclocked, "a"); n != 1 {
		t.Errorf("without a clock a read asks the oracle %d times", n)
	}
	other := fake(t)
	shared := openMember(t, other, Options{Clock: clock.Now, Lease: time.Hour})
	defer shared.Close()
	if _, n := read(t, other, shared, "a"); n != 1 {
		t.Errorf("one of several asks the oracle %d times", n)
	}
}

// While a commit is undetermined, it may have happened: a read of the newest state then fetches a timestamp from the
// oracle, and so sees the commit.
func TestKnownTimesInDoubt(t *testing.T) {
	c := fake(t)
	s := openOn(t, c, Options{Clock: newWatch().Now, Lease: time.Hour})
	defer s.Close()
	s.limits.commit, s.limits.settle = 50*time.Millisecond, 50*time.Millisecond
	begun := s.newestCommit()
	var away, deaf atomic.Bool
	deaf.Store(true)
	c.SetHook(func(_ context.Context, req *tikvrpc.Request, next func() (*tikvrpc.Response, error)) (*tikvrpc.Response, error) {
		if req.Type == tikvrpc.CmdCommit && !away.Swap(true) {
			_, _ = next()
		}
		if deaf.Load() && away.Load() && (req.Type == tikvrpc.CmdCommit || req.Type == tikvrpc.CmdCheckTxnStatus) {
			return nil, gone
		}
		return next()
	})
	_, err := commit(t, s, func(tx storage.Txn) error {
		return errors.Join(tx.Set([]byte("a"), []byte("1")), tx.AppendLog([]byte("s"), []byte("r")))
	})
	if !errors.Is(err, storage.ErrUndetermined) {
		t.Fatalf("got %v", err)
	}
	if v, n := read(t, c, s, "a"); v != "1" || n != 1 {
		t.Errorf("in doubt: %q for %d times of the oracle", v, n)
	}
	before := s.Latest()
	deaf.Store(false)
	must(t, s.WaitLog(t.Context(), begun))
	c.SetHook(nil)
	if v, _ := read(t, c, s, "a"); v != "1" {
		t.Errorf("settled: %q", v)
	}
	n := 0
	_, err = s.ReadLog(t.Context(), []byte("s"), timestampOf(s.log.tail.floor), func(_, _ storage.Timestamp, _ []byte) bool { n++; return true })
	if n != 1 || err != nil || s.Latest() < before {
		t.Errorf("%d records of what was settled, %v", n, err)
	}
}

// A store has lost its lease if another one had it and gave it back while the first was paused: its state in memory is
// out of date. The test removes the first one's row, as if its lease had expired, and opens and closes a second store.
func TestLostAndRecovered(t *testing.T) {
	c, clock := fake(t), newWatch()
	s := openOn(t, c, Options{Clock: clock.Now, Lease: time.Hour})
	must(t, s.internal.write(t.Context(), nil, [][]byte{s.membership.key()})) // as if the lease had expired
	second := openOn(t, c, Options{ServerName: "second"})
	_, err := commit(t, second, set("a", "2"))
	must(t, err)
	must(t, second.Close())
	clock.move(time.Hour)
	if err := s.membership.renew(t.Context()); !errors.Is(err, storage.ErrLocked) {
		t.Errorf("the lease is renewed: %v", err)
	}
	if _, err := s.Snapshot(t.Context(), 0); !errors.Is(err, storage.ErrUnavailable) {
		t.Errorf("a read: %v", err)
	}
	must(t, s.Close())
}
