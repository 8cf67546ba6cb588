package ddl_test

import (
	"testing"

	"github.com/cantledb/cantle/shard/ddl"
)

func TestCollMod(t *testing.T) {
	d := newNode(t, ddl.Limits{})
	c := ns("db.c")
	d.insert("db.c", `{_id: 1}`)
	d.want("index", second(d.CreateIndexes(d.op(), c, d.raws(`{key: {at: 1}, name: "at", expireAfterSeconds: 5}`))), 0)
	mod := func(m ddl.CollMod) error { _, err := d.CollMod(d.op(), c, m); return err }
	r, err := d.CollMod(d.op(), c, ddl.CollMod{IndexName: "at", IndexOptions: d.raw(`{expireAfterSeconds: 100, hidden: true}`)})
	if err != nil || r.Before.ExpireAfterSeconds != 5 || r.After.ExpireAfterSeconds != 100 || !d.Catalog().Collection(c).Index("at").Hidden {
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
	if v := d.Catalog().Collection(ns("db.v")); len(v.Options.Pipeline) != 1 {
		t.Error(v.Options.Raw)
	}
	if ix := d.Catalog().Collection(c).Index("at"); ix.ExpireAfterSeconds != 100 || ix.Hidden {
		t.Error(ix.Raw())
	}
}
