package catalog_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/bson/ejson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/index"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/collection/release"
	"github.com/cantledb/cantle/collection/shard"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/keyspace"
	"github.com/cantledb/cantle/storage/memkv"
)

// room is a catalog over a store, with helpers.
type room struct {
	*catalog.Catalog
	t     testing.TB
	store storage.Store
}

func newRoom(t testing.TB) *room {
	t.Helper()
	store := memkv.Open(memkv.Options{})
	t.Cleanup(func() { bsontest.Must(t, store.Close()) })
	c, err := catalog.Open(context.Background(), store, release.Default)
	bsontest.Must(t, err)
	return &room{c, t, store}
}

func ns(text string) collection.Namespace {
	db, coll, _ := strings.Cut(text, ".")
	return collection.Namespace{DB: db, Coll: coll}
}

func env() *mql.Env { return mql.NewEnv(context.Background()) }

// change runs a Change that must succeed.
func (r *room) change(fn func(m *catalog.Mutation) error) {
	r.t.Helper()
	bsontest.Must(r.t, r.Change(context.Background(), fn))
}

// create makes a collection.
func (r *room) create(name, options string) *catalog.Collection {
	r.t.Helper()
	r.change(func(m *catalog.Mutation) error {
		c, err := m.NewCollection(env(), ns(name), bsontest.Doc(r.t, options))
		if err != nil {
			return err
		}
		return m.Put(c)
	})
	return r.Peek().Collection(ns(name))
}

// put replaces a collection with a changed copy.
func (r *room) put(name string, fn func(c *catalog.Collection)) *catalog.Collection {
	r.t.Helper()
	r.change(func(m *catalog.Mutation) error { return m.Put(m.Snapshot().Collection(ns(name)).With(fn)) })
	return r.Peek().Collection(ns(name))
}

func newIndex(t testing.TB, text string, id keyspace.IndexID, state catalog.IndexState) *catalog.Index {
	t.Helper()
	spec, err := index.ParseSpec(env(), bsontest.Doc(t, text))
	bsontest.Must(t, err)
	return &catalog.Index{Spec: spec, ID: id, State: state}
}

// text prints the databases, collections and indexes of a snapshot, for comparison with another.
func text(s *catalog.Snapshot) string {
	var b strings.Builder
	for _, d := range s.Databases() {
		fmt.Fprintf(&b, "%s %+v\n", d.Name, d.Throughput)
	}
	for _, c := range s.Collections("") {
		fmt.Fprintf(&b, "%s %d %x version %d next %d %+v shares %+v zones %v unbalanced %t unmerged %t\n  options %s\n", c.Namespace, c.ID, c.UUID, c.Version,
			c.NextIndex, c.Throughput, c.Shares, c.Zones, c.Unbalanced, c.Unmerged, ejson.String(c.Options.Raw))
		if c.Sharded() {
			fmt.Fprintf(&b, "  key %s seed %d\n", ejson.String(c.Key.Spec()), c.Key.Seed())
		}
		if c.Map != nil {
			fmt.Fprintf(&b, "  map %s\n", ejson.String(c.Map.Encode()))
		}
		for _, ix := range c.Indexes {
			m := bson.NewBuilder(nil)
			ix.Multikey.Append(m)
			fmt.Fprintf(&b, "  index %d %s %s multikey %s unique %t\n", ix.ID, ix.State, ejson.String(ix.Raw()), ejson.String(m.Doc()), ix.Unique)
		}
		if s.ByID(c.ID) != c || s.Collection(c.Namespace) != c {
			fmt.Fprintf(&b, "  is not found by its number or name\n")
		}
	}
	return b.String()
}

// reopened opens another catalog over the same store, as a restarted server does, requires that its snapshot equals the
// current one of r, and returns it.
func (r *room) reopened() *catalog.Catalog {
	r.t.Helper()
	c, err := catalog.Open(context.Background(), r.store, release.Default)
	bsontest.Must(r.t, err)
	if got, want := text(c.Peek()), text(r.Peek()); got != want {
		r.t.Fatalf("a new process reads\n%s\nof\n%s", got, want)
	}
	return c
}

// TestReopen makes one change after another. After each, another catalog over the same store must have the same
// contents.
func TestReopen(t *testing.T) {
	r := newRoom(t)
	r.reopened()
	for _, options := range []string{`{}`, `{capped: true, size: 1000, max: 5}`, `{viewOn: "c0", pipeline: [{$match: {a: 1}}]}`,
		`{collation: {locale: "en", strength: 2}}`, `{validator: {a: {$gt: 1}}, validationLevel: "moderate"}`,
		`{timeseries: {timeField: "t", metaField: "m"}, expireAfterSeconds: 60}`, `{clusteredIndex: {key: {_id: 1}, unique: true, name: "x"}}`} {
		r.create(fmt.Sprintf("shop.c%d", len(r.Peek().Collections(""))), options)
		r.reopened()
	}
	key, err := shard.ParseKeyPattern(bsontest.Doc(t, `{a: 1, b: 1}`))
	bsontest.Must(t, err)
	for _, step := range []func(c *catalog.Collection){
		func(c *catalog.Collection) {
			c.Key = key.WithSeed(1<<63 + 5)
			c.Map, err = shard.NewMap(shard.Ranged, 2, 1)
		},
		func(c *catalog.Collection) {
			c.Map, err = c.Map.Split(0, c.Key.Prefix(bsontest.Doc(t, `{a: 5}`).Get("a")))
		},
		func(c *catalog.Collection) { c.Map, err = c.Map.Settle(2) },
		func(c *catalog.Collection) {
			c.Throughput = catalog.Throughput{Mode: catalog.ThroughputAutoscale, RU: 4000, HighestRU: 9000}
		},
		func(c *catalog.Collection) {
			c.Throughput.Switches = catalog.Switches{ServerSideRetry: catalog.On, Burst: catalog.Off, PerMinute: catalog.On,
				Buckets: [catalog.BucketsMax]catalog.Bucket{{Percent: 10, AppName: "a"}, {}, {Percent: 20}}}
		},
		func(c *catalog.Collection) { c.Shares = []catalog.Share{{Shard: 1, RU: 1000}, {Shard: 2, RU: 3000}} },
		func(c *catalog.Collection) {
			lo := c.Key.Prefix(bsontest.Doc(t, `{a: 5}`).Get("a"))
			c.Zones = []catalog.Zone{{Name: "west", Range: shard.Range{Hi: lo}}, {Name: "east", Range: shard.Range{Lo: lo}}}
		},
		func(c *catalog.Collection) { c.Unbalanced = true },
		func(c *catalog.Collection) { c.Unbalanced, c.Unmerged = false, true },
		func(c *catalog.Collection) {
			ix := newIndex(t, `{key: {b: -1, "c.d": 1}, name: "bc", unique: true, partialFilterExpression: {x: {$gt: 1}}}`, c.NextIndex, catalog.IndexBuilding)
			c.Indexes, c.NextIndex = append(c.Indexes, ix), c.NextIndex+1
		},
		func(c *catalog.Collection) {
			ix := *c.Indexes[1]
			ix.State, ix.Multikey = catalog.IndexReady, index.ParseMultikey(bsontest.Doc(t, `{"c.d": {"$binary":{"base64":"AAE=","subType":"00"}}}`))
			c.Indexes[1] = &ix
		},
		func(c *catalog.Collection) {
			c.Indexes[1] = newIndex(t, `{key: {b: 1}, name: "b"}`, 2, catalog.IndexDropping)
		},
		func(c *catalog.Collection) { c.Indexes = c.Indexes[:1] },
	} {
		r.put("shop.c0", step)
		bsontest.Must(t, err)
		r.reopened()
	}
	r.change(func(m *catalog.Mutation) error {
		m.PutDatabase(&catalog.Database{Name: "other", Throughput: catalog.Throughput{Mode: catalog.ThroughputManual, RU: 400}})
		return nil
	})
	r.reopened()
	id := r.Peek().Collection(ns("shop.c1")).ID
	r.put("shop.c1", func(c *catalog.Collection) { c.Namespace = ns("other.moved") })
	if r.Peek().Collection(ns("shop.c1")) != nil || r.Peek().Collection(ns("other.moved")).ID != id {
		t.Error("a renamed collection keeps its name")
	}
	r.reopened()
	r.change(func(m *catalog.Mutation) error {
		for _, c := range m.Snapshot().Collections("shop") {
			m.Drop(c)
		}
		m.DropDatabase("shop")
		return nil
	})
	if got := len(r.Peek().Collections("")); got != 1 || r.Peek().Database("shop") != nil {
		t.Errorf("%d collections after the drop", got)
	}
	fresh := r.reopened()
	last := r.create("shop.again", `{}`)
	if last.ID != 8 {
		t.Errorf("number %d; numbers are never given twice", last.ID)
	}
	if err := fresh.Change(context.Background(), func(m *catalog.Mutation) error {
		c, err := m.NewCollection(env(), ns("shop.x"), nil)
		if err == nil && c.ID != 9 {
			t.Errorf("a new process gives number %d", c.ID)
		}
		return errors.Join(err, errors.New("enough"))
	}); err == nil {
		t.Error("the error of a step is lost")
	}
}

// TestVersions checks the versions of snapshots and entries after successful, failed and empty
// changes.
func TestVersions(t *testing.T) {
	r := newRoom(t)
	a, b := r.create("shop.a", `{}`), r.create("shop.b", `{}`)
	before := r.Peek()
	shown := text(before)
	if a.Version+1 != b.Version || b.Version != before.Version {
		t.Errorf("versions %d, %d of snapshot %d", a.Version, b.Version, before.Version)
	}
	no := errors.New("no")
	for _, fn := range []func(m *catalog.Mutation) error{
		func(m *catalog.Mutation) error {
			m.Drop(a)
			m.PutDatabase(&catalog.Database{Name: "x"})
			return no
		},
		func(m *catalog.Mutation) error { return nil },
	} {
		if err := r.Change(context.Background(), fn); err != nil && err != no {
			t.Fatal(err)
		}
		if r.Peek() != before {
			t.Fatal("a step that failed or did nothing is published")
		}
	}
	changed := r.put("shop.a", func(c *catalog.Collection) { c.Unbalanced = true })
	now := r.Peek()
	if changed.Version != before.Version+1 || now.Version != changed.Version || now.Collection(ns("shop.b")) != b {
		t.Errorf("version %d of snapshot %d after %d", changed.Version, now.Version, before.Version)
	}
	if text(before) != shown || before.Collection(ns("shop.a")) != a {
		t.Error("a change shows in an older snapshot")
	}
	for _, c := range []struct {
		name string
		want mongoerr.Code
	}{{"shop.b", mongoerr.NamespaceExists}, {"SHOP.c", 13297}, {"shop.B", 0}} {
		err := r.Change(context.Background(), func(m *catalog.Mutation) error {
			n, err := m.NewCollection(env(), ns(c.name), nil)
			bsontest.Must(t, err)
			return m.Put(n)
		})
		if mongoerr.CodeOf(err) != c.want || c.want == 0 && err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// TestVisibleFrom checks that a new shard map and an index that becomes ready set VisibleFrom to their commit, because
// readers of older snapshots of the store would miss entries, and that the other changes of the table do not move it.
func TestVisibleFrom(t *testing.T) {
	r := newRoom(t)
	r.create("shop.a", `{}`)
	for _, c := range []struct {
		name  string
		fn    func(c *catalog.Collection)
		moves bool
	}{
		{"an option", func(c *catalog.Collection) { c.Unbalanced = true }, false},
		{"a new map", func(c *catalog.Collection) { c.Map, _ = shard.NewMap(shard.Unsharded, 1, 1) }, true},
		{"a building index", func(c *catalog.Collection) {
			c.Indexes = append(c.Indexes, newIndex(t, `{key: {a: 1}, name: "a"}`, 2, catalog.IndexBuilding))
		}, false},
		{"a ready index", func(c *catalog.Collection) {
			c.Indexes[1] = newIndex(t, `{key: {a: 1}, name: "a"}`, 2, catalog.IndexReady)
		}, true},
		{"nothing", func(c *catalog.Collection) {}, false},
		{"a dropping index", func(c *catalog.Collection) {
			c.Indexes[1] = newIndex(t, `{key: {a: 1}, name: "a"}`, 2, catalog.IndexDropping)
		}, false},
	} {
		before := r.Peek().Collection(ns("shop.a")).VisibleFrom
		got := r.put("shop.a", c.fn).VisibleFrom
		if want := map[bool]storage.Timestamp{false: before, true: r.store.Latest()}[c.moves]; got != want {
			t.Errorf("%s: visible from %v, want %v", c.name, got, want)
		}
	}
}

// TestChangeIn checks that ChangeIn commits a change with the given transaction, and publishes nothing if that
// transaction conflicts.
func TestChangeIn(t *testing.T) {
	r := newRoom(t)
	ctx := context.Background()
	begin := func() storage.Txn {
		t.Helper()
		txn, err := r.store.Begin(ctx, storage.TxnOptions{})
		bsontest.Must(t, err)
		return txn
	}
	txn := begin()
	bsontest.Must(t, txn.Set([]byte("x"), []byte("1")))
	if at, err := r.ChangeIn(ctx, txn, storage.Synced, func(*catalog.Mutation) error { return nil }); at != 0 || err != nil {
		t.Fatalf("nothing was changed: %v, %v", at, err)
	}
	at, err := r.ChangeIn(ctx, txn, storage.Synced, func(m *catalog.Mutation) error {
		m.PutDatabase(&catalog.Database{Name: "d"})
		return nil
	})
	if at != r.store.Latest() || err != nil || r.Peek().Database("d") == nil {
		t.Fatalf("changed at %v, %v", at, err)
	}
	before := r.Peek()
	late, other := begin(), begin()
	bsontest.Must(t, late.Set([]byte("x"), []byte("2")))
	bsontest.Must(t, other.Set([]byte("x"), []byte("3")))
	_, err = other.Commit(ctx, storage.Synced)
	bsontest.Must(t, err)
	if _, err := r.ChangeIn(ctx, late, storage.Synced, func(m *catalog.Mutation) error {
		m.DropDatabase("d")
		return nil
	}); !errors.Is(err, storage.ErrConflict) || r.Peek() != before {
		t.Errorf("a change whose transaction conflicts: %v, published %t", err, r.Peek() != before)
	}
	r.reopened()
}

// TestDrain checks that Drain waits for the pins of those catalog entries of its collection that were replaced when it
// began, and for no others: not of the newest, not of later ones, not of another collection. If its context is
// cancelled, it returns the cause.
func TestDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRoom(t)
		ctx := context.Background()
		mine, other := r.create("d.c", `{}`), r.create("d.other", `{}`)
		step := func() {
			t.Helper()
			r.change(func(m *catalog.Mutation) error {
				return m.Put(m.Snapshot().ByID(mine.ID).With(func(c *catalog.Collection) { c.Unmerged = !c.Unmerged }))
			})
		}
		pin := func() *catalog.Collection {
			t.Helper()
			snap, coll := r.Pin(mine.Namespace)
			if snap != r.Peek() || coll != snap.ByID(mine.ID) {
				t.Error("Pin does not give the newest")
			}
			return coll
		}
		drain := func(ctx context.Context) *error {
			var result *error
			go func() {
				err := r.Drain(ctx, mine.ID)
				result = &err
			}()
			synctest.Wait()
			if result == nil {
				return nil
			}
			return result
		}
		done := func(what string, want bool) {
			t.Helper()
			ctx, cancel := context.WithCancel(ctx)
			got := drain(ctx)
			cancel()
			synctest.Wait()
			if (got != nil) != want || want && *got != nil {
				t.Fatalf("%s: drained %t", what, got != nil)
			}
		}
		_, foreign := r.Pin(other.Namespace)
		r.change(func(m *catalog.Mutation) error { m.Drop(other); return nil })
		one := pin()
		done("the newest is pinned, and one of another collection", true)
		step()
		done("an old one is pinned", false)
		two, again := pin(), pin()
		step()
		one.Unpin()
		done("one of two old ones is pinned, twice", false)
		two.Unpin()
		done("one is pinned once", false)
		_, three := r.PinIDs(other.ID, mine.ID)
		again.Unpin()
		done("only the newest is pinned", true)
		step()
		done("an old one is pinned by its number", false)
		three()
		done("none is pinned", true)

		four := pin()
		step()
		finished := make(chan error, 1)
		go func() { finished <- r.Drain(ctx, mine.ID) }()
		synctest.Wait()
		step() // a drain waits for the entries that were old when it began
		five := pin()
		step()
		four.Unpin()
		synctest.Wait()
		select {
		case err := <-finished:
			bsontest.Must(t, err)
		default:
			t.Error("a drain waits for an entry that was the newest when it began, or came later")
		}
		five.Unpin()

		six := pin()
		r.change(func(m *catalog.Mutation) error { m.Drop(m.Snapshot().ByID(mine.ID)); return nil })
		gone := errors.New("gone")
		cause, cancel := context.WithCancelCause(ctx)
		go func() { finished <- r.Drain(cause, mine.ID) }()
		synctest.Wait()
		cancel(gone)
		if err := <-finished; err != gone {
			t.Errorf("a drain of what was dropped that is called off: %v", err)
		}
		six.Unpin()
		done("what was dropped is not pinned", true)
		if _, coll := r.Pin(mine.Namespace); coll != nil {
			t.Error("a pin of nothing")
		}
		foreign.Unpin()
		bsontest.Must(t, r.Drain(ctx, other.ID))
	})
}

// TestSettled checks that Settled, called while a change is in progress, returns the snapshot that contains this
// change.
func TestSettled(t *testing.T) {
	r := newRoom(t)
	before := r.Peek().Version
	began, settled := make(chan struct{}), make(chan uint64, 1)
	r.change(func(m *catalog.Mutation) error {
		m.PutDatabase(&catalog.Database{Name: "d"})
		go func() {
			close(began)
			settled <- r.Settled().Version
		}()
		<-began
		for range 100 {
			runtime.Gosched()
		}
		return nil
	})
	if got := <-settled; got != before+1 {
		t.Errorf("settled at version %d, want %d", got, before+1)
	}
}

// TestViewsOfSnapshots checks that Adopt returns a snapshot with one more collection, and Without one with one less,
// and that neither changes the snapshot it is called on.
func TestViewsOfSnapshots(t *testing.T) {
	r := newRoom(t)
	a := r.create("shop.a", `{}`)
	s := r.Peek()
	shown := text(s)
	b := a.With(func(c *catalog.Collection) { c.Namespace, c.ID = ns("new.b"), 99 })
	with, without := s.Adopt(b), s.Without(a)
	if with.Collection(ns("new.b")) != b || with.ByID(99) != b || with.Database("new") == nil || with.Collection(ns("shop.a")) != a || with.Version != s.Version {
		t.Error("Adopt lacks something")
	}
	if without.Collection(ns("shop.a")) != nil || without.ByID(a.ID) != nil || without.Database("shop") == nil {
		t.Error("Without has it still")
	}
	if text(s) != shown || s.Database("new") != nil {
		t.Error("the snapshot was changed")
	}
	if _, err := without.Lookup(ns("shop.a")); mongoerr.CodeOf(err) != mongoerr.NamespaceNotFound {
		t.Errorf("Lookup: %v", err)
	}
}

// TestResolve resolves views to the collections below them, with the stages between, and the names of buckets
// (system.buckets.ts) to their time-series collections.
func TestResolve(t *testing.T) {
	r := newRoom(t)
	base := r.create("shop.base", `{}`)
	r.create("shop.v1", `{viewOn: "base", pipeline: [{$match: {a: 1}}]}`)
	r.create("shop.v2", `{viewOn: "v1", pipeline: [{$match: {b: 1}}, {$limit: 1}]}`)
	r.create("shop.lost", `{viewOn: "nothing", pipeline: []}`)
	r.create("shop.x", `{viewOn: "y", pipeline: []}`)
	r.create("shop.y", `{viewOn: "x", pipeline: []}`)
	series := r.create("shop.ts", `{timeseries: {timeField: "t"}}`)
	for _, c := range []struct {
		name, at, stages string
		coll             *catalog.Collection
		err              mongoerr.Code
	}{
		{"shop.base", "shop.base", "", base, 0},
		{"shop.v1", "shop.base", `{"$match":{"a":1}}`, base, 0},
		{"shop.v2", "shop.base", `{"$match":{"a":1}}{"$match":{"b":1}}{"$limit":1}`, base, 0},
		{"shop.lost", "shop.nothing", "", nil, 0},
		{"shop.x", "shop.x", "", nil, 165},
	} {
		coll, at, stages, err := r.Peek().Resolve(ns(c.name))
		got := ""
		for _, s := range stages {
			got += ejson.String(s)
		}
		if coll != c.coll || at != ns(c.at) || got != c.stages || mongoerr.CodeOf(err) != c.err {
			t.Errorf("%s: %v at %v, stages %s, %v", c.name, coll, at, got, err)
		}
	}
	if r.Peek().Series(ns("shop.system.buckets.ts")) != series || r.Peek().Series(ns("shop.system.buckets.base")) != nil || r.Peek().Series(ns("shop.ts")) != nil {
		t.Error("Series finds the wrong collections")
	}
}
