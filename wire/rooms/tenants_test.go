package rooms

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// A tenant that has used up its partition is refused, and its neighbours there still get their guarantees, in every kind of
// statement that names one tenant. A statement that names none pays from what the guarantees leave.
func TestTenants(t *testing.T) {
	w, clock := clockWorld(t, nil)
	c := w.dial()
	pad := strings.Repeat("x", 900)
	insert := func(coll, tenant string, i int) string {
		return fmt.Sprintf(`{insert: "%s", documents: [{tenant: "%s", item: %d, pad: "%s"}]}`, coll, tenant, i, pad)
	}
	c.ok(`{customAction: "CreateCollection", collection: "c", shardKey: {tenant: "hashed", item: "hashed"}, offerThroughput: 400,
		tenants: {shardKeyPrefix: ["tenant"], minThroughputPercentage: 40, values: [{value: {tenant: "capped"}, maxThroughputPercentage: 5}]}}`)
	c.ok(insert("c", "small", 1))
	for i := 0; c.code(insert("c", "greedy", i)) == 0; i++ {
		if i == 200 {
			t.Fatal("the budget does not refuse")
		}
	}
	for _, x := range []struct {
		cmd  string
		want int64
	}{
		{insert("c", "small", 2), 0},
		{`{find: "c", filter: {tenant: "small"}}`, 0},
		{`{find: "c", filter: {tenant: {$in: ["small"]}, item: 1}}`, 0},
		{`{find: "c", filter: {tenant: {$in: ["small", "greedy"]}}}`, 16500},
		{`{find: "c", filter: {tenant: {$gte: "small"}}}`, 16500},
		{`{find: "c", filter: {tenant: "small"}, collation: {locale: "en", strength: 1}}`, 16500},
		{`{find: "c"}`, 16500},
		{`{count: "c", query: {tenant: "small"}}`, 0},
		{`{distinct: "c", key: "item", query: {tenant: "small"}}`, 0},
		{`{aggregate: "c", pipeline: [{$match: {tenant: "small"}}, {$group: {_id: "$item"}}], cursor: {}}`, 0},
		{`{aggregate: "c", pipeline: [{$group: {_id: "$tenant"}}], cursor: {}}`, 16500},
		{`{findAndModify: "c", query: {tenant: "small", item: 1}, update: {$set: {a: 1}}}`, 0},
		{`{findAndModify: "c", query: {tenant: "greedy", item: 1}, update: {$set: {a: 1}}}`, 16500},
	} {
		if got := c.code(x.cmd); got != x.want {
			t.Errorf("%.100s: code %d, want %d", x.cmd, got, x.want)
		}
	}
	for cmd, refused := range map[string]bool{
		`{update: "c", updates: [{q: {tenant: "small"}, u: {$set: {b: 1}}, multi: true}]}`:  false,
		`{delete: "c", deletes: [{q: {tenant: "small", item: 1}, limit: 1}]}`:               false,
		`{update: "c", updates: [{q: {tenant: "greedy"}, u: {$set: {b: 1}}, multi: true}]}`: true,
	} {
		if r := c.run(cmd); strings.Contains(r.String(), "16500") != refused {
			t.Errorf("%s: %v", cmd, r)
		}
	}

	// The greedy tenant also has its guarantee, beside the debt of the others.
	clock.Advance(time.Second)
	if got := c.code(insert("c", "greedy", 1000)); got != 0 {
		t.Errorf("a second later: code %d", got)
	}

	// The ceiling of 5 % is 20 RU/s.
	clock.Advance(time.Minute)
	n := 0
	for c.code(insert("c", "capped", n)) == 0 {
		n++
	}
	r := c.run(insert("c", "capped", n))
	if n == 0 || n > 5 || text(at(r, "errInfo.throttle.limit")) != "tenant" || at(r, "errInfo.throttle.ruPerSecond").String() != "20.0" {
		t.Errorf("after %d inserts: %v", n, r)
	}
	if got := c.code(insert("c", "small", 3)); got != 0 {
		t.Errorf("beside a tenant at its ceiling: code %d", got)
	}

	// Without the limits all are refused alike; with another shard key as well.
	c.ok(`{customAction: "UpdateCollection", collection: "c", tenants: {}}`)
	for i := 0; c.code(insert("c", "greedy", 2000+i)) == 0; i++ {
	}
	if got := c.code(insert("c", "small", 4)); got != 16500 {
		t.Errorf("without limits: code %d", got)
	}
}

// The names of tenants are values of documents: a user that may not read these sees only the limits.
func TestTenantsWithoutValues(t *testing.T) {
	w, root, reader := secured(t)
	root.ok(`{customAction: "CreateCollection", collection: "rooms", shardKey: "tenant", offerThroughput: 1000,
		tenants: {shardKeyPrefix: ["tenant"], values: [{value: {tenant: "acme"}, maxThroughputPercentage: 5}]}}`)
	root.ok(`{createUser: "keeper", pwd: "p", roles: ["dbAdmin"]}`)
	for _, x := range []struct {
		by   *client
		name string
	}{{reader, "acme"}, {w.dialUser(t, "keeper"), ""}} {
		r := x.by.ok(`{customAction: "GetCollection", collection: "rooms"}`)
		value := at(r, "tenants.values.0.value.tenant")
		if name, _ := value.Str(); name != x.name || at(r, "tenants.values.0.maxThroughputPercentage").String() != "5.0" {
			t.Errorf("want the name %q: %v", x.name, r)
		}
	}
}
