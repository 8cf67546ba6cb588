package rooms

import (
	"fmt"
	"strings"
	"testing"
)

// An ordered insert into several partitions commits its documents together, whatever their partitions, up to the
// first document that fails. It costs as much as separate inserts.
func TestOrderedInsertOverPartitions(t *testing.T) {
	w := newWorld(t, nil)
	c := w.dial()
	commits := func() int64 { return w.Cluster.StoreMetrics().Commits }
	list := func(n, again int) string {
		var b strings.Builder
		for i := range n {
			id := i
			if i == again {
				id = 0
			}
			fmt.Fprintf(&b, "{_id: %d, k: %d}, ", id, i)
		}
		return strings.TrimSuffix(b.String(), ", ")
	}
	const n = 700
	for _, name := range []string{"whole", "broken", "refused", "single"} {
		c.ok(fmt.Sprintf(`{shardCollection: "test.%s", key: {_id: "hashed"}, numInitialChunks: 7, $db: "admin"}`, name))
	}
	before := commits()
	c.ok(`{insert: "whole", documents: [` + list(n, -1) + `]}`)
	if made := commits() - before; made != 1 {
		t.Errorf("%d commits", made)
	}
	whole := c.charge()
	sum := 0.0
	for i := range n {
		c.ok(fmt.Sprintf(`{insert: "single", documents: [{_id: %d, k: %d}]}`, i, i))
		sum += c.charge()
	}
	if fmt.Sprintf("%.2f", whole) != fmt.Sprintf("%.2f", sum) {
		t.Errorf("%v RU, one by one %v", whole, sum)
	}
	r := c.ok(`{insert: "broken", documents: [` + list(n, n-200) + `]}`)
	if number(r.Get("n")) != n-200 || number(at(r, "writeErrors.0.index")) != n-200 {
		t.Errorf("with a duplicate: %v", r)
	}
	if r := c.ok(`{count: "broken"}`); number(r.Get("n")) != n-200 {
		t.Errorf("with a duplicate: %v documents", r)
	}
	if r := c.ok(`{validate: "broken"}`); r.Get("valid").String() != "true" {
		t.Errorf("not valid: %v", r)
	}
	c.ok(`{customAction: "InjectThrottle", collection: "refused", nth: 3, kind: "write"}`) // the third partition
	r = c.ok(`{insert: "refused", documents: [` + list(n, -1) + `]}`)
	done := number(r.Get("n"))
	if done == 0 || done > 100 || number(at(r, "writeErrors.0.index")) != done || number(at(r, "writeErrors.0.code")) != 16500 {
		t.Errorf("with a partition that is refused: %v", r)
	}
	if r := c.ok(`{count: "refused"}`); number(r.Get("n")) != done {
		t.Errorf("with a partition that is refused: %v documents, and %d were acknowledged", r, done)
	}
}
