package ddl_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/ejson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/changelog"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/collection/plan"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/shard/cluster"
	"github.com/cantledb/cantle/shard/ddl"
	"github.com/cantledb/cantle/shard/jobs"
	"github.com/cantledb/cantle/shard/tally"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/memkv"
)

// node is a data plane with its Definer over a store.
type node struct {
	*cluster.Cluster
	*ddl.Definer
	t      *testing.T
	store  storage.Store
	strict bool
}

func newNode(t *testing.T, limits ddl.Limits) *node {
	t.Helper()
	store := memkv.Open(memkv.Options{})
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return openNode(t, store, limits)
}

func openNode(t *testing.T, store storage.Store, limits ddl.Limits) *node {
	t.Helper()
	cat, err := catalog.Open(t.Context(), store)
	if err != nil {
		t.Fatal(err)
	}
	budgets, board := &ratelimit.Budgets{}, &tally.Board{}
	runner := jobs.New(jobs.Config{Store: store, Catalog: cat, Budgets: budgets, Tally: board, Now: time.Now})
	data := cluster.New(cluster.Config{Store: store, Catalog: cat, Budgets: budgets, Tally: board, Now: time.Now})
	d := &node{t: t, store: store, Cluster: data, Definer: ddl.New(data, ddl.Config{Jobs: runner, Limits: limits})}
	data.AttachDefiner(d.Definer)
	if err := runner.Recover(t.Context()); err != nil {
		t.Fatal(err)
	}
	d.RestoreBudgets()
	return d
}

func (d *node) op() *cluster.Op {
	o := &cluster.Op{Env: mql.NewEnv(context.Background())}
	o.Env.Strict = d.strict
	return o
}

func (d *node) raw(text string) bson.Raw {
	d.t.Helper()
	if text == "" {
		return nil
	}
	r, err := ejson.Parse(text)
	if err != nil {
		d.t.Fatalf("%s: %v", text, err)
	}
	return r
}

func (d *node) raws(texts ...string) (out []bson.Raw) {
	d.t.Helper()
	for _, s := range texts {
		out = append(out, d.raw(s))
	}
	return out
}

// want checks the code of an error as a client sees it; 0 is none.
func (d *node) want(what string, err error, code mongoerr.Code) {
	d.t.Helper()
	var e *mongoerr.Error
	switch {
	case err == nil && code == 0:
	case errors.As(cluster.Translate(err), &e) && e.Code == code:
	default:
		d.t.Errorf("%s: got %v, want code %d", what, err, code)
	}
}

func ns(s string) collection.Namespace { return collection.ParseNamespace(s) }

func (d *node) insert(name string, docs ...string) {
	d.t.Helper()
	_, errs, err := d.Insert(d.op(), ns(name), d.raws(docs...), true)
	if err != nil || len(errs) > 0 {
		d.t.Fatal(err, errs)
	}
}

func TestCreate(t *testing.T) {
	d := newNode(t, ddl.Limits{})
	for _, c := range []struct {
		ns, options string
		code        mongoerr.Code
	}{
		{"db.a", ``, 0},
		{"db.a", ``, 0}, // the same again
		{"db.a", `{capped: true, size: 4096}`, 48},
		{"db.capped", `{capped: true, size: 4096, max: 3}`, 0},
		{"db.capped", `{max: 3, size: 4096, capped: true}`, 0},
		{"DB.a", ``, 13297},
		{"db.", ``, 73},
		{"db.a$b", ``, 73},
		{"db..a", ``, 73},
		{"db.x\x00y", ``, 73},
		{"d b.x", ``, 73},
		{"db." + strings.Repeat("x", 253), ``, 73},
		{"db.b", `{size: 5}`, 72},
		{"db.b", `{capped: true}`, 72},
		{"db.b", `{pipeline: []}`, 72},
		{"db.b", `{viewOn: ""}`, 2},
		{"db.b", `{collation: {locale: "xx"}}`, 2},
		{"db.b", `{validator: {$foo: 1}}`, 2},
		{"db.v", `{viewOn: "a", pipeline: [{$match: {x: 1}}]}`, 0},
		{"db.v", `{viewOn: "a", pipeline: [{$match: {x: 1}}]}`, 0},
		{"db.v", `{viewOn: "a", pipeline: []}`, 48},
		{"db.v2", `{viewOn: "v", capped: true, size: 1}`, 72},
		{"db.v2", `{viewOn: "a", pipeline: [{$nope: 1}]}`, 40324},
		{"db.self", `{viewOn: "self", pipeline: []}`, 5},
		{"db.v3", `{viewOn: "v4", pipeline: []}`, 0},
		{"db.v4", `{viewOn: "v3", pipeline: []}`, 5},
		{"db.german", `{collation: {locale: "de"}}`, 0},
	} {
		d.want(c.ns+" "+c.options, d.Create(d.op(), ns(c.ns), ddl.CreateOptions{Raw: d.raw(c.options)}), c.code)
	}
	if d.Catalog.Peek().Collection(ns("db.v4")) != nil {
		t.Error("a refused view exists")
	}
	if d.Catalog.Peek().Collection(ns("db.german")).IDIndex().Collation == nil {
		t.Error("_id has no collation")
	}
	d.want("create index", second(d.CreateIndexes(d.op(), ns("db.german"), d.raws(`{key: {a: 1}, name: "a"}`))), 0)
	if d.Catalog.Peek().Collection(ns("db.german")).Index("a").Collation == nil {
		t.Error("the index has no collation")
	}
}

func second(_ ddl.Indexed, err error) error { return err }

func TestCreateSharded(t *testing.T) {
	manual := func(ru int64) catalog.Throughput { return catalog.Throughput{Mode: catalog.ThroughputManual, RU: ru} }
	d := newNode(t, ddl.Limits{DefaultShards: 3, DefaultRU: 0})
	key := d.raw(`{k: "hashed"}`)
	for name, c := range map[string]struct {
		o      ddl.CreateOptions
		code   mongoerr.Code
		shards int
	}{
		"default": {ddl.CreateOptions{ShardKey: key}, 0, 3},
		"asked":   {ddl.CreateOptions{ShardKey: key, Shards: 5}, 0, 5},
		"by ru":   {ddl.CreateOptions{ShardKey: key, Throughput: manual(12_100)}, 0, 3},
		"auto":    {ddl.CreateOptions{ShardKey: key, Throughput: catalog.Throughput{Mode: catalog.ThroughputAutoscale, RU: 40_000}}, 0, 4},
		"fixed":   {ddl.CreateOptions{Throughput: manual(400)}, 0, 1},
		"odd":     {ddl.CreateOptions{Throughput: manual(450)}, 2, 0},
		"low":     {ddl.CreateOptions{Throughput: manual(300)}, 2, 0},
		"no key":  {ddl.CreateOptions{Throughput: manual(20_000)}, 2, 0},
		"ranged":  {ddl.CreateOptions{ShardKey: d.raw(`{k: 1}`)}, 0, 1},
		"no hash": {ddl.CreateOptions{ShardKey: d.raw(`{k: "h"}`)}, 2, 0},
		"indexes": {ddl.CreateOptions{ShardKey: key, Indexes: d.raws(`{key: {_id: 1}, name: "_id_"}`, `{key: {k: 1, a: 1}, name: "x", unique: true}`)}, 0, 3},
		"unique":  {ddl.CreateOptions{ShardKey: key, Indexes: d.raws(`{key: {a: 1}, name: "x", unique: true}`)}, 67, 0},
	} {
		at := collection.Namespace{DB: "db", Coll: name}
		d.want(name, d.Create(d.op(), at, c.o), c.code)
		if coll := d.Catalog.Peek().Collection(at); (coll != nil) != (c.code == 0) || coll != nil && coll.Map.Len() != c.shards {
			t.Errorf("%s: %+v", name, coll)
		} else if coll != nil {
			if pool := d.Budgets.Collection(uint64(coll.ID)); pool.Throughput() != jobs.Provisioned(c.o.Throughput) || len(pool.Shares()) != c.shards {
				t.Errorf("%s: budget %+v over %d", name, pool.Throughput(), len(pool.Shares()))
			}
		}
	}
}

func TestThroughput(t *testing.T) {
	manual := func(ru int64) catalog.Throughput { return catalog.Throughput{Mode: catalog.ThroughputManual, RU: ru} }
	d := newNode(t, ddl.Limits{DefaultRU: 400})
	var changed []collection.Namespace
	d.Changed = func(n collection.Namespace) { changed = append(changed, n) }
	d.insert("db.c", `{_id: 1}`)
	got, shared, err := d.Throughput(ns("db.c"))
	if err != nil || shared || got.RU != 400 {
		t.Fatal(got, shared, err)
	}
	d.want("raise", d.SetThroughput(d.op(), ns("db.c"), manual(5000)), 0)
	d.want("switch", d.SetThroughput(d.op(), ns("db.c"), catalog.Throughput{Mode: catalog.ThroughputAutoscale, RU: 4000}), 2)
	d.want("step", d.SetThroughput(d.op(), ns("db.c"), manual(1050)), 2)
	d.want("missing", d.SetThroughput(d.op(), ns("db.none"), manual(500)), 26)
	if len(changed) != 1 {
		t.Errorf("changed %v", changed)
	}
	d.want("database", d.CreateDatabase(d.op(), "pool", manual(1000)), 0)
	d.want("database again", d.CreateDatabase(d.op(), "pool", manual(1000)), 48)
	d.insert("pool.c", `{_id: 1}`)
	got, shared, err = d.Throughput(ns("pool.c"))
	if err != nil || !shared || got.RU != 0 {
		t.Fatal(got, shared, err)
	}
	if !d.Budgets.Collection(uint64(d.Catalog.Peek().Collection(ns("pool.c")).ID)).Shared() {
		t.Error("the budget is not shared")
	}
	d.want("raise database", d.SetDatabaseThroughput(d.op(), "pool", manual(2000)), 0)
	d.want("missing database", d.SetDatabaseThroughput(d.op(), "none", manual(2000)), 26)
	d.strict = true
	d.want("strict", d.Create(d.op(), ns("pool.d"), ddl.CreateOptions{}), 2)
	// Everything is there again after a start.
	d = openNode(t, d.store, ddl.Limits{})
	id := uint64(d.Catalog.Peek().Collection(ns("db.c")).ID)
	if got := d.Budgets.Collection(id).Throughput(); got.RUs != 5000 {
		t.Errorf("restored %+v", got)
	}
	if db, err := d.DatabaseThroughput("pool"); err != nil || db.RU != 2000 || d.Budgets.Database("pool").Throughput().RUs != 2000 {
		t.Error(db, err)
	}
}

func TestDropAndRename(t *testing.T) {
	d := newNode(t, ddl.Limits{})
	var gone []string
	d.Dropped = func(n collection.Namespace) { gone = append(gone, n.String()) }
	d.insert("db.a", `{_id: 1}`)
	d.insert("db.b", `{_id: 2}`)
	d.want("view", d.Create(d.op(), ns("db.v"), ddl.CreateOptions{Raw: d.raw(`{viewOn: "a", pipeline: []}`)}), 0)
	d.want("missing", d.Rename(d.op(), ns("db.none"), ns("db.x"), false), 26)
	d.want("exists", d.Rename(d.op(), ns("db.a"), ns("db.b"), false), 48)
	d.want("itself", d.Rename(d.op(), ns("db.a"), ns("db.a"), true), 20)
	d.want("view", d.Rename(d.op(), ns("db.v"), ns("db.x"), false), 166)
	d.want("onto a view", d.Rename(d.op(), ns("db.a"), ns("db.v"), true), 48)
	d.want("bad name", d.Rename(d.op(), ns("db.a"), ns("db.$x"), true), 73)
	d.want("replace", d.Rename(d.op(), ns("db.a"), ns("db.b"), true), 0)
	d.want("other database", d.Rename(d.op(), ns("db.b"), ns("other.b"), false), 0)
	if n, err := d.Count(d.op(), ns("other.b"), plan.Find{}); n != 1 || err != nil {
		t.Error(n, err)
	}
	if ok, err := d.Drop(d.op(), ns("db.b")); ok || err != nil {
		t.Error(ok, err)
	}
	if ok, err := d.Drop(d.op(), ns("db.v")); !ok || err != nil {
		t.Error(ok, err)
	}
	d.want("drop database", d.DropDatabase(d.op(), "other"), 0)
	d.want("drop no database", d.DropDatabase(d.op(), "other"), 0)
	if s := d.Catalog.Peek(); s.Database("other") != nil || len(s.Collections("")) != 0 {
		t.Error("something is left")
	}
	if got := strings.Join(gone, " "); got != "db.a db.b db.b db.v other.b" {
		t.Error(got)
	}
	if got := d.logged(); got != strings.Join([]string{"create", "create", "create", "renameCollection", "renameCollection", "drop", "drop", "dropDatabase"}, " ") {
		t.Error(got)
	}
}

// logged lists the commands in the change log.
func (d *node) logged() string {
	d.t.Helper()
	var out []string
	if err := d.store.Sync(d.t.Context()); err != nil {
		d.t.Fatal(err)
	}
	_, err := d.store.ReadLog(d.t.Context(), changelog.Stream, 0, func(_, _ storage.Timestamp, rec []byte) bool {
		r, err := changelog.Decode(rec)
		if err != nil {
			d.t.Error(err)
		}
		if r.Op == changelog.Command {
			o, _ := r.Doc.Get("o").Doc()
			f, _ := o.First()
			out = append(out, string(f.Name))
			if db, _ := r.Doc.Get("ns").Str(); !strings.HasSuffix(db, ".$cmd") {
				d.t.Error(r.Doc)
			}
		}
		return true
	})
	if err != nil {
		d.t.Fatal(err)
	}
	return strings.Join(out, " ")
}

func TestIndexes(t *testing.T) {
	d := newNode(t, ddl.Limits{})
	c := ns("db.c")
	r, err := d.CreateIndexes(d.op(), c, d.raws(`{key: {a: 1}, name: "a_1"}`))
	if err != nil || !r.Created || r.Before != 1 || r.After != 2 || r.Note != "" {
		t.Fatal(r, err)
	}
	for _, x := range []struct {
		spec string
		code mongoerr.Code
	}{
		{`{key: {a: 1}, name: "a_1"}`, 0},
		{`{key: {_id: 1}, name: "_id_"}`, 0},
		{`{key: {a: 1}, name: "other"}`, 85},
		{`{key: {a: 1}, name: "a_1", hidden: true}`, 85},
		{`{key: {b: 1}, name: "a_1"}`, 86},
		{`{key: {a: 1}, name: "a_1", unique: true}`, 86},
		{`{key: {}, name: "x"}`, 67},
		{`{key: {a: 1}, name: "x", what: 1}`, 197},
		{`{key: {a: -1}, name: "a_-1"}`, 0},
	} {
		d.want(x.spec, second(d.CreateIndexes(d.op(), c, d.raws(x.spec))), x.code)
	}
	d.want("half", second(d.CreateIndexes(d.op(), c, d.raws(`{key: {z: 1}, name: "z"}`, `{key: {y: 1}, name: "z"}`))), 86)
	drop := func(key string, names ...string) error {
		_, err := d.DropIndexes(d.op(), c, names, d.raw(key))
		return err
	}
	d.want("no collection", func() error { _, err := d.DropIndexes(d.op(), ns("db.none"), []string{"*"}, nil); return err }(), 26)
	d.want("no index", drop("", "nope"), 27)
	d.want("_id", drop("", "_id_"), 72)
	d.want("_id by key", drop(`{_id: 1}`), 72)
	d.want("twice", drop("", "a_1", "a_1"), 27)
	d.want("partly", drop("", "a_1", "nope"), 27)
	d.want("key", drop(`{a: 1, b: 1}`), 27)
	d.want("by key", drop(`{a: 1}`), 0)
	d.want("ambiguous", second(d.CreateIndexes(d.op(), c, d.raws(`{key: {t: 1}, name: "t1"}`, `{key: {t: 1}, name: "t2", sparse: true}`))), 0)
	d.want("ambiguous", drop(`{t: 1}`), 181)
	if was, err := d.DropIndexes(d.op(), c, []string{"*"}, nil); was != 4 || err != nil {
		t.Error(was, err)
	}
	if len(d.Catalog.Peek().Collection(c).Indexes) != 1 {
		t.Error("indexes are left")
	}
	d.want("view", d.Create(d.op(), ns("db.v"), ddl.CreateOptions{Raw: d.raw(`{viewOn: "c", pipeline: []}`)}), 0)
	d.want("view", second(d.CreateIndexes(d.op(), ns("db.v"), d.raws(`{key: {a: 1}, name: "a"}`))), 166)
	var many []string
	for i := range 64 {
		many = append(many, `{key: {f`+string(rune('A'+i%26))+string(rune('a'+i/26))+`: 1}, name: "`+string(rune('A'+i%26))+string(rune('a'+i/26))+`"}`)
	}
	d.want("too many", second(d.CreateIndexes(d.op(), c, d.raws(many...))), 67)
}

func TestIndexesStrict(t *testing.T) {
	d := newNode(t, ddl.Limits{})
	d.strict = true
	d.want("sharded", d.ShardCollection(d.op(), ns("db.c"), ddl.ShardOptions{Key: d.raw(`{k: "hashed"}`)}), 0)
	for spec, code := range map[string]mongoerr.Code{
		`{key: {a: 1, k: 1}, name: "x1", unique: true}`:                            0, // the shard key anywhere
		`{key: {a: 1}, name: "x2", unique: true}`:                                  67,
		`{key: {a: 1}, name: "x3", sparse: true}`:                                  67,
		`{key: {a: 1}, name: "x4", partialFilterExpression: {b: 1}}`:               67,
		`{key: {a: "hashed"}, name: "x5"}`:                                         67,
		`{key: {a: 1, b: 1, c: 1, d: 1, e: 1, f: 1, g: 1, h: 1, i: 1}, name: "x"}`: 67,
		`{key: {"$**": 1}, name: "x7"}`:                                            0,
	} {
		d.want(spec, second(d.CreateIndexes(d.op(), ns("db.c"), d.raws(spec))), code)
	}
	d.insert("db.c", `{_id: 1, k: 1}`)
	d.want("not empty", second(d.CreateIndexes(d.op(), ns("db.c"), d.raws(`{key: {k: 1, z: 1}, name: "z", unique: true}`))), 67)
}

func TestCollMod(t *testing.T) {
	d := newNode(t, ddl.Limits{})
	c := ns("db.c")
	d.insert("db.c", `{_id: 1}`)
	d.want("index", second(d.CreateIndexes(d.op(), c, d.raws(`{key: {at: 1}, name: "at", expireAfterSeconds: 5}`))), 0)
	mod := func(m ddl.CollMod) error { _, err := d.CollMod(d.op(), c, m); return err }
	r, err := d.CollMod(d.op(), c, ddl.CollMod{IndexName: "at", IndexOptions: d.raw(`{expireAfterSeconds: 100, hidden: true}`)})
	if err != nil || r.Before.ExpireAfterSeconds != 5 || r.After.ExpireAfterSeconds != 100 || !d.Catalog.Peek().Collection(c).Index("at").Hidden {
		t.Error(r, err)
	}
	d.want("by key", mod(ddl.CollMod{IndexKey: d.raw(`{at: 1}`), IndexOptions: d.raw(`{hidden: false}`)}), 0)
	d.want("no index", mod(ddl.CollMod{IndexName: "x", IndexOptions: d.raw(`{hidden: true}`)}), 27)
	d.want("_id", mod(ddl.CollMod{IndexName: "_id_", IndexOptions: d.raw(`{hidden: true}`)}), 2)
	d.want("validator", mod(ddl.CollMod{Options: d.raw(`{validator: {a: {$gt: 5}}, validationLevel: "strict"}`)}), 0)
	_, errs, err := d.Insert(d.op(), c, d.raws(`{_id: 2, a: 1}`), true)
	if err != nil || len(errs) != 1 || errs[0].Err.Code != 121 {
		t.Error(errs, err)
	}
	d.want("off", mod(ddl.CollMod{Options: d.raw(`{validator: null}`)}), 0)
	d.insert("db.c", `{_id: 2, a: 1}`)
	d.want("view option", mod(ddl.CollMod{Options: d.raw(`{viewOn: "x"}`)}), 72)
	d.want("missing", func() error { _, err := d.CollMod(d.op(), ns("db.none"), ddl.CollMod{}); return err }(), 26)
	d.want("view", d.Create(d.op(), ns("db.v"), ddl.CreateOptions{Raw: d.raw(`{viewOn: "c", pipeline: []}`)}), 0)
	_, err = d.CollMod(d.op(), ns("db.v"), ddl.CollMod{Options: d.raw(`{viewOn: "v", pipeline: []}`)})
	d.want("cycle", err, 5)
	_, err = d.CollMod(d.op(), ns("db.v"), ddl.CollMod{Options: d.raw(`{pipeline: [{$match: {a: 1}}]}`)})
	d.want("pipeline", err, 0)
	d = openNode(t, d.store, ddl.Limits{})
	if v := d.Catalog.Peek().Collection(ns("db.v")); len(v.Options.Pipeline) != 1 {
		t.Error(v.Options.Raw)
	}
	if ix := d.Catalog.Peek().Collection(c).Index("at"); ix.ExpireAfterSeconds != 100 || ix.Hidden {
		t.Error(ix.Raw())
	}
}

// DDL inside a transaction is refused.
func TestNotInTransaction(t *testing.T) {
	d := newNode(t, ddl.Limits{})
	d.insert("db.c", `{_id: 1}`)
	o := d.op()
	txn, err := d.BeginTxn(o)
	if err != nil {
		t.Fatal(err)
	}
	defer txn.Store.Close()
	o.Txn = txn
	_, err = d.Drop(o, ns("db.c"))
	d.want("drop", err, 263)
	d.want("rename", d.Rename(o, ns("db.c"), ns("db.d"), false), 263)
	d.want("index", second(d.CreateIndexes(o, ns("db.c"), d.raws(`{key: {a: 1}, name: "a"}`))), 263)
	d.want("same index", second(d.CreateIndexes(o, ns("db.c"), d.raws(`{key: {_id: 1}, name: "_id_"}`))), 0)
	d.want("new collection", second(d.CreateIndexes(o, ns("db.new"), d.raws(`{key: {a: 1}, name: "a"}`))), 0)
}
