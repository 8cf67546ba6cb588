package jobs_test

import (
	"context"
	"maps"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/collection/plan"
	"github.com/cantledb/cantle/collection/release"
	"github.com/cantledb/cantle/collection/update"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/shard/cluster"
	"github.com/cantledb/cantle/shard/ddl"
	"github.com/cantledb/cantle/shard/jobs"
	"github.com/cantledb/cantle/shard/tally"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/keyspace"
	"github.com/cantledb/cantle/storage/memkv"
	"github.com/cantledb/cantle/storage/pebblekv"
)

// node is a server without network: a cluster and its jobs over one store.
type node struct {
	*cluster.Cluster
	*ddl.Definer
	t     testing.TB
	store storage.Store
	jobs  *jobs.Runner
	key   string       // shard key of sharded; empty means hashed
	clock atomic.Int64 // seconds added to the time
}

// engines runs a test on the engines memkv and pebblekv.
func engines(t *testing.T, fn func(t *testing.T, open func() storage.Store)) {
	t.Run("memkv", func(t *testing.T) {
		fn(t, func() storage.Store { return memkv.Open(memkv.Options{Clock: time.Now}) })
	})
	t.Run("pebblekv", func(t *testing.T) {
		fn(t, func() storage.Store {
			s, err := pebblekv.Open("", pebblekv.Options{InMemory: true, Clock: time.Now})
			if err != nil {
				t.Fatal(err)
			}
			return s
		})
	})
}

// virtually is engines in virtual time: the next turn of a loop costs no waiting, and synctest.Wait
// returns when every goroutine waits. It does not fit tests whose readers or writers never wait,
// because the time stands still while any goroutine runs.
func virtually(t *testing.T, fn func(t *testing.T, open func() storage.Store)) {
	engines(t, func(t *testing.T, open func() storage.Store) {
		synctest.Test(t, func(t *testing.T) { fn(t, open) })
	})
}

// start makes a node over a store, like a starting process, without running the loops of its jobs. The caller closes
// the store.
func start(t testing.TB, store storage.Store) *node {
	t.Helper()
	n := &node{t: t, store: store}
	cat, err := catalog.Open(t.Context(), store, release.Default)
	if err != nil {
		t.Fatal(err)
	}
	now := func() time.Time { return time.Now().Add(time.Duration(n.clock.Load()) * time.Second) }
	budgets, board := &ratelimit.Budgets{}, &tally.Board{}
	n.jobs = jobs.New(jobs.Config{Store: store, Catalog: cat, Budgets: budgets, Tally: board, Now: now,
		Failed:          func(job string, err error) { t.Errorf("%s: %v", job, err) },
		CheckpointEvery: 10 * time.Millisecond})
	n.Cluster = cluster.New(cluster.Config{Store: store, Catalog: cat, Budgets: budgets, Tally: board, Now: now})
	n.Definer = ddl.New(n.Cluster, ddl.Config{Store: store, Catalog: cat, Tally: board, Jobs: n.jobs, Limits: ddl.Limits{DefaultShards: 2}})
	n.AttachDefiner(n.Definer)
	n.jobs.Rewrite = n.Definer.Rewrite
	if err := n.jobs.Recover(t.Context()); err != nil {
		t.Fatal(err)
	}
	n.RestoreBudgets()
	return n
}

// open makes a node over a fresh store, which is closed when the test ends.
func open(t *testing.T, make func() storage.Store) *node {
	store := make()
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return start(t, store)
}

// reopen starts a new process over the same store.
func (n *node) reopen() *node {
	n.t.Helper()
	return start(n.t, n.store)
}

func (n *node) op() *cluster.Op {
	env := mql.NewEnv(context.Background())
	env.NowMillis = n.Now().UnixMilli()
	return &cluster.Op{Env: env}
}

var shop = collection.Namespace{DB: "shop", Coll: "c"}

func (n *node) must(err error) {
	n.t.Helper()
	if err != nil {
		n.t.Fatal(err)
	}
}

// insert adds documents given as text.
func (n *node) insert(docs ...string) {
	n.t.Helper()
	rs := make([]bson.Raw, len(docs))
	for i, d := range docs {
		rs[i] = bsontest.Doc(n.t, d)
	}
	_, errs, err := n.Insert(n.op(), shop, rs, true)
	n.must(err)
	if len(errs) > 0 {
		n.t.Fatal(errs[0].Err)
	}
}

// fill inserts documents {_id: i, k: i, a: i % 7, u: i}.
func (n *node) fill(from, to int) {
	n.t.Helper()
	var docs []bson.Raw
	for i := from; i < to; i++ {
		b := bson.NewBuilder(nil)
		b.Int32("_id", int32(i))
		b.Int32("k", int32(i))
		b.Int32("a", int32(i%7))
		b.Int32("u", int32(i))
		docs = append(docs, b.Doc())
	}
	_, errs, err := n.Insert(n.op(), shop, docs, false)
	n.must(err)
	if len(errs) > 0 {
		n.t.Fatal(errs[0].Err)
	}
}

// set updates matching documents.
func (n *node) set(filter, change string, multi bool) (cluster.Modified, error) {
	n.t.Helper()
	o := n.op()
	p, err := update.Parse(o.Env, bsontest.Doc(n.t, change).Value(), nil, update.Options{Multi: multi})
	n.must(err)
	return n.Modify(o, shop, &cluster.Modify{Find: plan.Find{Filter: bsontest.Doc(n.t, filter)}, Update: p, Multi: multi})
}

func (n *node) remove(filter string, multi bool) cluster.Modified {
	n.t.Helper()
	m, err := n.Modify(n.op(), shop, &cluster.Modify{Find: plan.Find{Filter: bsontest.Doc(n.t, filter)}, Multi: multi})
	n.must(err)
	return m
}

// ids returns how often a filter finds each _id, through the hinted index or, without one, by a
// scan.
func (n *node) ids(o *cluster.Op, filter, hint string) (map[string]int, error) {
	f := plan.Find{Filter: bsontest.Doc(n.t, filter)}
	b := bson.NewBuilder(nil)
	if hint != "" {
		b.String("h", hint)
	} else {
		b.BeginDoc("h")
		b.Int32("$natural", 1)
		b.End()
	}
	f.Hint = b.Doc().Get("h")
	s, err := n.Find(o, shop, f)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	out := map[string]int{}
	for {
		row, err := s.Next(o.Env)
		if row == nil || err != nil {
			return out, err
		}
		out[row.Doc.Get("_id").String()]++
	}
}

// check compares the documents found through every stored, ready index that is not partial with those of a scan,
// requires each once, and returns their number.
func (n *node) check(filter string) int {
	n.t.Helper()
	want, err := n.ids(n.op(), filter, "")
	n.must(err)
	coll := n.Catalog().Collection(shop)
	for _, ix := range coll.Indexes {
		if ix.State != catalog.IndexReady || ix.Partial != nil || ix.ID == 1 && !coll.PhysicalID() {
			continue
		}
		got, err := n.ids(n.op(), filter, ix.Name)
		n.must(err)
		if !maps.Equal(got, want) {
			n.t.Fatalf("index %s finds %d documents, the scan %d", ix.Name, len(got), len(want))
		}
	}
	for id, times := range want {
		if times != 1 {
			n.t.Fatalf("_id %s is found %d times", id, times)
		}
	}
	return len(want)
}

// exact compares the counts of every shard with a scan.
func (n *node) exact() {
	n.t.Helper()
	coll := n.Catalog().Collection(shop)
	snap, err := n.store.Snapshot(context.Background(), 0)
	n.must(err)
	defer snap.Close()
	counts := n.Counts(coll.ID)
	var sum tally.Count
	for _, d := range coll.Map.Shards() {
		it, err := snap.Iter(context.Background(), keyspace.RecordSpan(coll.ID, d.Lo, d.Hi), storage.IterOptions{})
		n.must(err)
		var c tally.Count
		for it.Next() {
			c = c.Add(tally.Count{Docs: 1, Bytes: int64(len(it.Value()))})
		}
		it.Close()
		if got := counts.Shard(d.ID).Get(); got != c {
			n.t.Fatalf("shard %v is counted as %+v, it has %+v", d.ID, got, c)
		}
		sum = sum.Add(c)
	}
	if got := counts.Total(coll.Map); got != sum {
		n.t.Fatalf("total %+v, want %+v", got, sum)
	}
}

// keys counts the keys stored in a range.
func (n *node) keys(r storage.Range) (c int) {
	n.t.Helper()
	snap, err := n.store.Snapshot(context.Background(), 0)
	n.must(err)
	defer snap.Close()
	it, err := snap.Iter(context.Background(), r, storage.IterOptions{KeysOnly: true})
	n.must(err)
	defer it.Close()
	for it.Next() {
		c++
	}
	return c
}

func (n *node) index(specs ...string) (ddl.IndexesCreated, error) {
	n.t.Helper()
	rs := make([]bson.Raw, len(specs))
	for i, s := range specs {
		rs[i] = bsontest.Doc(n.t, s)
	}
	return n.CreateIndexes(n.op(), shop, rs)
}

func (n *node) coll() *catalog.Collection {
	n.t.Helper()
	c := n.Catalog().Collection(shop)
	if c == nil {
		n.t.Fatal("no collection")
	}
	return c
}
