package jobs_test

import (
	"context"
	"errors"
	"path"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/shard/cluster"
	"github.com/cantledb/cantle/shard/ddl"
	"github.com/cantledb/cantle/shard/jobs"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/keyspace"
)

// elsewhere names DDL of another collection, which waits for no job.
const elsewhere = "DDL of another collection"

// TestInterruptedJobs lets an event happen half way through a build, a reshard and a split: killOp, a drop of the
// collection, dropIndexes, the shutdown of the server, or DDL of another collection. killOp, drop and shutdown end each
// job soon, dropIndexes only a build; the DDL ends none. After a restart each job is undone or completed, and nothing
// of it is left behind.
func TestInterruptedJobs(t *testing.T) {
	killed := mongoerr.New(mongoerr.Interrupted, "operation was interrupted")
	began := map[string]func(n *node, o *cluster.Op) error{
		"build": func(n *node, o *cluster.Op) error {
			_, err := n.CreateIndexes(o, shop, rawDocs(t, `{key: {a: 1, u: -1}, name: "late"}`, `{key: {u: 1, k: 1}, name: "later"}`))
			return err
		},
		"reshard": func(n *node, o *cluster.Op) error {
			return n.ReshardCollection(o, shop, ddl.ShardOptions{Key: bsontest.Doc(t, `{a: 1, k: 1}`)})
		},
		"split": func(n *node, o *cluster.Op) error {
			m, err := n.halve(0)(n.coll().Map)
			n.must(err)
			return n.jobs.Split(o.Env.Context(), shop, 0, m.Shards()[1].Lo)
		},
	}
	meets := map[string]func(n *node, end context.CancelCauseFunc){
		"killOp":   func(_ *node, end context.CancelCauseFunc) { end(killed) },
		"shutdown": func(_ *node, end context.CancelCauseFunc) { end(jobs.ErrStopped) },
		"drop": func(n *node, _ context.CancelCauseFunc) {
			go func() {
				if ok, err := n.Drop(n.op(), shop); !ok || err != nil {
					t.Error("drop:", ok, err)
				}
			}()
			synctest.Wait() // until the drop is done, or waits for the job
		},
		"dropIndexes": func(n *node, _ context.CancelCauseFunc) {
			go func() {
				if _, err := n.DropIndexes(n.op(), shop, []string{"*"}, nil); err != nil && mongoerr.CodeOf(err) != 117 {
					t.Error("dropIndexes:", err)
				}
			}()
			synctest.Wait()
		},
	}
	// Unlike drop and dropIndexes above, this DDL runs in the job's own goroutine, which goes on only after it: if it
	// waited for the job, the test would hang.
	meets[elsewhere] = func(n *node, _ context.CancelCauseFunc) {
		other := collection.Namespace{DB: "shop", Coll: "other"}
		n.must(n.Create(n.op(), other, ddl.CreateOptions{}))
		if _, err := n.CreateIndexes(n.op(), other, rawDocs(t, `{key: {b: 1}, name: "b"}`)); err != nil {
			t.Error(err)
		}
		if _, err := n.DropIndexes(n.op(), other, []string{"b"}, nil); err != nil {
			t.Error(err)
		}
		if ok, err := n.Drop(n.op(), other); !ok || err != nil {
			t.Error(ok, err)
		}
	}
	for job, begin := range began {
		undisturbed := map[string]int64{} // looks at the clock, by engine
		t.Run(job, func(t *testing.T) {
			virtually(t, func(t *testing.T, make func() storage.Store) {
				whole, _, err := interrupted(t, open(t, make), begin, nil)
				if err != nil || whole < 20 {
					t.Fatalf("undisturbed: %d looks at the clock, %v", whole, err)
				}
				undisturbed[path.Base(t.Name())] = whole
			})
		})
		for event, meet := range meets {
			t.Run(job+" "+event, func(t *testing.T) {
				virtually(t, func(t *testing.T, make func() storage.Store) {
					whole := undisturbed[path.Base(t.Name())]
					n := open(t, make)
					total, at, err := interrupted(t, n, begin, meet)
					t.Logf("after %d of %d looks at the clock, %d more: %v", at, whole, total-at, err)
					if err == nil && event == "killOp" {
						t.Error("it was not killed")
					}
					goesOn := event == elsewhere || event == "dropIndexes" && job != "build"
					if err != nil && goesOn {
						t.Error(err)
					}
					if more := total - at; at == 0 || !goesOn && more > whole/4 {
						t.Errorf("after %d of %d looks at the clock it went on for %d", at, whole, more)
					}
					if event == "shutdown" && !errors.Is(err, jobs.ErrStopped) && !errors.Is(err, context.Canceled) {
						t.Errorf("the end of the server: %v", err)
					}
					n = n.reopen()
					n.must(n.jobs.Resume(t.Context()))
					n.must(n.jobs.DeleteRecorded(t.Context()))
					n.nothingLeft(event == "drop")
				})
			})
		}
	}
}

// interruptedDocs is the number of documents of the collection.
const interruptedDocs = 4000

// interrupted runs a job over a new collection, and calls meet half way. It returns how often the job read the clock,
// which measures its progress: in total, and before meet.
func interrupted(t *testing.T, n *node, begin func(*node, *cluster.Op) error, meet func(*node, context.CancelCauseFunc)) (total, at int64, err error) {
	t.Helper()
	n.must(n.ShardCollection(n.op(), shop, ddl.ShardOptions{Key: bsontest.Doc(t, `{k: "hashed"}`), Shards: 1}))
	_, err = n.index(`{key: {a: 1}, name: "a"}`)
	n.must(err)
	for i := 0; i < interruptedDocs; i += 1000 {
		n.fill(i, i+1000)
	}
	ctx, end := context.WithCancelCause(t.Context())
	defer end(nil)
	var now atomic.Int64
	middle := func() {
		if meet != nil && at == 0 {
			at = now.Load() / int64(time.Millisecond)
			meet(n, end)
		}
	}
	n.jobs.CPUSlots = mql.NewCPUSlots(1, func() time.Time { return time.Unix(0, now.Add(int64(time.Millisecond))) }, func(func() bool) {
		if now.Load() > int64(12*time.Millisecond) {
			middle()
		}
	})
	n.jobs.OnStep(func(step string) { // a split takes no slot
		if step == "moving" {
			middle()
		}
	})
	defer n.jobs.OnStep(nil)
	o := n.op()
	o.Env.SetContext(ctx)
	err = begin(n, o)
	total = now.Load() / int64(time.Millisecond)
	synctest.Wait() // for goroutines that waited
	n.jobs.CPUSlots = nil
	return total, at, err
}

// nothingLeft checks that everything stored belongs to the collection and its indexes or, with gone, that nothing is
// stored.
func (n *node) nothingLeft(gone bool) {
	n.t.Helper()
	records := n.keys(keyspace.PrefixRange(keyspace.RecordRange(0).Start[:1]))
	entries := n.keys(keyspace.PrefixRange(keyspace.CollectionIndexRange(0).Start[:1]))
	notes := n.keys(keyspace.MetaRange(keyspace.MetaJob))
	if gone {
		if n.Catalog().Collection(shop) != nil || records+entries+notes > 0 {
			n.t.Errorf("%d records, %d entries and %d notes are left", records, entries, notes)
		}
		return
	}
	n.check(`{}`)
	n.exact()
	c := n.coll()
	own := 0
	for _, ix := range c.Indexes {
		if ix.State != catalog.IndexReady {
			n.t.Errorf("the index %s is left unfinished", ix.Name)
		}
		own += n.keys(keyspace.IndexRange(c.ID, ix.ID))
	}
	for _, d := range c.Map.Shards() {
		if !d.Settled() {
			n.t.Errorf("partition %d is left unsettled", d.ID)
		}
	}
	if docs := len(must2(n.ids(n.op(), `{}`, ""))); records != docs || docs != interruptedDocs || entries != own || notes > 0 {
		n.t.Errorf("%d records of %d documents, %d entries, %d of them of indexes that there are, %d notes", records, docs, entries, own, notes)
	}
}

func must2[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
