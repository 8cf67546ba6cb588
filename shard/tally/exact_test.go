package tally_test

import (
	"context"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/cantledb/cantle/collection/shard"
	"github.com/cantledb/cantle/shard/tally"
	"github.com/cantledb/cantle/storage"
)

// history models a store: commits, each of which adds documents to a shard or removes some.
type history struct {
	sync.Mutex
	docs [][2]int64 // of each shard, by timestamp
}

func (h *history) commit(shard int, n int64) storage.Timestamp {
	h.Lock()
	defer h.Unlock()
	var next [2]int64
	if len(h.docs) > 0 {
		next = h.docs[len(h.docs)-1]
	}
	next[shard] += n
	h.docs = append(h.docs, next)
	return storage.Timestamp(len(h.docs))
}

func (h *history) now() (storage.Timestamp, error) {
	h.Lock()
	defer h.Unlock()
	return storage.Timestamp(len(h.docs)), nil
}

func (h *history) at(ts storage.Timestamp) [2]int64 {
	h.Lock()
	defer h.Unlock()
	if ts == 0 {
		return [2]int64{}
	}
	return h.docs[ts-1]
}

// TestExact counts while writers commit and add: each count is that of the state at its time, whatever was
// committed but not yet added, or added since.
func TestExact(t *testing.T) {
	var b tally.Board
	var h history
	c := b.Of(1)
	m := newMap(t, 2)
	ids := []shard.ID{m.Shards()[0].ID, m.Shards()[1].ID}
	var writers sync.WaitGroup
	stop := make(chan struct{})
	for w := range 4 {
		writers.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				shard, n := (w+i)%2, int64(1+w-2*(i%3))
				turn := c.Enter()
				ts := h.commit(shard, n)
				runtime.Gosched() // a count begins between a commit and its addition, not where the scheduler preempts a writer
				c.Shard(ids[shard]).Add(ts, tally.Count{Docs: n})
				c.Leave(turn)
			}
		})
	}
	counted := 0
	for range 20000 {
		var at storage.Timestamp
		docs, ok, err := b.Exact(t.Context(), 1, m, func() (ts storage.Timestamp, err error) {
			at, err = h.now()
			return at, err
		})
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			continue
		}
		counted++
		for i, id := range ids {
			if want := h.at(at)[i]; docs[i] != want {
				t.Fatalf("shard %v at %v has %d documents, want %d", id, at, docs[i], want)
			}
		}
	}
	close(stop)
	writers.Wait()
	if counted == 0 {
		t.Fatal("nothing was counted")
	}
}

// TestNotExact: Exact has no count (ok is false) if a commit does not end, if the outcome of one is undetermined, if
// the data are damaged, if a split is under way, or if the board has no such collection. It has one if nothing happens
// or a commit has failed.
func TestNotExact(t *testing.T) {
	m := newMap(t, 1)
	id := m.Shards()[0].ID
	now := func() (storage.Timestamp, error) { return 5, nil }
	for _, c := range []struct {
		name string
		do   func(b *tally.Board, c *tally.Collection)
		want bool
	}{
		{"nothing happens", func(*tally.Board, *tally.Collection) {}, true},
		{"a commit takes long", func(_ *tally.Board, c *tally.Collection) { c.Enter() }, false},
		{"a commit failed", func(_ *tally.Board, c *tally.Collection) { c.Failed(storage.ErrConflict) }, true},
		{"nobody knows whether a commit happened", func(_ *tally.Board, c *tally.Collection) { c.Failed(storage.ErrUndetermined) }, false},
		{"the data are damaged", func(b *tally.Board, _ *tally.Collection) { b.MarkInDoubt() }, false},
		{"a split is under way", func(_ *tally.Board, c *tally.Collection) {
			c.Divide(tally.Change{Parents: []shard.ID{id}, Children: []shard.ID{7, 8}})
		}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var b tally.Board
				b.Of(1).Shard(id).Add(3, tally.Count{Docs: 2})
				c.do(&b, b.Of(1))
				docs, ok, err := b.Exact(context.Background(), 1, m, now)
				if ok != c.want || err != nil || ok && docs[0] != 2 {
					t.Errorf("%v %v %v", docs, ok, err)
				}
			})
		})
	}
	if _, ok, _ := new(tally.Board).Exact(t.Context(), 1, m, now); ok {
		t.Error("a collection that nobody has heard of was counted")
	}
}

// TestExactAfterLate: a count waits for a commit that outlasted the timeout of an earlier count.
func TestExactAfterLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b tally.Board
		m := newMap(t, 1)
		c, id := b.Of(1), m.Shards()[0].ID
		now := func() (storage.Timestamp, error) { return 5, nil }
		turn := c.Enter()
		for range 3 {
			if docs, ok, _ := b.Exact(t.Context(), 1, m, now); ok {
				t.Fatalf("counted %v while a commit at or before 5 was not added", docs)
			}
		}
		go func() {
			synctest.Wait()
			c.Shard(id).Add(4, tally.Count{Docs: 1})
			c.Leave(turn)
		}()
		if docs, ok, _ := b.Exact(t.Context(), 1, m, now); !ok || docs[0] != 1 {
			t.Errorf("%v %v, want 1", docs, ok)
		}
	})
}

func newMap(t *testing.T, shards int) *shard.Map {
	t.Helper()
	m, err := shard.NewMap(shard.Hashed, 1, shards)
	if err != nil {
		t.Fatal(err)
	}
	return m
}
