package ddl_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/shard/ddl"
)

// A temporary collection replaces another under its name, and keeps its own options and indexes.
func TestReplace(t *testing.T) {
	d := newNode(t, ddl.Limits{})
	d.insert("db.c", `{_id: 1}`, `{_id: 2}`)
	temp, err := d.CreateTemporary(d.op(), "db", d.raw(`{validator: {a: {$gt: 0}}}`), d.raws(`{key: {a: 1}, name: "a_1"}`))
	if err != nil {
		t.Fatal(err)
	}
	d.insert(temp.String(), `{_id: 7, a: 1}`)
	d.want("view", d.Create(d.op(), ns("db.v"), ddl.CreateOptions{Raw: d.raw(`{viewOn: "c", pipeline: []}`)}), 0)
	d.want("onto a view", d.Replace(d.op(), temp, ns("db.v")), mongoerr.NamespaceExists)
	d.want("replace", d.Replace(d.op(), temp, ns("db.c")), 0)
	coll := d.Catalog().Collection(ns("db.c"))
	if coll.Index("a_1") == nil || coll.Options.Validator == nil || d.count("db.c") != 1 {
		t.Errorf("%v with %d documents", coll.Options.Raw, d.count("db.c"))
	}
	if d.Catalog().Collection(temp) != nil {
		t.Error("the temporary name is left")
	}
	d.want("gone", d.Replace(d.op(), temp, ns("db.c")), mongoerr.NamespaceNotFound)
}

// A temporary collection takes the throughput of the collection that it replaces, what is planned for it, and the budget.
// Rename with dropTarget keeps its own.
func TestReplaceKeepsThroughput(t *testing.T) {
	d := newNode(t, ddl.Limits{})
	for _, name := range []string{"db.c", "db.d"} {
		own := catalog.Throughput{Mode: catalog.ThroughputManual, RU: 1000, Switches: catalog.Switches{Burst: catalog.On}}
		d.want("create", d.Create(d.op(), ns(name), ddl.CreateOptions{Throughput: own}), 0)
		d.want("schedule", d.ScheduleThroughput(d.op(), ns(name), own.Mode, "", []catalog.ScheduleRow{{Cron: "0 8 * * *", RU: 1000}}), 0)
	}
	temp, err := d.CreateTemporary(d.op(), "db", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	d.want("replace", d.Replace(d.op(), temp, ns("db.c")), 0)
	c := d.Catalog().Collection(ns("db.c"))
	if x := c.Throughput; x.RU != 1000 || x.HighestRU != 1000 || x.Switches.Burst != catalog.On || c.Planned.IsEmpty() {
		t.Errorf("%+v, planned %+v", x, c.Planned)
	}
	if got := d.Budgets.Collection(uint64(c.ID)).Throughput().RUs; got != 1000 {
		t.Errorf("the budget has %d RU/s", got)
	}
	d.insert("db.plain", `{_id: 1}`)
	d.want("rename", d.Rename(d.op(), ns("db.plain"), ns("db.d"), true), 0)
	if c := d.Catalog().Collection(ns("db.d")); c.Throughput.RU != 0 || !c.Planned.IsEmpty() {
		t.Errorf("after a rename: %+v, planned %+v", c.Throughput, c.Planned)
	}
}

// The indexes of a temporary collection have exactly the collations of their specifications: they take none from the
// collection, and keep one that is rejected in new indexes.
func TestTemporaryKeepsCollations(t *testing.T) {
	d := newNode(t, ddl.Limits{})
	temp, err := d.CreateTemporary(d.op(), "db", d.raw(`{collation: {locale: "de"}}`),
		d.raws(`{key: {a: 1}, name: "a"}`, `{key: {b: 1}, name: "b", collation: {locale: "hsb"}}`))
	if err != nil {
		t.Fatal(err)
	}
	coll := d.Catalog().Collection(temp)
	if a, b := coll.Index("a").Collation, coll.Index("b").Collation; a != nil || b.Locale() != "hsb" {
		t.Errorf("%v, %v", coll.Index("a").Raw(), coll.Index("b").Raw())
	}
}

// Replace gives a temporary time-series collection another name; Rename rejects it.
func TestReplaceSeries(t *testing.T) {
	d := newNode(t, ddl.Limits{})
	temp, err := d.CreateTemporary(d.op(), "db", d.raw(`{timeseries: {timeField: "t"}}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	d.want("rename", d.Rename(d.op(), temp, ns("db.s"), false), mongoerr.CommandNotSupportedOnView)
	d.want("replace", d.Replace(d.op(), temp, ns("db.s")), 0)
	if coll := d.Catalog().Collection(ns("db.s")); coll == nil || coll.Options.TimeSeries == nil {
		t.Error(coll)
	}
}

// After a restart, DropUnfinished drops the temporary collections that the process before was filling, and nothing
// else.
func TestDropUnfinished(t *testing.T) {
	d := newNode(t, ddl.Limits{})
	d.insert("db.c", `{_id: 1}`)
	temp, err := d.CreateTemporary(d.op(), "db", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	d.insert(temp.String(), `{_id: 1}`)
	d.insert("db.tmp.convertToCapped.1", `{_id: 1}`)
	d.insert("db.tmp.mine", `{_id: 1}`)
	d = openNode(t, d.store, ddl.Limits{})
	if err := d.DropUnfinished(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	var left []string
	for _, coll := range d.Catalog().Collections("db") {
		left = append(left, coll.Namespace.Coll)
	}
	slices.Sort(left)
	if got := strings.Join(left, " "); got != "c tmp.mine" {
		t.Errorf("left: %s", got)
	}
}
