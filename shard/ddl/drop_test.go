package ddl_test

import (
	"strings"
	"testing"

	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/plan"
	"github.com/cantledb/cantle/shard/ddl"
)

func TestDropAndRename(t *testing.T) {
	d := newNode(t, ddl.Limits{})
	var gone []string
	d.dropped = func(n collection.Namespace) { gone = append(gone, n.String()) }
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
	for _, want := range []bool{true, false} {
		existed, err := d.DropDatabase(d.op(), "other", false)
		if d.want("drop database", err, 0); existed != want {
			t.Errorf("the database existed: %v, want %v", existed, want)
		}
	}
	if s := d.Catalog(); s.Database("other") != nil || len(s.Collections("")) != 0 {
		t.Error("something is left")
	}
	if got := strings.Join(gone, " "); got != "db.a db.b db.b db.v other.b" {
		t.Error(got)
	}
	if got := d.logged(); got != strings.Join([]string{"create", "create", "create", "renameCollection", "renameCollection", "drop", "drop", "dropDatabase"}, " ") {
		t.Error(got)
	}
}
