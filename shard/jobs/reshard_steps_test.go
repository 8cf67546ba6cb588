package jobs_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/plan"
	"github.com/cantledb/cantle/shard/ddl"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/keyspace"
)

// reshardSteps are the steps of a reshard, in order; a test ends the process at each.
var reshardSteps = []string{"begun", "copying", "copied", "applied", "blocked", "ready"}

// errKilled simulates the end of the process.
var errKilled = errors.New("killed")

// killedAt runs fn, and ends it by a panic when a job comes to the step, which stands for the end of the process. It
// then returns errKilled, else the error of fn.
func (n *node) killedAt(step string, fn func() error) (err error) {
	defer func() {
		if r := recover(); r == errKilled {
			err = errKilled
		} else if r != nil {
			panic(r)
		}
	}()
	n.jobs.OnStep(func(at string) {
		if at == step {
			panic(errKilled)
		}
	})
	return fn()
}

// A process that ends at any step of a reshard or a refinement leaves the collection with its old key; without an end
// it has the new key. Every document is there, and no key of another copy is left after DeleteRecorded.
func TestReshardCrash(t *testing.T) {
	layouts(t, func(t *testing.T, open func() *node) {
		for _, step := range append(reshardSteps, "") {
			for name, change := range map[string]func(n *node) error{
				"reshard": func(n *node) error {
					return n.ReshardCollection(n.op(), shop, ddl.ShardOptions{Key: bsontest.Doc(t, `{a: 1, k: 1}`)})
				},
				"reshard hashed": func(n *node) error {
					return n.ReshardCollection(n.op(), shop, ddl.ShardOptions{Key: bsontest.Doc(t, `{a: "hashed"}`), Shards: 3})
				},
				"refine": func(n *node) error {
					b := bson.NewBuilder(nil)
					b.Splice(n.coll().Key.Spec().Elements())
					b.Int32("u", 1)
					return n.RefineShardKey(n.op(), shop, b.Doc())
				},
			} {
				t.Run(step+" "+name, func(t *testing.T) {
					n := open()
					n.sharded(3)
					_, err := n.DropIndexes(n.op(), shop, []string{"u"}, nil) // may not stay unique under the new key
					n.must(err)
					n.fill(0, 600)
					old := n.coll()
					err = n.killedAt(step, func() error { return change(n) })
					if (err == nil) != (step == "") || err != nil && !errors.Is(err, errKilled) {
						t.Fatal(err)
					}
					n = n.reopen()
					if got := n.check(`{}`); got != 600 {
						t.Fatalf("%d documents", got)
					}
					if now := n.coll(); (now.ID == old.ID) != (step != "") || now.Frozen {
						t.Fatalf("%v, was %v", now.Key, old.Key)
					}
					n.exact()
					n.fill(600, 700)
					n.must(n.jobs.DeleteRecorded(t.Context()))
					for id := keyspace.CollectionID(1); id < 10; id++ {
						if k := n.keys(keyspace.RecordRange(id)) + n.keys(keyspace.CollectionIndexRange(id)); (k > 0) != (id == n.coll().ID) {
							t.Fatalf("collection %d has %d keys", id, k)
						}
					}
					n.must(n.jobs.Resume(t.Context()))
					if n.check(`{}`) != 700 {
						t.Fatal("documents lost")
					}
					n.exact()
				})
			}
		}
	})
}

// Documents are inserted, changed, moved and deleted while a reshard copies their collection. At the steps copied and
// applied these writes do not wait for the reshard. With the new key the documents are found in their final state, and
// a cursor that was opened before finds its documents.
func TestReshardUnderLoad(t *testing.T) {
	layouts(t, func(t *testing.T, open func() *node) {
		n := open()
		n.sharded(2)
		_, err := n.DropIndexes(n.op(), shop, []string{"u"}, nil)
		n.must(err)
		n.fill(0, 2000)
		var writes atomic.Int64
		steps := map[string]int64{}
		n.jobs.OnStep(func(step string) {
			switch step {
			case "copied", "applied":
				// Each of these would wait forever if writers were blocked.
				n.fill(10_000+len(steps)*100, 10_000+len(steps)*100+50)
				n.remove(fmt.Sprintf(`{_id: {$gte: %d, $lt: %d}}`, len(steps)*10, len(steps)*10+10), true)
				if _, err := n.set(`{a: 3}`, `{$set: {a: 90}}`, true); err != nil {
					t.Error(err)
				}
				if _, err := n.set(`{a: 4, _id: {$lt: 1000}}`, `{$inc: {u: 1}}`, true); err != nil {
					t.Error(err)
				}
			}
			steps[step] = writes.Load()
		})
		var stop atomic.Bool
		var wg sync.WaitGroup
		models := [2]map[int]bool{{}, {}}
		for w := range models {
			wg.Add(1)
			go func() {
				defer wg.Done()
				n.writer(w, models[w], &stop)
				writes.Add(1)
			}()
		}
		o := n.op()
		cursor, err := n.Find(o, shop, plan.Find{})
		n.must(err)
		n.must(n.ReshardCollection(n.op(), shop, ddl.ShardOptions{Key: bsontest.Doc(t, `{a: 1, u: 1}`)}))
		stop.Store(true)
		wg.Wait()
		want := 2000 + 100 - 20 + len(models[0]) + len(models[1])
		if got := n.check(`{}`); got != want || len(steps) != len(reshardSteps) {
			t.Fatalf("%d documents, want %d; steps %v", got, want, steps)
		}
		if got := n.check(`{a: 3, _id: {$lt: 10000}}`); got != 0 {
			t.Fatalf("%d documents kept their old value", got)
		}
		n.exact()
		seen := 0
		for row, err := cursor.Next(o.Env); row != nil || err != nil; row, err = cursor.Next(o.Env) {
			n.must(err)
			seen++
		}
		cursor.Close()
		if seen < 2000 {
			t.Fatalf("the cursor found %d documents", seen)
		}
		n = n.reopen()
		n.exact()
	})
}

// Unique values move from document to document while shardCollection copies their collection; each document ends with
// its last values.
func TestReshardUniqueValuesWander(t *testing.T) {
	engines(t, func(t *testing.T, make func() storage.Store) {
		n := open(t, make)
		n.fill(0, 500)
		_, err := n.index(`{key: {k: 1, u: 1}, name: "ku", unique: true}`)
		n.must(err)
		value := map[int]int{}
		for i := range 500 {
			value[i] = i
		}
		swap := func(a, b int) {
			value[a], value[b] = value[b], value[a]
			for _, x := range [][2]int{{a, -1}, {b, value[b]}, {a, value[a]}} {
				if _, err := n.set(fmt.Sprintf(`{_id: %d}`, x[0]), fmt.Sprintf(`{$set: {k: %d, u: %d}}`, x[1], x[1]), false); err != nil {
					t.Error(err)
				}
			}
		}
		n.jobs.OnStep(func(step string) {
			if step == "copied" || step == "applied" {
				for i := range 200 {
					swap(i, i+200)
				}
				for i := range 3 { // in a cycle
					swap(i, i+1)
				}
			}
		})
		n.must(n.ShardCollection(n.op(), shop, ddl.ShardOptions{Key: bsontest.Doc(t, `{k: 1}`)}))
		if n.check(`{}`) != 500 {
			t.Fatal("documents lost")
		}
		for id, k := range value {
			if n.check(fmt.Sprintf(`{_id: %d, k: %d, u: %d}`, id, k, k)) != 1 {
				t.Fatalf("_id %d has not %d", id, k)
			}
		}
		n.exact()
	})
}

// A document with an array in the new key, or a second document with the same _id, ends a reshard with an error and
// leaves everything unchanged; so does AbortReshard. A drop of the collection ends the reshard too.
func TestReshardEnds(t *testing.T) {
	layouts(t, func(t *testing.T, open func() *node) {
		for name, test := range map[string]struct {
			at   func(n *node)
			want int
		}{
			"array":   {func(n *node) { n.insert(`{_id: "x", k: 1, z: [1]}`) }, 61},
			"twice":   {func(n *node) { n.insert(`{_id: 1, k: 77, z: 1}`, `{_id: 1, k: 78, z: 1}`) }, 11000},
			"abort":   {func(n *node) { go n.AbortReshard(context.Background(), shop) }, 341},
			"dropped": {func(n *node) { n.Drop(n.op(), shop) }, 26},
		} {
			t.Run(name, func(t *testing.T) {
				n := open()
				n.sharded(2)
				_, err := n.DropIndexes(n.op(), shop, []string{"u"}, nil)
				n.must(err)
				n.fill(0, 300)
				old := n.coll()
				n.jobs.OnStep(func(step string) {
					if step == "copied" {
						test.at(n)
					}
					if step == "applied" && name == "abort" {
						for n.jobs.Resharding(old.ID) && !n.jobs.Settled(old.ID) {
						}
					}
				})
				if err := n.ReshardCollection(n.op(), shop, ddl.ShardOptions{Key: bsontest.Doc(t, `{z: 1}`)}); int(mongoerr.CodeOf(err)) != test.want {
					t.Fatal(err)
				}
				n.jobs.OnStep(nil)
				if name == "dropped" {
					return
				}
				if now := n.coll(); now.ID != old.ID || now.Frozen {
					t.Fatalf("%+v", now)
				}
				n.fill(500, 510)
				n.exact()
				if err := n.AbortReshard(t.Context(), shop); mongoerr.CodeOf(err) != 339 {
					t.Fatal(err)
				}
			})
		}
	})
}
