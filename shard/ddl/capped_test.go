package ddl_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/shard/ddl"
)

// An interrupted cloneCollectionAsCapped leaves nothing.
func TestCloneAsCappedEnds(t *testing.T) {
	d := newNode(t, ddl.Limits{})
	d.insert("db.c", `{_id: 1}`)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	o := d.op()
	o.Env.SetContext(ctx)
	d.Definer.Jobs.OnStep(func(string) {
		if d.Catalog().Collection(ns("db.d")) != nil {
			t.Error("it is there before all of it is")
		}
		cancel()
	})
	if err := d.CloneAsCapped(o, ns("db.c"), ns("db.d"), 4096); err == nil {
		t.Error("it has not been interrupted")
	}
	if n := len(d.Catalog().Collections("db")); n != 1 {
		t.Errorf("%d collections", n)
	}
}

// convertToCapped keeps about as many documents as fit, under the same name; cloneCollectionAsCapped copies about as
// many as fit into a new collection, and fails if that exists. The test checks their number, not which ones are kept.
func TestConvertToCapped(t *testing.T) {
	d := newNode(t, ddl.Limits{})
	for i := range 20 {
		d.insert("db.c", fmt.Sprintf(`{_id: %d, pad: "%s"}`, i, strings.Repeat("x", 1000)))
	}
	d.want("missing", d.ConvertToCapped(d.op(), ns("db.none"), 4096), mongoerr.NamespaceNotFound)
	d.want("convert", d.ConvertToCapped(d.op(), ns("db.c"), 8<<10), 0)
	coll := d.Catalog().Collection(ns("db.c"))
	if n := d.count("db.c"); !coll.Options.Capped || coll.Frozen || n < 5 || n > 8 {
		t.Errorf("%d documents are left, %v", n, coll.Options.Raw)
	}
	d.want("clone", d.CloneAsCapped(d.op(), ns("db.c"), ns("db.d"), 4096), 0)
	if n := d.count("db.d"); n < 2 || n > 4 {
		t.Errorf("%d documents are cloned", n)
	}
	d.want("clone again", d.CloneAsCapped(d.op(), ns("db.c"), ns("db.d"), 4096), mongoerr.NamespaceExists)
	if n := len(d.Catalog().Collections("db")); n != 2 {
		t.Errorf("%d collections", n)
	}
}
