package ddl_test

import (
	"strings"
	"testing"

	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/shard/ddl"
	"github.com/cantledb/cantle/shard/jobs"
)

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
	if d.Catalog().Collection(ns("db.v4")) != nil {
		t.Error("a refused view exists")
	}
	if d.Catalog().Collection(ns("db.german")).IDIndex().Collation == nil {
		t.Error("_id has no collation")
	}
	d.want("create index", second(d.CreateIndexes(d.op(), ns("db.german"), d.raws(`{key: {a: 1}, name: "a"}`))), 0)
	if d.Catalog().Collection(ns("db.german")).Index("a").Collation == nil {
		t.Error("the index has no collation")
	}
}

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
		if coll := d.Catalog().Collection(at); (coll != nil) != (c.code == 0) || coll != nil && coll.Map.Len() != c.shards {
			t.Errorf("%s: %+v", name, coll)
		} else if coll != nil {
			if pool := d.Budgets.Collection(uint64(coll.ID)); pool.Throughput() != jobs.Provisioned(c.o.Throughput) || len(pool.Shares()) != c.shards {
				t.Errorf("%s: budget %+v over %d", name, pool.Throughput(), len(pool.Shares()))
			}
		}
	}
}
