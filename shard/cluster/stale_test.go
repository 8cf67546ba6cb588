package cluster

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/ejson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/agg"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/collection/plan"
	"github.com/cantledb/cantle/collection/release"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/shard/jobs"
	"github.com/cantledb/cantle/shard/tally"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/memkv"
)

// scene is a cluster over a fresh store, for tests of events between the steps
// of a command.
type scene struct {
	*Cluster
	*entries
	t *testing.T
}

func newScene(t *testing.T) *scene {
	t.Helper()
	store := memkv.Open(memkv.Options{})
	t.Cleanup(func() { store.Close() })
	return openScene(t, store)
}

// openScene is newScene over the store of another scene.
func openScene(t *testing.T, store storage.Store) *scene {
	t.Helper()
	cat, err := catalog.Open(t.Context(), store, release.Default)
	if err != nil {
		t.Fatal(err)
	}
	budgets, board := &ratelimit.Budgets{}, &tally.Board{}
	runner := jobs.New(jobs.Config{Store: store, Catalog: cat, Budgets: budgets, Tally: board, Now: time.Now})
	if err := runner.Recover(t.Context()); err != nil {
		t.Fatal(err)
	}
	c := New(Config{Store: store, Catalog: cat, Budgets: budgets, Tally: board, Now: time.Now})
	e := &entries{c, runner}
	c.AttachDefiner(e)
	return &scene{c, e, t}
}

func (s *scene) op(ctx context.Context) *Op { return &Op{Env: mql.NewEnv(ctx)} }

func (s *scene) raw(text string) bson.Raw {
	s.t.Helper()
	r, err := ejson.Parse(text)
	if err != nil {
		s.t.Fatalf("%s: %v", text, err)
	}
	return r
}

// create creates db.c anew.
func (s *scene) create(opts made) *catalog.Collection {
	s.t.Helper()
	ctx := s.t.Context()
	if _, err := s.Drop(s.op(ctx), dbc); err != nil {
		s.t.Fatal(err)
	}
	if err := s.Create(s.op(ctx), dbc, opts); err != nil {
		s.t.Fatal(err)
	}
	return s.catalog.Peek().Collection(dbc)
}

func (s *scene) fill(n int) {
	s.t.Helper()
	var docs []bson.Raw
	for i := range n {
		docs = append(docs, s.raw(fmt.Sprintf(`{_id: %d, k: %d}`, i, i)))
	}
	if _, errs, err := s.Insert(s.op(s.t.Context()), dbc, docs, true); err != nil || len(errs) > 0 {
		s.t.Fatal(err, errs)
	}
}

var dbc = collection.Namespace{DB: "db", Coll: "c"}

// Documents that were prepared for a collection are inserted validly into another collection that has taken its name
// since.
func TestInsertIntoReplacedCollection(t *testing.T) {
	s := newScene(t)
	by := s.create(made{ShardKey: s.raw(`{k: "hashed"}`), Shards: 2})
	o := s.op(t.Context())
	placed, _, err := s.prepare(o, by, []bson.Raw{s.raw(`{_id: 1, k: 1}`)}, true)
	if err != nil {
		t.Fatal(err)
	}
	s.create(made{ShardKey: s.raw(`{k: "hashed"}`), Shards: 2})
	if n, errs, err := s.insertGroup(o, by, dbc, placed, true); n != 1 || err != nil {
		t.Fatal(n, errs, err)
	}
	v, err := s.Validate(o, dbc)
	if err != nil || v.Records != 1 || v.Invalid != 0 {
		t.Errorf("%+v %v", v, err)
	}
}

// Documents found in one collection are not searched in another with the same name: an update
// of many returns an error instead of skipping some.
func TestUpdateMeetsReplacedCollection(t *testing.T) {
	s := newScene(t)
	s.create(made{})
	s.fill(3)
	o := s.op(t.Context())
	stream, err := s.Find(o, dbc, plan.Find{})
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	batch, _, err := s.collect(o, stream)
	if err != nil || len(batch) != 3 {
		t.Fatal(len(batch), err)
	}
	s.create(made{ShardKey: s.raw(`{k: "hashed"}`), Shards: 2})
	if _, err := s.changeBatch(o, stream, dbc, &Modify{Multi: true}, batch); mongoerr.CodeOf(err) != mongoerr.QueryPlanKilled {
		t.Error(err)
	}
}

// agg.Below returns for a view the view and everything below it: the views and collections that it names, and those in
// the pipelines of all of them.
func TestBelow(t *testing.T) {
	s := newScene(t)
	s.create(made{})
	for name, options := range map[string]string{
		"v": `{viewOn: "c", pipeline: [{$lookup: {from: "other", pipeline: [{$unionWith: "third"}], as: "x"}}]}`,
		"w": `{viewOn: "v", pipeline: []}`,
	} {
		if err := s.Create(s.op(t.Context()), collection.Namespace{DB: "db", Coll: name}, made{Raw: s.raw(options)}); err != nil {
			t.Fatal(err)
		}
	}
	got, err := agg.Below(s.catalog.Peek(), []collection.Namespace{{DB: "db", Coll: "w"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"w", "v", "c", "other", "third"} {
		if !slices.Contains(got, collection.Namespace{DB: "db", Coll: name}) {
			t.Errorf("%s is missing in %v", name, got)
		}
	}
}

// A writer that waits for request units does not delay changes of the catalog.
func TestThrottledWriterHoldsNoPin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		coll := s.create(made{Throughput: catalog.Throughput{Mode: catalog.ThroughputManual, RU: 400}})
		pool := s.Budgets.Collection(uint64(coll.ID))
		pool.Set(time.Now(), pool.Throughput(), ratelimit.Options{ServerSideRetry: true})
		place := ratelimit.ShardID{Collection: uint64(coll.ID), Shard: int(coll.Map.Shards()[0].ID)}
		s.Budgets.ChargeAt(time.Now(), ratelimit.Class{}, place, 400*60*ratelimit.RU)

		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() {
			_, _, err := s.Insert(s.op(ctx), dbc, []bson.Raw{s.raw(`{_id: 1}`)}, true)
			done <- err
		}()
		synctest.Wait() // until the insert waits, which takes a minute
		if err := s.catalog.Change(t.Context(), func(m *catalog.Mutation) error {
			return m.Put(m.Snapshot().ByID(coll.ID).With(func(c *catalog.Collection) { c.Unmerged = true }))
		}); err != nil {
			t.Fatal(err)
		}
		limit, stop := context.WithTimeout(t.Context(), 5*time.Second)
		defer stop()
		if err := s.catalog.Drain(limit, coll.ID); err != nil {
			t.Errorf("the writer holds its pin: %v", err)
		}
		select {
		case err := <-done:
			t.Errorf("the writer did not wait: %v", err)
		default:
		}
		cancel()
		if err := <-done; mongoerr.CodeOf(err) != mongoerr.Interrupted {
			t.Error(err)
		}
	})
}

// fuse is a context that ends as soon as there are two collections: the second is the temporary collection of $out.
type fuse struct {
	context.Context
	cancel context.CancelCauseFunc
	s      *scene
}

func (f fuse) Err() error {
	if len(f.s.catalog.Peek().Collections("db")) > 1 {
		f.cancel(ErrTimeLimit)
	}
	return f.Context.Err()
}

// An interrupted $out leaves nothing behind.
func TestInterruptedOut(t *testing.T) {
	s := newScene(t)
	s.create(made{})
	s.fill(1000)
	ctx, cancel := context.WithCancelCause(t.Context())
	o := s.op(fuse{ctx, cancel, s})
	stream, err := s.Aggregate(o, dbc, agg.NewOutline([]bson.Raw{s.raw(`{$out: "d"}`)}), bson.Value{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Next(o.Env); mongoerr.CodeOf(Translate(err)) != mongoerr.MaxTimeMSExpired && mongoerr.CodeOf(Translate(err)) != mongoerr.Interrupted {
		t.Error(err)
	}
	stream.Close()
	for _, c := range s.catalog.Peek().Collections("db") {
		if c.Namespace != dbc {
			t.Errorf("%s is left", c.Namespace)
		}
	}
}

// An $out into a sharded collection is rejected.
func TestRefusedOut(t *testing.T) {
	s := newScene(t)
	s.create(made{ShardKey: s.raw(`{k: "hashed"}`), Shards: 2})
	o := s.op(t.Context())
	stream, err := s.Aggregate(o, collection.Namespace{DB: "db", Coll: "from"}, agg.NewOutline([]bson.Raw{s.raw(`{$out: "c"}`)}), bson.Value{})
	if err == nil {
		_, err = stream.Next(o.Env)
		stream.Close()
	}
	if mongoerr.CodeOf(err) != 28769 {
		t.Error(err)
	}
}

// A find on two shards that ends after three of at most 50 rows is charged.
func TestReadAheadIsCharged(t *testing.T) {
	s := newScene(t)
	s.create(made{ShardKey: s.raw(`{k: "hashed"}`), Shards: 2})
	s.fill(100)
	o := s.op(t.Context())
	stream, err := s.Find(o, dbc, plan.Find{Limit: 50})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if row, err := stream.Next(o.Env); row == nil || err != nil {
			t.Fatal(row, err)
		}
	}
	stream.Settle()
	stream.Close()
	if o.Receipt.Total() == 0 {
		t.Error("a read of two shards was free")
	}
}

// sortErrors puts the errors of 100,000 statements in the order of their statements.
func TestSortErrors(t *testing.T) {
	errs := make([]mongoerr.WriteError, 100_000)
	for i := range errs {
		errs[i].Index = int32(len(errs) - i)
	}
	sortErrors(errs)
	for i := range errs {
		if errs[i].Index != int32(i+1) {
			t.Fatalf("at place %d is the error of statement %d", i, errs[i].Index)
		}
	}
}

// A view that names the view below it twice doubles the pipelines. From 14 such views on top of each other, agg.Below
// returns ViewPipelineMaxSizeExceeded; up to 13 it succeeds.
func TestViewTrees(t *testing.T) {
	s := newScene(t)
	s.create(made{})
	below := "c"
	for i := range 18 {
		name := fmt.Sprint("tree", i)
		options := fmt.Sprintf(`{viewOn: %q, pipeline: [{$unionWith: %q}]}`, below, below)
		if err := s.Create(s.op(t.Context()), collection.Namespace{DB: "db", Coll: name}, made{Raw: s.raw(options)}); err != nil {
			t.Fatal(err)
		}
		below = name
		_, err := agg.Below(s.catalog.Peek(), []collection.Namespace{{DB: "db", Coll: name}})
		if bounded := mongoerr.CodeOf(err) == mongoerr.ViewPipelineMaxSizeExceeded; err != nil && !bounded || bounded != (i > 12) {
			t.Errorf("%d levels: %v", i+1, err)
		}
	}
}
