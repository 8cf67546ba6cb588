package tikvkv

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/tikv/client-go/v2/tikvrpc"

	"github.com/cantledb/cantle/compat-tests/tikvfake"
	"github.com/cantledb/cantle/storage"
)

// openMember opens a store that several use.
func openMember(tb *testing.T, c *tikvfake.Cluster, o Options) *member {
	tb.Helper()
	kv, err := c.Client()
	must(tb, err)
	o.Keyspace, o.Several = "test", true
	s, err := OpenOn(tb.Context(), kv, o)
	must(tb, err)
	if storage.AsShared(s) == nil {
		tb.Fatal("the store is not one that several use")
	}
	return s.(*member)
}

// told is what the members tell, by what they are called.
func told(t *testing.T, s storage.Shared) map[string]string {
	t.Helper()
	_, list, err := s.Members(t.Context())
	must(t, err)
	out := map[string]string{}
	for _, m := range list {
		out[m.Self] = string(m.Message)
	}
	return out
}

// Several processes have a store at the same time and read what the others tell; one that wants
// to be alone is kept out by them, and keeps them out.
func TestMembers(t *testing.T) {
	c := fake(t)
	a, b := openMember(t, c, Options{Self: "a"}), openMember(t, c, Options{Self: "b"})
	must(t, a.Tell(t.Context(), []byte("hello")))
	if got := told(t, b); len(got) != 2 || got["a"] != "hello" || got["b"] != "" {
		t.Errorf("the members tell %v", got)
	}
	_, err := commit(t, a, set("k", "1"))
	must(t, err)
	r, err := b.Snapshot(t.Context(), 0)
	must(t, err)
	if v, err := r.Get(t.Context(), []byte("k"), nil); string(v) != "1" || err != nil {
		t.Errorf("b reads %s, %v", v, err)
	}
	r.Close()
	if _, err := tryOpen(t, c, Options{Self: "alone"}); !errors.Is(err, storage.ErrLocked) || !strings.Contains(err.Error(), "shared by several") {
		t.Errorf("one that wants to be alone: %v", err)
	}
	must(t, a.Close())
	if got := told(t, b); len(got) != 1 {
		t.Errorf("after one has gone the members tell %v", got)
	}
	must(t, b.Close())
	s := openOn(t, c, Options{Self: "alone"})
	kv, err := c.Client()
	must(t, err)
	if _, err := OpenOn(t.Context(), kv, Options{Keyspace: "test", Several: true}); !errors.Is(err, storage.ErrLocked) || !strings.Contains(err.Error(), "alone") {
		t.Errorf("a member beside one that is alone: %v", err)
	}
	must(t, kv.Close())
	must(t, s.Close())
}

// A member that slept longer than its lease lasts does nothing that it began before, and reads
// what the others did before it does anything else.
func TestMemberAsleep(t *testing.T) {
	c := fake(t)
	a, b := openMember(t, c, Options{Self: "a", Lease: time.Second}), openMember(t, c, Options{Self: "b"})
	rejoined := make(chan string, 1)
	a.Rejoin(func(ctx context.Context, r storage.Reader) error {
		v, err := r.Get(ctx, []byte("k"), nil)
		select {
		case rejoined <- string(v):
		default: // not the first time, on a slow machine
		}
		if early, err := a.Begin(ctx, storage.TxnOptions{}); err == nil {
			early.Close()
			t.Error("a member begins before it has read what the others did")
		}
		return err
	})
	a.limits.read = 100 * time.Millisecond // how long a reader waits for the lease
	asleep, err := a.Begin(t.Context(), storage.TxnOptions{})
	must(t, err)
	must(t, asleep.Set([]byte("other"), []byte("late")))
	held := make(chan struct{})
	c.SetHook(func(_ context.Context, req *tikvrpc.Request, next func() (*tikvrpc.Response, error)) (*tikvrpc.Response, error) {
		if req.Type == tikvrpc.CmdPrewrite && strings.Contains(string(req.Prewrite().PrimaryLock), string(a.lease.id[:])) {
			<-held // the renewal of a
		}
		return next()
	})
	for len(told(t, b)) > 1 { // until the lease of a is over
	}
	_, err = commit(t, b, set("k", "by b"))
	must(t, err)
	close(held)
	if got := <-rejoined; got != "by b" {
		t.Errorf("the member that comes back finds %q", got)
	}
	for a.lease.over(a.met.Load()) {
		_, err := a.ask(t.Context())
		must(t, err)
	}
	if _, err := asleep.Commit(t.Context(), storage.Synced); err == nil {
		t.Error("a member commits what it began before its lease was over")
	}
	_, err = commit(t, a, set("k", "by a"))
	must(t, err)
	must(t, a.Close())
	must(t, b.Close())
}
