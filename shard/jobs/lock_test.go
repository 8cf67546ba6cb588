package jobs_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/shard/ddl"
	"github.com/cantledb/cantle/storage"
)

// At the step copied of a reshard, a command that changes the collection fails with the error 117, after a wait of at
// most LockWait, and another rewriting fails with 338. CreateIndexes of an index that exists succeeds, because it
// changes nothing. The test checks the codes, not the times.
func TestReshardRefusesOtherChanges(t *testing.T) {
	layouts(t, func(t *testing.T, open func() *node) {
		n := open()
		n.sharded(2)
		_, err := n.DropIndexes(n.op(), shop, []string{"u"}, nil)
		n.must(err)
		n.fill(0, 300)
		n.jobs.LockWait = 10 * time.Millisecond
		codes := map[string]int{}
		n.jobs.OnStep(func(step string) {
			if step != "copied" {
				return
			}
			for name, ask := range map[string]func() error{
				"new index": func() error { _, err := n.index(`{key: {u: 1}, name: "late"}`); return err },
				"old index": func() error { _, err := n.index(`{key: {a: 1}, name: "a"}`); return err },
				"split":     func() error { return n.splitMiddle(n.coll().Map.Shards()[0].ID) },
				"merge": func() error {
					s := n.coll().Map.Shards()
					return n.jobs.Merge(t.Context(), shop, s[0].ID, s[1].ID)
				},
				"move": func() error { return n.jobs.Move(t.Context(), shop, n.coll().Map.Shards()[0].ID, 77) },
				"reshard": func() error {
					return n.ReshardCollection(n.op(), shop, ddl.ShardOptions{Key: bsontest.Doc(t, `{u: 1}`)})
				},
				"unshard": func() error { return n.UnshardCollection(n.op(), shop, 0) },
				"cleanup": func() error { return n.CleanupReshard(t.Context(), shop) },
			} {
				codes[name] = int(mongoerr.CodeOf(ask()))
			}
		})
		n.must(n.ReshardCollection(n.op(), shop, ddl.ShardOptions{Key: bsontest.Doc(t, `{a: 1, u: 1}`)}))
		for name, want := range map[string]int{"new index": 117, "old index": 0, "split": 117, "merge": 117, "move": 117, "reshard": 338, "unshard": 338, "cleanup": 338} {
			if got, asked := codes[name]; got != want || !asked {
				t.Errorf("%s: %d, want %d", name, got, want)
			}
		}
		n.exact()
	})
}

// createIndexes and a move of a shard that wait for a reshard to end change the new collection afterwards.
func TestWaitersSeeTheNewCollection(t *testing.T) {
	layoutsOn(t, virtually, func(t *testing.T, open func() *node) {
		n := open()
		n.sharded(2)
		_, err := n.DropIndexes(n.op(), shop, []string{"u"}, nil)
		n.must(err)
		n.fill(0, 300)
		n.jobs.LockWait = time.Minute
		old := n.coll()
		waiters := map[string]chan error{}
		n.jobs.OnStep(func(step string) {
			if step != "blocked" {
				return
			}
			for name, ask := range map[string]func() error{
				"index": func() error { _, err := n.index(`{key: {u: 1}, name: "late"}`); return err },
				"move":  func() error { return n.jobs.Move(t.Context(), shop, 0, 77) },
			} {
				c := make(chan error, 1)
				waiters[name] = c
				go func() { c <- ask() }()
			}
			synctest.Wait() // until the commands wait
		})
		n.must(n.ReshardCollection(n.op(), shop, ddl.ShardOptions{Key: bsontest.Doc(t, `{a: 1, u: 1}`)}))
		for name, c := range waiters {
			if err := <-c; err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		if now := n.coll(); now.ID == old.ID || now.Index("late") == nil || now.Map.Shard(77) == nil || len(waiters) != 2 {
			t.Fatalf("%+v", now)
		}
		if n.check(`{}`) != 300 {
			t.Fatal("documents lost")
		}
		n.exact()
	})
}

// A repetition of a running reshardCollection joins it, and returns the same result: none, or the error 341 of an
// abort.
func TestSameCommandJoinsReshard(t *testing.T) {
	for _, aborted := range []bool{false, true} {
		layoutsOn(t, virtually, func(t *testing.T, open func() *node) {
			n := open()
			n.sharded(2)
			_, err := n.DropIndexes(n.op(), shop, []string{"u"}, nil)
			n.must(err)
			n.fill(0, 300)
			old := n.coll()
			again := make(chan error, 2)
			reshard := func() error {
				return n.ReshardCollection(n.op(), shop, ddl.ShardOptions{Key: bsontest.Doc(t, `{a: 1, u: 1}`)})
			}
			n.jobs.OnStep(func(step string) {
				if step != "copied" {
					return
				}
				go func() { again <- reshard() }()
				synctest.Wait() // until the repetition waits
				if aborted {
					go func() { again <- n.jobs.AbortReshard(t.Context(), old.ID) }()
					synctest.Wait()
				}
			})
			want, ends := 0, []int{0}
			if aborted {
				want, ends = 341, []int{0, 341} // of AbortReshard and the joined command
			}
			if got := int(mongoerr.CodeOf(reshard())); got != want {
				t.Errorf("%d, want %d", got, want)
			}
			n.jobs.OnStep(nil)
			got := make([]int, len(ends))
			for i := range got {
				got[i] = int(mongoerr.CodeOf(<-again))
			}
			if slices.Sort(got); !slices.Equal(got, ends) {
				t.Errorf("again: %v, want %v", got, ends)
			}
			if now := n.coll(); (now.ID == old.ID) != aborted {
				t.Errorf("%v, was %v", now.Key, old.Key)
			}
			n.exact()
		})
	}
}

// A partition that gets another number keeps its documents and counts, also across a restart; so does one
// that gets its old number back.
func TestMove(t *testing.T) {
	engines(t, func(t *testing.T, make func() storage.Store) {
		n := open(t, make)
		n.fill(0, 200)
		_, err := n.index(`{key: {a: 1}, name: "a"}`)
		n.must(err)
		n.must(n.MoveCollection(n.op(), shop, 5))
		n.fill(200, 250)
		n.exact()
		n.must(n.jobs.Checkpoint(t.Context()))
		n = n.reopen()
		n.exact()
		n.must(n.MoveCollection(n.op(), shop, 0))
		n.remove(`{_id: {$lt: 50}}`, true)
		n = n.reopen()
		n.exact()
		if d := n.coll().Map.Shards()[0]; d.ID != 0 || n.check(`{}`) != 200 {
			t.Fatalf("%+v", d)
		}
		if err := n.MoveCollection(n.op(), shop, 0); err != nil {
			t.Fatal(err)
		}
		n.must(n.ShardCollection(n.op(), shop, ddl.ShardOptions{Key: bsontest.Doc(t, `{k: 1}`)}))
		if err := n.MoveCollection(n.op(), shop, 9); mongoerr.CodeOf(err) != 20 {
			t.Fatal(err)
		}
		n.must(n.splitMiddle(0))
		a, b := n.coll().Map.Shards()[0].ID, n.coll().Map.Shards()[1].ID
		if err := n.jobs.Move(t.Context(), shop, a, b); mongoerr.CodeOf(err) != 2 {
			t.Fatal(err)
		}
		n.must(n.jobs.Move(t.Context(), shop, a, 100))
		n.must(n.splitMiddle(100))
		n.fill(0, 50)
		n.exact()
		n = n.reopen()
		if n.exact(); n.check(`{}`) != 250 {
			t.Fatal("documents lost")
		}
	})
}

// If shardCollection or convertToCapped panics while writers are blocked, and the server continues, then no writer goes
// on waiting, and the command can be repeated.
func TestPanicsLetWritersGoOn(t *testing.T) {
	engines(t, func(t *testing.T, make func() storage.Store) {
		for step, change := range map[string]func(n *node) error{
			"blocked": func(n *node) error {
				return n.ShardCollection(n.op(), shop, ddl.ShardOptions{Key: bsontest.Doc(t, `{k: 1}`)})
			},
			"capped frozen": func(n *node) error { return n.ConvertToCapped(n.op(), shop, 1<<20) },
			"capped copied": func(n *node) error { return n.ConvertToCapped(n.op(), shop, 1<<20) },
		} {
			t.Run(step, func(t *testing.T) {
				n := open(t, make)
				n.fill(0, 100)
				if err := n.killedAt(step, func() error { return change(n) }); err != errKilled {
					t.Fatal(err)
				}
				n.jobs.OnStep(nil)
				if n.coll().Frozen {
					t.Fatal("writers wait for ever")
				}
				n.fill(100, 110)
				n.must(change(n))
				if n.check(`{}`) != 110 {
					t.Fatal("documents lost")
				}
			})
		}
	})
}
