package jobs_test

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/plan"
	"github.com/cantledb/cantle/collection/shard"
	"github.com/cantledb/cantle/shard/balance"
	"github.com/cantledb/cantle/shard/cluster"
	"github.com/cantledb/cantle/shard/ddl"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/keyspace"
)

// layouts runs a test as engines does, under a hashed and a ranged shard key.
func layouts(t *testing.T, fn func(t *testing.T, open func() *node)) {
	layoutsOn(t, engines, fn)
}

// layoutsOn is layouts with the stores of on, which is engines or virtually.
func layoutsOn(t *testing.T, on func(*testing.T, func(*testing.T, func() storage.Store)), fn func(t *testing.T, open func() *node)) {
	for name, key := range map[string]string{"hashed": `{k: "hashed"}`, "ranged": `{k: 1}`} {
		t.Run(name, func(t *testing.T) {
			on(t, func(t *testing.T, make func() storage.Store) {
				fn(t, func() *node {
					n := open(t, make)
					n.key = key
					return n
				})
			})
		})
	}
}

// sharded creates the collection with a shard key on k, some shards, and an index of each kind: plain, unique,
// multikey.
func (n *node) sharded(shards int) {
	n.t.Helper()
	key := cmp.Or(n.key, `{k: "hashed"}`)
	n.must(n.ShardCollection(n.op(), shop, ddl.ShardOptions{Key: bsontest.Doc(n.t, key), Shards: shards}))
	_, err := n.index(`{key: {a: 1}, name: "a"}`, `{key: {k: 1, u: -1}, name: "u", unique: true}`, `{key: {tags: 1}, name: "tags"}`)
	n.must(err)
	for i := n.coll().Map.Len(); i < shards; i++ {
		at := n.coll().Key.Prefix(bsontest.Doc(n.t, fmt.Sprintf(`{k: %d}`, 100*i)).Get("k"))
		n.must(n.jobs.Split(n.t.Context(), shop, n.coll().Map.FindPosition(at).ID, at))
	}
}

// halve returns a function that divides a shard of a map at the shard's median shard key, an empty one at k: 4.
func (n *node) halve(id shard.ID) func(m *shard.Map) (*shard.Map, error) {
	return func(m *shard.Map) (*shard.Map, error) {
		coll := n.coll()
		at, ok, err := balance.SplitPoint(n.t.Context(), n.jobs, coll, m.Shard(id))
		if !ok && err == nil {
			at, ok = coll.Key.Prefix(bsontest.Doc(n.t, `{k: 4}`).Get("k")), true // no documents yet
		}
		if err != nil || !ok {
			n.t.Fatal("no split point", err)
		}
		return m.Split(id, at)
	}
}

// splitMiddle splits a shard at its median shard key.
func (n *node) splitMiddle(id shard.ID) error {
	m, err := n.halve(id)(n.coll().Map)
	if err != nil {
		return err
	}
	parts := m.Shards()
	return n.jobs.Split(n.t.Context(), shop, id, parts[slices.IndexFunc(parts, func(d *shard.Descriptor) bool { return n.coll().Map.Shard(d.ID) == nil })+1].Lo)
}

func TestSplitAndMerge(t *testing.T) {
	layouts(t, func(t *testing.T, open func() *node) {
		n := open()
		n.sharded(1)
		n.fill(0, 500)
		n.must(n.splitMiddle(0))
		n.check(`{}`)
		n.exact()
		if m := n.coll().Map; m.Len() != 2 || !m.Shard(1).Settled() || !m.Shard(2).Settled() {
			t.Fatalf("%v", m.Version())
		}
		n.fill(500, 600)
		n.must(n.splitMiddle(2))
		n.exact()
		n.must(n.jobs.Merge(t.Context(), shop, 1, 3))
		if n.check(`{}`) != 600 {
			t.Fatal("documents lost")
		}
		n.exact()
		// Nothing is left behind in partitions that no shard uses.
		used, all := 0, n.keys(keyspace.CollectionIndexRange(n.coll().ID))
		for _, p := range n.coll().Map.Partitions() {
			for _, ix := range n.coll().Indexes {
				used += n.keys(keyspace.PartitionRange(n.coll().ID, ix.ID, p))
			}
		}
		if want := 600 * len(n.coll().Indexes); used != all || all != want {
			t.Fatalf("%d entries, %d in use, want %d", all, used, want)
		}
		if err := n.jobs.Split(t.Context(), shop, 99, shard.HashPosition(5)); err == nil {
			t.Fatal("an unknown shard was split")
		}
		n.exact()
	})
}

// Three writers and a reader run while shards split and merge: in each snapshot that the reader compares, the indexes
// and the scan agree, and in the end no document is lost or found twice.
func TestSplitWhileInUse(t *testing.T) {
	layouts(t, func(t *testing.T, open func() *node) {
		n := open()
		n.sharded(1)
		n.fill(0, 300)
		var stop atomic.Bool
		var wg sync.WaitGroup
		models := [3]map[int]bool{}
		for w := range models {
			models[w] = map[int]bool{}
			wg.Add(1)
			go func() {
				defer wg.Done()
				n.writer(w, models[w], &stop)
			}()
		}
		compared, gone := make(chan bool, 8), make(chan bool) // as many as there are splits
		go func() {
			defer close(gone)
			for !stop.Load() {
				n.compare()
				select {
				case compared <- true:
				default:
				}
			}
		}()
		rng := rand.New(rand.NewPCG(1, 2))
		for range 8 {
			select { // a reader must have compared before, however busy the machine is
			case <-compared:
			case <-gone:
				t.Fatal("the reader has failed")
			}
			shards := n.coll().Map.Shards()
			if i := rng.IntN(len(shards)); len(shards) > 3 && i+1 < len(shards) {
				n.must(n.jobs.Merge(t.Context(), shop, shards[i].ID, shards[i+1].ID))
			} else {
				n.must(n.splitMiddle(shards[i].ID))
			}
		}
		stop.Store(true)
		wg.Wait()
		<-gone
		total := 300
		for _, m := range models {
			total += len(m)
		}
		if got := n.check(`{}`); got != total {
			t.Fatalf("%d documents, want %d", got, total)
		}
		n.exact()
	})
}

// writer inserts, updates and deletes documents of its own, and records which exist in model.
func (n *node) writer(w int, model map[int]bool, stop *atomic.Bool) {
	rng := rand.New(rand.NewPCG(uint64(w), 7))
	for !stop.Load() {
		id := (w+1)*100_000 + rng.IntN(200)
		filter := plan.Find{Filter: bsontest.Doc(n.t, fmt.Sprintf(`{_id: %d, k: %d}`, id, id))}
		switch {
		case !model[id]:
			doc := bsontest.Doc(n.t, fmt.Sprintf(`{_id: %d, k: %d, a: %d, u: %d, tags: [%d, %d]}`, id, id, rng.IntN(9), rng.IntN(9), rng.IntN(3), rng.IntN(3)))
			_, errs, err := n.Insert(n.op(), shop, []bson.Raw{doc}, true)
			if err != nil || len(errs) > 0 {
				n.t.Error(err, errs)
				return
			}
			model[id] = true
		case rng.IntN(2) == 0:
			r, err := n.Modify(n.op(), shop, &cluster.Modify{Find: filter})
			if err != nil || r.Changed != 1 {
				n.t.Error(r, err)
				return
			}
			delete(model, id)
		default:
			// The type changes too, so that only type bits differ at times.
			r, err := n.set(fmt.Sprintf(`{_id: %d, k: %d}`, id, id), fmt.Sprintf(`{$set: {a: {$numberDouble: "%d"}, tags: [%d]}}`, rng.IntN(9), rng.IntN(3)), false)
			if err != nil || r.Matched != 1 {
				n.t.Error(r, err)
				return
			}
		}
	}
}

// compare reads all documents through every index, and without an index, at the same snapshot, and requires the same
// result, unless the shard map changes meanwhile.
func (n *node) compare() {
	o := n.op()
	txn, err := n.BeginTxn(o)
	if err != nil {
		n.t.Error(err)
		return
	}
	defer txn.Store.Close()
	o.Txn = txn
	want, err := n.ids(o, `{}`, "")
	if overtaken(err) {
		return
	}
	if err != nil {
		n.t.Error(err)
		return
	}
	for _, hint := range []string{"a", "u", "tags", "_id_"} {
		got, err := n.ids(o, `{}`, hint)
		if overtaken(err) {
			return
		}
		if err != nil || !maps.Equal(got, want) {
			n.t.Errorf("index %s: %d of %d documents at %v: %v", hint, len(got), len(want), txn.Store.ReadTimestamp(), err)
		}
	}
}

// overtaken reports whether a transaction failed because the shard map changed; its client begins
// again.
func overtaken(err error) bool {
	return err != nil && mongoerr.From(err).Code == mongoerr.SnapshotUnavailable
}

// A cursor opened before a split finds every document once, although documents are deleted and inserted again while it
// is open.
func TestCursorOverSplit(t *testing.T) {
	layouts(t, func(t *testing.T, open func() *node) {
		n := open()
		n.sharded(2)
		n.fill(0, 400)
		for _, sort := range []string{`{}`, `{a: 1}`, `{k: 1, u: -1}`} {
			o := n.op()
			s, err := n.Find(o, shop, plan.Find{Sort: bsontest.Doc(t, sort)})
			n.must(err)
			seen := map[string]int{}
			for i := 0; ; i++ {
				row, err := s.Next(o.Env)
				n.must(err)
				if row == nil {
					break
				}
				seen[row.Doc.Get("_id").String()]++
				if i == 50 {
					n.must(n.splitMiddle(n.coll().Map.Shards()[0].ID))
					n.remove(`{_id: {$lt: 100}}`, true)
					n.fill(0, 100)
				}
			}
			s.Close()
			if len(seen) != 400 {
				t.Fatalf("sort %s: %d documents", sort, len(seen))
			}
			for id, times := range seen {
				if times != 1 {
					t.Fatalf("sort %s: _id %s %d times", sort, id, times)
				}
			}
		}
	})
}

// A crash (a new node over the same store) after a step of a split or merge leaves a map by which everything is found,
// and Resume in the next process finishes the work.
func TestSplitCrash(t *testing.T) {
	merge := func(m *shard.Map) (*shard.Map, error) { return m.Merge(1, 2) }
	layouts(t, func(t *testing.T, open func() *node) {
		for name, steps := range map[string]func(n *node){
			"prepared": func(n *node) { n.must(n.jobs.Prepare(t.Context(), n.coll().ID, n.halve(0))) },
			"prepared, written": func(n *node) {
				n.must(n.jobs.Prepare(t.Context(), n.coll().ID, n.halve(0)))
				n.fill(300, 400)
				n.remove(`{_id: {$gte: 250, $lt: 350}}`, true)
				n.fill(250, 350)
				if _, err := n.set(`{}`, `{$set: {a: 3.0}}`, true); err != nil {
					t.Fatal(err)
				}
			},
			"one index moved": func(n *node) {
				n.must(n.jobs.Prepare(t.Context(), n.coll().ID, n.halve(0)))
				n.must(n.jobs.SettleShard(t.Context(), n.coll().ID, n.coll().Map.Shards()[1]))
			},
			"merge": func(n *node) {
				n.must(n.splitMiddle(0))
				n.must(n.jobs.Prepare(t.Context(), n.coll().ID, merge))
				n.remove(`{_id: {$lt: 100}}`, true)
				n.fill(0, 100)
			},
		} {
			t.Run(name, func(t *testing.T) {
				n := open()
				n.sharded(1)
				n.fill(0, 300)
				if name != "prepared" {
					n.must(n.jobs.Checkpoint(t.Context()))
				}
				steps(n)
				total := n.check(`{}`)
				n = n.reopen()
				if n.check(`{}`) != total {
					t.Fatal("after the crash documents are missing")
				}
				n.exact()
				n.must(n.jobs.Resume(t.Context()))
				for _, d := range n.coll().Map.Shards() {
					if !d.Settled() {
						t.Fatalf("shard %v has not settled", d.ID)
					}
				}
				if n.check(`{}`) != total {
					t.Fatal("after recovery documents are missing")
				}
				n.exact()
				n = n.reopen()
				n.exact()
			})
		}
	})
}

// Between the publication of a split and the end of its settling, inserts of values that the older partition of a
// unique index has are refused as duplicates.
func TestUniqueWhileUnsettled(t *testing.T) {
	layouts(t, func(t *testing.T, open func() *node) {
		n := open()
		n.sharded(1)
		n.fill(0, 50)
		n.must(n.jobs.Prepare(t.Context(), n.coll().ID, n.halve(0)))
		for i := range 50 {
			_, errs, err := n.Insert(n.op(), shop, []bson.Raw{bsontest.Doc(t, fmt.Sprintf(`{_id: "x%d", k: %d, u: %d}`, i, i, i))}, true)
			if err != nil || len(errs) != 1 || errs[0].Err.Code != 11000 {
				t.Fatalf("%d: %v %v", i, errs, err)
			}
		}
		n.must(n.jobs.Rest(t.Context(), n.coll().ID))
		n.exact()
	})
}

// Two writers of one unique value, one of them with the map from before a split, write it into
// different partitions, and still only one of them succeeds.
func TestUniqueAcrossMaps(t *testing.T) {
	layouts(t, func(t *testing.T, open func() *node) {
		n := open()
		n.sharded(1)
		var txns []*cluster.Txn
		for i := range 8 {
			o := n.op()
			txn, err := n.BeginTxn(o)
			n.must(err)
			o.Txn = txn
			_, errs, err := n.Insert(o, shop, rawDocs(t, fmt.Sprintf(`{_id: "old", k: %d, u: 1}`, i)), true)
			if err != nil || len(errs) > 0 {
				t.Fatal(errs, err)
			}
			txns = append(txns, txn)
		}
		n.must(n.jobs.Prepare(t.Context(), n.coll().ID, n.halve(0)))
		for i, txn := range txns {
			inserted := false
			done := background(func() { // waits for the transaction if that comes first
				_, errs, err := n.Insert(n.op(), shop, rawDocs(t, fmt.Sprintf(`{_id: "new%d", k: %d, u: 1}`, i, i)), true)
				inserted = err == nil && len(errs) == 0
			})
			_, err := txn.Store.Commit(t.Context(), storage.Buffered)
			if err != nil && !errors.Is(err, storage.ErrConflict) {
				t.Fatalf("%d: %v", i, err)
			}
			<-done
			if committed := err == nil; committed == inserted {
				t.Fatalf("%d: committed %v, inserted %v", i, committed, inserted)
			}
		}
		n.must(n.jobs.Rest(t.Context(), n.coll().ID))
		if n.check(`{}`) != len(txns) {
			t.Fatal("wrong number of documents")
		}
		n.exact()
	})
}
