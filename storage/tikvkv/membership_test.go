package tikvkv

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tikv/client-go/v2/tikvrpc"

	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/tikvkv/tikvfake"
)

// openMember opens a store as a member.
func openMember(tb *testing.T, c *tikvfake.Cluster, o Options) *sharedStore {
	tb.Helper()
	kv, err := c.Client()
	must(tb, err)
	o.Keyspace, o.Several = "test", true
	s, err := OpenOn(tb.Context(), kv, o)
	must(tb, err)
	if storage.Exclusive(s) {
		tb.Fatal("the store is not one that several use")
	}
	return s.(*sharedStore)
}

// told returns the messages of the members by Member.Name.
func told(t *testing.T, s storage.Shared) map[string]string {
	t.Helper()
	_, list, err := s.Members(t.Context())
	must(t, err)
	out := map[string]string{}
	for _, m := range list {
		out[m.Name] = string(m.Message)
	}
	return out
}

// Several members (stores in this process over a simulated cluster) use a keyspace at the same time and read each
// other's messages. An exclusive server is refused while members live, and refuses members while it lives.
func TestMembers(t *testing.T) {
	c := fake(t)
	a, b := openMember(t, c, Options{ServerName: "a"}), openMember(t, c, Options{ServerName: "b"})
	must(t, a.Publish(t.Context(), []byte("hello")))
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
	if _, err := tryOpen(t, c, Options{ServerName: "alone"}); !errors.Is(err, storage.ErrLocked) || !strings.Contains(err.Error(), "shared by several") {
		t.Errorf("one that wants to be alone: %v", err)
	}
	must(t, a.Close())
	if got := told(t, b); len(got) != 1 {
		t.Errorf("after one has gone the members tell %v", got)
	}
	must(t, b.Close())
	s := openOn(t, c, Options{ServerName: "alone"})
	kv, err := c.Client()
	must(t, err)
	if _, err := OpenOn(t.Context(), kv, Options{Keyspace: "test", Several: true}); !errors.Is(err, storage.ErrLocked) || !strings.Contains(err.Error(), "alone") {
		t.Errorf("a member beside one that is alone: %v", err)
	}
	must(t, kv.Close())
	must(t, s.Close())
}

// A member whose renewals were held up for longer than its lease commits nothing that it began before, and reads what
// its peers have written before it continues.
func TestStalledMember(t *testing.T) {
	c := fake(t)
	a, b := openMember(t, c, Options{ServerName: "a", Lease: time.Second}), openMember(t, c, Options{ServerName: "b"})
	rejoined := make(chan string, 1)
	a.Rejoin(func(ctx context.Context, r storage.Reader) error {
		v, err := r.Get(ctx, []byte("k"), nil)
		select {
		case rejoined <- string(v):
		default: // rejoins again on a slow machine
		}
		if early, err := a.Begin(ctx, storage.TxnOptions{}); err == nil {
			early.Close()
			t.Error("a member begins before it has read what the others did")
		}
		return err
	})
	a.limits.read = 100 * time.Millisecond // timeout of waiting for the lease
	asleep, err := a.Begin(t.Context(), storage.TxnOptions{})
	must(t, err)
	must(t, asleep.Set([]byte("other"), []byte("late")))
	held := make(chan struct{})
	c.SetHook(func(_ context.Context, req *tikvrpc.Request, next func() (*tikvrpc.Response, error)) (*tikvrpc.Response, error) {
		if req.Type == tikvrpc.CmdPrewrite && strings.Contains(string(req.Prewrite().PrimaryLock), string(a.lease.id[:])) {
			<-held // the renewal by a
		}
		return next()
	})
	for len(told(t, b)) > 1 { // until the lease of a has expired
	}
	_, err = commit(t, b, set("k", "by b"))
	must(t, err)
	close(held)
	if got := <-rejoined; got != "by b" {
		t.Errorf("the member that comes back finds %q", got)
	}
	for a.lease.expired(a.oracle.maxSeenTS.Load()) {
		_, err := a.oracle.fetchTS(t.Context())
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

// openAsleep opens a store that gets no PD timestamps while asleep is true. Like a paused
// process, it then renews no lease.
func openAsleep(t *testing.T, c *tikvfake.Cluster, asleep *atomic.Bool, o Options) storage.Store {
	t.Helper()
	kv, err := c.ClientUntil(func() error {
		if asleep.Load() {
			return errors.New("asleep")
		}
		return nil
	})
	must(t, err)
	o.Keyspace, o.Lease = "test", 2*time.Second
	s, err := OpenOn(t.Context(), kv, o)
	must(t, err)
	return s
}

// A member that was paused while an exclusive server took the store does not rejoin beside it.
func TestStalledMemberBesideOwner(t *testing.T) {
	c := fake(t)
	var asleep atomic.Bool
	fatal := make(chan string, 1)
	a := openAsleep(t, c, &asleep, Options{ServerName: "a", Several: true, Fatal: func(why string) { fatal <- why }})
	asleep.Store(true)
	owner, err := tryOpen(t, c, Options{ServerName: "owner"})
	for errors.Is(err, storage.ErrLocked) { // until the lease of a has expired
		owner, err = tryOpen(t, c, Options{ServerName: "owner"})
	}
	must(t, err)
	asleep.Store(false)
	if why := <-fatal; !strings.Contains(why, "taken over") {
		t.Error(why)
	}
	if _, err := a.Snapshot(t.Context(), 0); !errors.Is(err, storage.ErrUnavailable) {
		t.Errorf("the member reads: %v", err)
	}
	_, err = commit(t, owner, set("k", "1"))
	must(t, err)
	must(t, a.Close())
	must(t, owner.Close())
}

// An exclusive server that was paused until members took its store does not return beside them.
func TestStalledOwnerBesideMember(t *testing.T) {
	c := fake(t)
	var asleep atomic.Bool
	fatal := make(chan string, 1)
	owner := openAsleep(t, c, &asleep, Options{ServerName: "owner", Fatal: func(why string) { fatal <- why }})
	asleep.Store(true)
	a := openMember(t, c, Options{ServerName: "a", Lease: 500 * time.Millisecond}) // waits until the owner's lease has expired
	asleep.Store(false)
	<-fatal
	if _, err := owner.Snapshot(t.Context(), 0); !errors.Is(err, storage.ErrUnavailable) {
		t.Errorf("the owner reads: %v", err)
	}
	_, err := commit(t, a, set("k", "1"))
	must(t, err)
	must(t, owner.Close())
	must(t, a.Close())
}
