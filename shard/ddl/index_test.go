package ddl_test

import (
	"testing"

	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/shard/ddl"
)

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
	d.want("one index twice", second(d.CreateIndexes(d.op(), c, d.raws(`{key: {w: 1}, name: "w"}`, `{key: {w: 1}, name: "w"}`))), 68)
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
	if len(d.Catalog().Collection(c).Indexes) != 1 {
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
		`{key: {a: "hashed"}, name: "x5"}`:                                         115,
		`{key: {a: 1, b: 1, c: 1, d: 1, e: 1, f: 1, g: 1, h: 1, i: 1}, name: "x"}`: 67,
		`{key: {"$**": 1}, name: "x7"}`:                                            0,
	} {
		d.want(spec, second(d.CreateIndexes(d.op(), ns("db.c"), d.raws(spec))), code)
	}
	d.insert("db.c", `{_id: 1, k: 1}`)
	d.want("not empty", second(d.CreateIndexes(d.op(), ns("db.c"), d.raws(`{key: {k: 1, z: 1}, name: "z", unique: true}`))), 2)
}
