package rooms

import (
	"fmt"
	"testing"
)

// The number of allocations of serverStatus does not grow with the number of databases and collections, because
// monitoring programs send it every second.
func TestServerStatusBesideManyCollections(t *testing.T) {
	c := newWorld(t, nil).dial()
	allocs := func() float64 { return testing.AllocsPerRun(20, func() { c.ok(`{serverStatus: 1, $db: "admin"}`) }) }
	create := func(from, to int) {
		for i := from; i < to; i++ {
			c.ok(fmt.Sprintf(`{create: "c%d", $db: "db%d"}`, i, i/10))
		}
	}
	create(0, 10)
	few := allocs()
	create(10, 1000)
	if many := allocs(); many > few+20 {
		t.Errorf("%.0f allocations with 1000 collections in 100 databases, %.0f with 10 in one", many, few)
	}
	if r := c.ok(`{serverStatus: 1, $db: "admin"}`); number(at(r, "catalogStats.collections")) != 1000 {
		t.Errorf("%v", r.Get("catalogStats"))
	}
}
