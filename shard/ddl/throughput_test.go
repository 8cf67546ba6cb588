package ddl_test

import (
	"testing"

	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/shard/ddl"
)

func TestThroughput(t *testing.T) {
	manual := func(ru int64) catalog.Throughput { return catalog.Throughput{Mode: catalog.ThroughputManual, RU: ru} }
	d := newNode(t, ddl.Limits{DefaultRU: 400})
	var changed []collection.Namespace
	d.Changed = func(n collection.Namespace) { changed = append(changed, n) }
	d.insert("db.c", `{_id: 1}`)
	if got := d.Catalog().Collection(ns("db.c")).Throughput; got.RU != 400 {
		t.Fatal(got)
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
	if got := d.Catalog().Collection(ns("pool.c")).Throughput; got.RU != 0 {
		t.Fatal(got)
	}
	if !d.Budgets.Collection(uint64(d.Catalog().Collection(ns("pool.c")).ID)).Shared() {
		t.Error("the budget is not shared")
	}
	d.want("raise database", d.SetDatabaseThroughput(d.op(), "pool", manual(2000)), 0)
	d.want("missing database", d.SetDatabaseThroughput(d.op(), "none", manual(2000)), 26)
	d.strict = true
	d.want("strict", d.Create(d.op(), ns("pool.d"), ddl.CreateOptions{}), 0)
	// After a restart everything is there again.
	d = openNode(t, d.store, ddl.Limits{})
	id := uint64(d.Catalog().Collection(ns("db.c")).ID)
	if got := d.Budgets.Collection(id).Throughput(); got.RUs != 5000 {
		t.Errorf("restored %+v", got)
	}
	if db, err := d.DatabaseThroughput("pool"); err != nil || db.RU != 2000 || d.Budgets.Database("pool").Throughput().RUs != 2000 {
		t.Error(db, err)
	}
}
