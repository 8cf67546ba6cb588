package rooms

import (
	"fmt"
	"testing"
	"time"

	"github.com/cantledb/cantle/ratelimit"
)

// A server with the second price list charges by this list and reports its name, and the estimate of a query is equal
// to its charge. Source: the price list mongo-2023.
func TestChargesOfTheSecondList(t *testing.T) {
	w := newWorldAt(t, nil, time.Now, &ratelimit.Budgets{Prices: ratelimit.Mongo2023()})
	c := w.dial()
	c.ok(`{createIndexes: "c", indexes: [{key: {a: 1}, name: "a"}]}`)
	for i := range 20 {
		c.costs("insert, two terms", 9.10, fmt.Sprintf(`{insert: "c", documents: [%s]}`, sized(t, kb, fmt.Sprintf("_id: %d, a: %d, b: 1, d: 1", i, i%10))))
	}
	for _, x := range []struct {
		name, command string
		want          float64
	}{
		{"point read", `{find: "c", filter: {_id: 1}}`, 1},
		{"nothing in an index", `{find: "c", filter: {a: 77}}`, 2.50},
		{"two documents", `{find: "c", filter: {a: 3}}`, 5.06},
		{"two more predicates on two documents", `{find: "c", filter: {a: 3, b: 1, d: 1}}`, 6.08},
		{"scan", `{find: "c", filter: {b: 2}}`, 2.86},
		{"scan with three predicates", `{find: "c", filter: {b: 2, d: 2, e: 2}}`, 4.14},
		{"count from an index", `{count: "c", query: {a: {$gte: 0}}}`, 2.81},
		{"update by key", `{update: "c", updates: [{q: {_id: 1}, u: {$set: {b: 5}}}]}`, 11.60},
		{"update of an indexed field", `{update: "c", updates: [{q: {_id: 1}, u: {$set: {a: 5}}}]}`, 12.10},
		{"delete by key", `{delete: "c", deletes: [{q: {_id: 1}, limit: 1}]}`, 9.10},
		{"explain that runs", `{explain: {find: "c", filter: {a: 3}}, verbosity: "executionStats"}`, 5.06},
		{"explain that does not", `{explain: {find: "c", filter: {a: 3}}, verbosity: "queryPlanner"}`, 0},
		{"a change stream is opened", `{aggregate: "c", pipeline: [{$changeStream: {}}], cursor: {}}`, 1},
	} {
		c.costs(x.name, x.want, x.command)
	}
	estimate, _ := at(c.ok(`{explain: {find: "c", filter: {a: 3, b: 1, d: 1}}, verbosity: "queryPlanner"}`), "requestChargeEstimate.total").AsFloat()
	if estimate != 6.08 {
		t.Errorf("the estimate is %v", estimate)
	}
	for _, x := range []struct{ command, path string }{
		{`{serverStatus: 1}`, "requestUnits.prices"}, {`{customAction: "GetRequestReport", collection: "c"}`, "prices"},
		{`{explain: {find: "c", filter: {a: 3}}, verbosity: "queryPlanner"}`, "requestChargeEstimate.prices"},
	} {
		if name, _ := at(c.ok(x.command), x.path).Str(); name != "mongo-2023/2026-11" {
			t.Errorf("%s: %s is %q", x.command, x.path, name)
		}
	}
}

// Under both price lists, reading a change stream costs 1 RU if there are no events, and with two events of 1 KB
// between 2.65 and 5.5 RU, about as much as a query in one partition. Source: the price list, rule R16.
func TestChargesOfChangeStreams(t *testing.T) {
	for _, list := range ratelimit.PriceLists() {
		w := newWorldAt(t, nil, time.Now, &ratelimit.Budgets{Prices: list})
		c := w.dial()
		c.ok(`{create: "c"}`)
		id := at(c.ok(`{aggregate: "c", pipeline: [{$changeStream: {}}], cursor: {}}`), "cursor.id")
		more := `{getMore: ` + id.String() + `, collection: "c", maxTimeMS: 1}`
		c.costs(list.Name+": an idle poll", 1, more)
		c.ok(`{insert: "c", documents: [` + sized(t, kb, "_id: 1") + `, ` + sized(t, kb, "_id: 2") + `]}`)
		c.ok(more)
		if got := c.charge(); got < 2.65 || got > 5.5 {
			t.Errorf("%s: two events of 1 KB cost %v", list.Name, got)
		}
		c.costs(list.Name+": another idle poll", 1, more)
	}
}
