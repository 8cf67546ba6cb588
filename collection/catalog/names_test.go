package catalog

import (
	"fmt"
	"slices"
	"testing"

	"github.com/cantledb/cantle/collection"
)

// The collections of a database are listed without visiting those of other databases, and a copy of names is not
// affected by the removal of a collection from another copy. A database is removed with its last collection.
func TestNames(t *testing.T) {
	var n names
	for i := range 2000 {
		ns := collection.Namespace{DB: fmt.Sprint("db", i%50), Coll: fmt.Sprint("c", i)}
		n.put(ns, &Collection{Namespace: ns})
	}
	before := n
	gone := collection.Namespace{DB: "db7", Coll: "c7"}
	n.put(gone, nil)
	for _, c := range []struct {
		names
		own, all int
	}{{before, 40, 2000}, {n, 39, 1999}} {
		visited := 0
		for name, coll := range c.in("db7").each {
			if visited++; coll.Namespace.DB != "db7" || coll.Namespace.Coll != name {
				t.Errorf("%s is %s", name, coll.Namespace)
			}
		}
		if visited != c.own {
			t.Errorf("%d were looked at of %d", visited, c.own)
		}
		if all := len(slices.Collect(c.each)); all != c.all {
			t.Errorf("%d in all, not %d", all, c.all)
		}
	}
	if before.get(gone) == nil || n.get(gone) != nil {
		t.Error("what was taken away")
	}
	for i := range 2000 {
		n.put(collection.Namespace{DB: fmt.Sprint("db", i%50), Coll: fmt.Sprint("c", i)}, nil)
	}
	if n.databases.root != nil {
		t.Error("databases without collections are kept")
	}
}
