package jobs_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/collection/agg"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/plan"
	"github.com/cantledb/cantle/shard/ddl"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/keyspace"
	"github.com/cantledb/cantle/storage/memkv"
)

// toUnique runs the collMod that makes the index u unique.
func (n *node) toUnique(options string) error {
	n.t.Helper()
	_, err := n.CollMod(n.op(), shop, ddl.CollMod{IndexName: "u", IndexOptions: bsontest.Doc(n.t, `{unique: true}`), Options: bsontest.Doc(n.t, options)})
	return err
}

// prepared makes the index u with prepareUnique, which rejects further duplicates.
func (n *node) prepared() {
	n.t.Helper()
	_, err := n.index(`{key: {u: 1}, name: "u"}`)
	n.must(err)
	_, err = n.CollMod(n.op(), shop, ddl.CollMod{IndexName: "u", IndexOptions: bsontest.Doc(n.t, `{prepareUnique: true}`)})
	n.must(err)
}

// While an index is made unique, clients insert documents with existing values, remove documents
// and insert them again, and read by the index: no duplicate is accepted, and the index can be used
// all the time.
func TestUniqueConversionWhileInUse(t *testing.T) {
	engines(t, func(t *testing.T, make func() storage.Store) {
		for _, partitions := range []int{1, 3} {
			t.Run(fmt.Sprint(partitions), func(t *testing.T) {
				n := open(t, make)
				if partitions > 1 {
					n.must(n.ShardCollection(n.op(), shop, ddl.ShardOptions{Key: bsontest.Doc(t, `{u: "hashed"}`), Shards: partitions}))
				}
				const docs = 3000
				n.fill(0, docs)
				n.prepared()
				var stop atomic.Bool
				var wg sync.WaitGroup
				var refused, accepted, read atomic.Int64
				for w := range 3 {
					wg.Go(func() {
						for i := 0; !stop.Load() || i < 50; i++ {
							u := (i*7 + w) % docs
							_, errs, err := n.Insert(n.op(), shop, rawDocs(t, fmt.Sprintf(`{_id: "dup %d %d", k: 1, u: %d}`, w, i, u)), true)
							switch {
							case err != nil:
								t.Error(err)
							case len(errs) == 0:
								accepted.Add(1)
							case errs[0].Err.Code != mongoerr.DuplicateKey:
								t.Error(errs[0].Err)
							default:
								refused.Add(1)
							}
						}
					})
				}
				wg.Go(func() { // with documents of its own
					for i := docs; !stop.Load() || i < docs+50; i++ {
						n.fill(i, i+1)
						n.remove(fmt.Sprintf(`{u: %d}`, i), true)
						n.fill(i, i+1)
					}
				})
				wg.Go(func() {
					for i := 0; !stop.Load() || i < 50; i++ {
						u := i * 13 % docs
						got, err := n.ids(n.op(), fmt.Sprintf(`{u: %d}`, u), "u")
						if err != nil || len(got) != 1 {
							t.Error("by the index:", len(got), err)
							return
						}
						read.Add(1)
					}
				})
				// A cursor that began before the conversion continues with the index entries of its snapshot.
				o := n.op()
				hint := bson.NewBuilder(nil)
				hint.String("h", "u")
				s, err := n.Find(o, shop, plan.Find{Filter: bsontest.Doc(t, fmt.Sprintf(`{u: {$gte: 0, $lt: %d}}`, docs)), Hint: hint.Doc().Get("h")})
				n.must(err)
				defer s.Close()
				if row, err := s.Next(o.Env); row == nil || err != nil {
					t.Fatal(row, err)
				}
				err = n.toUnique(`{}`)
				stop.Store(true)
				wg.Wait()
				n.must(err)
				n.must(n.jobs.DeleteRecorded(t.Context()))
				for seen := 1; ; seen++ {
					row, err := s.Next(o.Env)
					n.must(err)
					if row == nil {
						if seen != docs {
							t.Errorf("the cursor gave %d documents of %d", seen, docs)
						}
						break
					}
				}
				if accepted.Load() > 0 || refused.Load() == 0 || read.Load() == 0 {
					t.Errorf("%d duplicates were accepted, %d refused, %d reads", accepted.Load(), refused.Load(), read.Load())
				}
				ix := n.coll().Index("u")
				if len(n.coll().Indexes) != 2 && partitions == 1 || ix == nil || !ix.Unique || ix.PrepareUnique || ix.State != catalog.IndexReady || ix.Staged {
					t.Fatalf("%+v", ix)
				}
				n.check(`{}`)
			})
		}
	})
}

// If the conversion of an index to a unique one fails, by a duplicate or a bad option, the old index is unchanged and
// nothing else is left.
func TestUniqueConversionFails(t *testing.T) {
	engines(t, func(t *testing.T, make func() storage.Store) {
		n := open(t, make)
		n.fill(0, 700)
		n.insert(`{_id: "dup", u: 7}`)
		n.prepared()
		before := n.coll()
		if err := n.toUnique(`{}`); mongoerr.CodeOf(err) != mongoerr.DuplicateKey {
			t.Fatal(err)
		}
		n.must(n.jobs.DeleteRecorded(t.Context()))
		if now := n.coll(); len(now.Indexes) != len(before.Indexes) || now.Index("u").ID != before.Index("u").ID || !now.Index("u").PrepareUnique {
			t.Fatalf("%+v", now.Indexes)
		}
		if k := n.keys(keyspace.IndexRange(before.ID, before.NextIndex)); k != 0 {
			t.Fatalf("%d entries stayed", k)
		}
		n.check(`{}`)
		n.remove(`{_id: "dup"}`, false)
		if err := n.toUnique(`{validator: {u: 1}, viewOn: "x"}`); mongoerr.CodeOf(err) != mongoerr.InvalidOptions {
			t.Fatal(err)
		}
		if now := n.coll(); now.Index("u").Unique || now.Options.Validator != nil {
			t.Fatal("half of the command is there")
		}
		n.must(n.toUnique(`{validator: {u: {$gte: 0}}}`))
		if now := n.coll(); !now.Index("u").Unique || now.Options.Validator == nil {
			t.Fatal("half of the command is there")
		}
		n.check(`{}`)
	})
}

// If the server dies, an index that a command has staged is dropped after the next start, by Resume or by the next
// command that adds indexes.
func TestStagedIsDropped(t *testing.T) {
	engines(t, func(t *testing.T, make func() storage.Store) {
		for _, how := range []string{"resume", "again", "createIndexes"} {
			n := open(t, make)
			n.fill(0, 300)
			n.prepared()
			c := n.coll()
			n.must(n.jobs.Catalog.Change(t.Context(), func(m *catalog.Mutation) error {
				with := withIndex(t, c, `{key: {u: 1}, name: "u", unique: true}`)
				with.Indexes[len(with.Indexes)-1].Staged = true
				return m.Put(with)
			}))
			staged := c.NextIndex
			n.fill(300, 350) // its writers maintain the staged index
			if k := n.keys(keyspace.IndexRange(c.ID, staged)); k != 50 {
				t.Fatalf("%d entries of the staged index", k)
			}
			n = n.reopen()
			want := 2
			switch how {
			case "resume":
				n.must(n.jobs.Resume(t.Context()))
			case "again":
				n.must(n.toUnique(`{}`))
			default:
				_, err := n.index(`{key: {u: -1}, name: "other"}`)
				n.must(err)
				want++
			}
			n.must(n.jobs.DeleteRecorded(t.Context()))
			now := n.coll()
			if len(now.Indexes) != want || now.Index("u").Unique != (how == "again") || n.keys(keyspace.IndexRange(c.ID, staged)) != 0 {
				t.Fatalf("%s: %+v", how, now.Indexes)
			}
			n.check(`{}`)
		}
	})
}

// An $out copies the indexes of a collection, but not those staged for a change of another command.
func TestOutLeavesStagedIndex(t *testing.T) {
	n := open(t, func() storage.Store { return memkv.Open(memkv.Options{Clock: time.Now}) })
	n.fill(0, 3)
	n.prepared()
	n.must(n.jobs.Catalog.Change(t.Context(), func(m *catalog.Mutation) error {
		with := withIndex(t, n.coll(), `{key: {u: 1}, name: "u", unique: true}`)
		with.Indexes[len(with.Indexes)-1].Staged = true
		return m.Put(with)
	}))
	o := n.op()
	out, err := n.Aggregate(o, shop, agg.NewOutline([]bson.Raw{bsontest.Doc(t, `{$out: "c"}`)}), bson.Value{})
	n.must(err)
	defer out.Close()
	_, err = out.Next(o.Env)
	n.must(err)
	if now := n.coll(); len(now.Indexes) != 2 || now.Index("u").Unique {
		t.Errorf("%+v", now.Indexes)
	}
}

// UpdateCollection changes the indexes as a whole: if one cannot be built or is invalid, the old ones stay.
func TestUpdateCollection(t *testing.T) {
	engines(t, func(t *testing.T, make func() storage.Store) {
		n := open(t, make)
		n.fill(0, 600)
		_, err := n.index(`{key: {u: 1}, name: "x"}`, `{key: {k: 1}, name: "k"}`)
		n.must(err)
		before := n.coll()
		update := func(specs ...string) error {
			var list []bson.Raw
			for _, s := range specs {
				list = append(list, bsontest.Doc(t, s))
			}
			return n.UpdateCollection(n.op(), shop, catalog.Throughput{}, list)
		}
		if err := update(`{key: {a: 1}, name: "x", unique: true}`, `{key: {k: 1, u: 1}, name: "ku"}`); mongoerr.CodeOf(err) != mongoerr.DuplicateKey {
			t.Fatal(err)
		}
		if now := n.coll(); fmt.Sprint(now.Indexes) != fmt.Sprint(before.Indexes) {
			t.Fatalf("%+v", now.Indexes)
		}
		if err := update(`{key: {k: 1}, name: "k"}`, `{key: {a: 1}, name: "a", surprise: 1}`); err == nil || len(n.coll().Indexes) != 3 {
			t.Fatal(err)
		}
		n.must(update(`{key: {k: 1}, name: "k"}`, `{key: {a: 1}, name: "x"}`))
		n.must(n.jobs.DeleteRecorded(t.Context()))
		now := n.coll()
		if len(now.Indexes) != 3 || now.Index("k").ID != before.Index("k").ID || now.Index("x").ID == before.Index("x").ID || now.Index("x").State != catalog.IndexReady {
			t.Fatalf("%+v", now.Indexes)
		}
		n.check(`{}`)
		n.must(update())
		if len(n.coll().Indexes) != 1 {
			t.Fatal("indexes stayed")
		}
	})
}
