package peers_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/shard/peers"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/keyspace"
	"github.com/cantledb/cantle/storage/memkv"
)

// cluster holds several servers over one store.
type cluster struct {
	t     *testing.T
	store storage.Store
	runs  sync.WaitGroup
	mu    sync.Mutex
	alive []*member
}

// member is the store of one server.
type member struct {
	storage.Store
	*cluster
	id       storage.MemberID
	calls    *peers.Calls
	failures []error
}

func (m *member) Member() storage.MemberID                           { return m.id }
func (m *member) Publish(context.Context, []byte) error              { return nil }
func (m *member) SetDescription(func() []byte)                       {}
func (m *member) Collect(context.Context) error                      { return nil }
func (m *member) Rejoin(func(context.Context, storage.Reader) error) {}
func (m *member) name() string                                       { return fmt.Sprint("host", m.id[0]) }
func (m *member) Members(ctx context.Context) (now storage.Timestamp, list []storage.Member, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, o := range m.alive {
		list = append(list, storage.Member{ID: o.id, Name: o.name()})
	}
	now, err = m.Now(ctx)
	return now, list, err
}

// follow checks a topic for changes every few milliseconds.
func (m *member) follow(topic string, load func(ctx context.Context, r storage.Reader) error) {
	ctx := m.t.Context()
	m.runs.Go(func() {
		seen := ""
		for ctx.Err() == nil {
			r, err := m.Snapshot(ctx, 0)
			if err != nil {
				return
			}
			if v, err := r.Get(ctx, keyspace.TopicKey(topic), nil); err == nil && string(v) != seen {
				seen = string(v)
				if err := load(ctx, r); err != nil {
					m.t.Error(err)
				}
			}
			r.Close()
			time.Sleep(2 * time.Millisecond)
		}
	})
}

func newCluster(t *testing.T, n int) *cluster {
	c := &cluster{t: t, store: memkv.Open(memkv.Options{})}
	t.Cleanup(func() {
		c.runs.Wait()
		c.store.Close()
	})
	for i := range n {
		m := &member{Store: c.store, cluster: c, id: storage.MemberID{byte(i + 1)}}
		m.calls = peers.NewCalls(peers.CallsConfig{Store: m, Follow: m.follow, Name: func(o storage.Member) string { return o.Name },
			Failed: func(err error) {
				c.mu.Lock()
				defer c.mu.Unlock()
				m.failures = append(m.failures, err)
			}})
		m.calls.Handle("double", func(_ context.Context, body []byte) ([]byte, error) {
			return slices.Concat([]byte(m.name()), []byte(": "), body, body), nil
		})
		c.runs.Go(func() { m.calls.Run(t.Context()) })
		c.alive = append(c.alive, m)
	}
	return c
}

// rows returns the number of stored rows.
func (c *cluster) rows() (n int) {
	r, err := c.store.Snapshot(c.t.Context(), 0)
	if err != nil {
		c.t.Fatal(err)
	}
	defer r.Close()
	it, err := r.Iter(c.t.Context(), keyspace.MetaRange(keyspace.MetaSurvey), storage.IterOptions{})
	if err != nil {
		c.t.Fatal(err)
	}
	defer it.Close()
	for it.Next() {
		n++
	}
	return n
}

func (m *member) call(kind, body string) (answers, unreachable []string) {
	m.t.Helper()
	list, unreachable, err := m.calls.Call(m.t.Context(), kind, []byte(body))
	if err != nil {
		m.t.Error(err)
	}
	for _, a := range list {
		answers = append(answers, a.Host+" says "+string(a.Body))
	}
	slices.Sort(answers)
	return answers, unreachable
}

func TestCall(t *testing.T) { synctest.Test(t, testCall) }

func testCall(t *testing.T) {
	c := newCluster(t, 3)
	var all sync.WaitGroup
	for i, m := range c.alive { // several at once, each more than once
		for k := range 4 {
			all.Go(func() {
				answers, unreachable := m.call("double", fmt.Sprint(k))
				var want []string
				for o := range 3 {
					if o != i {
						want = append(want, fmt.Sprintf("host%d says host%d: %d%d", o+1, o+1, k, k))
					}
				}
				if !slices.Equal(answers, want) || unreachable != nil {
					t.Errorf("%v, unreachable: %v; wanted %v", answers, unreachable, want)
				}
			})
		}
	}
	all.Wait()
	if n := c.rows(); n != 0 {
		t.Errorf("%d rows are left", n)
	}
}

// A peer that is called and does not answer, or fails, is listed as unreachable; a dead peer is not called.
func TestUnreachable(t *testing.T) { synctest.Test(t, testUnreachable) }

func testUnreachable(t *testing.T) {
	c := newCluster(t, 2)
	asleep := &member{Store: c.store, cluster: c, id: storage.MemberID{9}}
	c.mu.Lock()
	c.alive = append(c.alive, asleep)
	c.mu.Unlock()
	answers, unreachable := c.alive[0].call("double", "x")
	if !slices.Equal(answers, []string{"host2 says host2: xx"}) || !slices.Equal(unreachable, []string{"host9"}) {
		t.Errorf("%v, unreachable: %v", answers, unreachable)
	}
	c.mu.Lock()
	c.alive = c.alive[:2]
	c.mu.Unlock()
	c.alive[1].calls.Handle("broken", func(context.Context, []byte) ([]byte, error) { return nil, errors.New("no idea") })
	c.alive[1].calls.Handle("large", func(context.Context, []byte) ([]byte, error) { return make([]byte, 5<<20), nil })
	for kind, why := range map[string]string{"broken": "no idea", "large": "at most", "unknown": "does not know"} {
		if answers, unreachable := c.alive[0].call(kind, ""); answers != nil || !slices.Equal(unreachable, []string{"host2"}) {
			t.Errorf("%s: %v, unreachable: %v", kind, answers, unreachable)
		}
		c.mu.Lock()
		if e := c.alive[0].failures; len(e) != 1 || !strings.Contains(e[0].Error(), why) {
			t.Errorf("%s: the log has %v", kind, e)
		}
		c.alive[0].failures = nil
		c.mu.Unlock()
	}
	c.mu.Lock()
	c.alive = c.alive[:1]
	c.mu.Unlock()
	if answers, unreachable := c.alive[0].call("double", "x"); answers != nil || unreachable != nil {
		t.Errorf("alone: %v, unreachable: %v", answers, unreachable)
	}
	if n := c.rows(); n != 0 {
		t.Errorf("%d rows are left", n)
	}
}

// A server that has the store exclusively calls no peer, owns each job, and has all of each budget, without a
// row in the store.
func TestClusterOfOne(t *testing.T) {
	store := memkv.Open(memkv.Options{})
	defer store.Close()
	before := store.Latest()
	c := peers.NewCalls(peers.CallsConfig{Store: store, Follow: func(string, func(context.Context, storage.Reader) error) {}})
	c.Handle("x", nil)
	if answers, unreachable, err := c.Call(t.Context(), "x", nil); answers != nil || unreachable != nil || err != nil {
		t.Error(answers, unreachable, err)
	}
	o := peers.NewOwners(store)
	acquire(t, o, true)
	for _, err := range []error{o.Guard("other"), o.Release(t.Context(), "j"), o.ReleasePending(t.Context()), o.ReleaseAll(t.Context())} {
		if err != nil {
			t.Error(err)
		}
	}
	if jobs, err := o.List(t.Context(), ""); err != nil || len(jobs) > 0 {
		t.Errorf("rows of jobs: %v, %v", jobs, err)
	}
	b := &ratelimit.Budgets{}
	if _, err := peers.NewDivider(t.Context(), peers.DividerConfig{Store: store, Budgets: b, Now: time.Now}); err != nil || b.Servers() > 1 {
		t.Errorf("%d servers, %v", b.Servers(), err)
	}
	if store.Latest() != before {
		t.Error("something was written")
	}
}
