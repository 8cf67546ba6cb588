package history_test

import (
	"context"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/ejson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/collection/release"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/shard/cluster"
	"github.com/cantledb/cantle/shard/ddl"
	"github.com/cantledb/cantle/shard/history"
	"github.com/cantledb/cantle/shard/jobs"
	"github.com/cantledb/cantle/shard/tally"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/memkv"
)

// ns is the collection of the tests.
var ns = collection.ParseNamespace("test.orders")

// world is a data plane with a recorder of its history, under a clock that stands still between calls of Advance.
type world struct {
	*history.Recorder
	t       testing.TB
	clock   *ratelimit.VirtualClock
	store   storage.Store
	cluster *cluster.Cluster
	ddl     *ddl.Definer
	jobs    *jobs.Runner
}

// start is a time at which a column of every level begins.
var start = time.Unix(1_800_000_000, 0)

func newWorld(t testing.TB) *world {
	t.Helper()
	store := memkv.Open(memkv.Options{})
	t.Cleanup(func() { store.Close() })
	return openWorld(t, store, ratelimit.NewVirtualClock(start))
}

// openWorld starts a process over a store.
func openWorld(t testing.TB, store storage.Store, clock *ratelimit.VirtualClock) *world {
	t.Helper()
	cat, err := catalog.Open(t.Context(), store, release.Default)
	if err != nil {
		t.Fatal(err)
	}
	budgets, board := &ratelimit.Budgets{Clock: clock}, &tally.Board{}
	w := &world{t: t, clock: clock, store: store}
	w.jobs = jobs.New(jobs.Config{Store: store, Catalog: cat, Budgets: budgets, Tally: board, Now: clock.Now})
	w.cluster = cluster.New(cluster.Config{Store: store, Catalog: cat, Budgets: budgets, Tally: board, Now: clock.Now})
	w.ddl = ddl.New(w.cluster, ddl.Config{Store: store, Catalog: cat, Tally: board, Jobs: w.jobs})
	w.cluster.AttachDefiner(w.ddl)
	if err := w.jobs.Recover(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.ddl.RestoreBudgets()
	w.Recorder = history.New(history.Config{Catalog: cat, Budgets: budgets, Store: store, Now: clock.Now, Connections: func() int { return 3 },
		Failed: func(err error) { t.Error(err) }})
	if err := w.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) op() *cluster.Op { return &cluster.Op{Env: mql.NewEnv(context.Background())} }

func (w *world) raw(text string) bson.Raw {
	w.t.Helper()
	d, err := ejson.Parse(text)
	if err != nil {
		w.t.Fatal(err)
	}
	return d
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// shard creates the collection with n partitions.
func (w *world) shard(n int) {
	w.t.Helper()
	w.must(w.ddl.ShardCollection(w.op(), ns, ddl.ShardOptions{Key: w.raw(`{k: "hashed"}`), Shards: n}))
}

// shards returns the numbers of the partitions, by range.
func (w *world) shards() (out []int) {
	for _, d := range w.cluster.Catalog().Collection(ns).Map.Shards() {
		out = append(out, int(d.ID))
	}
	return out
}

// write charges and records n inserts of a kibibyte in a partition, each of two milliseconds; it stores no documents.
func (w *world) write(shard, n int) {
	id := uint64(w.cluster.Catalog().Collection(ns).ID)
	for range n {
		var m ratelimit.Meter
		m.Reset(id, nil)
		m.WriteNew(shard, 1024)
		w.cluster.Budgets.Charge(w.clock.Now(), ratelimit.Class{}, &m)
		w.cluster.Budgets.Ended(&m, ratelimit.HasWritten, 2*time.Millisecond)
		w.Ended(history.DidWrite, 2*time.Millisecond)
	}
}

// cells returns the values of a row's cells, rounded to whole numbers.
func cells(r history.HeatRow) (out []int) {
	for _, c := range r.Cells {
		out = append(out, int(history.Value(c)+0.5))
	}
	return out
}

// about reports whether the values equal the expected ones within the precision of the scale.
func about(got []int, want ...int) bool {
	return slices.EqualFunc(got, want, func(a, b int) bool { return math.Abs(float64(a-b)) <= 0.5+0.047*float64(b) })
}
