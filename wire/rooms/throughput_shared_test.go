package rooms

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/wire/command"
)

// The throughput of a database is divided among its partitions: the writes of one hot value get the share of its
// partition, whatever collection they are in. Source: Azure Cosmos DB, "set-throughput" (database with shared
// throughput).
func TestSharedDatabasePartitions(t *testing.T) {
	w, clock := clockWorld(t, nil)
	c := w.dial()
	w.DDL.Limits.ShardRU, w.Jobs.Pools.ShardMax = 1000, 1000
	c.ok(`{customAction: "CreateDatabase", offerThroughput: 2000}`)
	for _, name := range []string{"a", "b"} {
		c.ok(fmt.Sprintf(`{customAction: "CreateCollection", collection: "%s", shardKey: "k"}`, name))
		r := c.ok(fmt.Sprintf(`{customAction: "GetPartitions", collection: "%s"}`, name))
		if at(r, "partitions.1").IsMissing() || !at(r, "partitions.2").IsMissing() {
			t.Errorf("%s begins with %v", name, r.Get("partitions"))
		}
	}
	on := func(coll string) map[string]int { // a shard key value for each partition
		of := map[string]int{}
		for k := 0; len(of) < 2; k++ {
			r := c.ok(fmt.Sprintf(`{explain: {find: "%s", filter: {k: %d}}, verbosity: "queryPlanner"}`, coll, k))
			of[text(at(r, "shardInformation.0.shardKeyRangeId"))] = k
		}
		return of
	}
	a, b := on("a"), on("b")
	insert := func(coll string, k, n int) (refused int) {
		for range n {
			if c.code(fmt.Sprintf(`{insert: "%s", documents: [{k: %d, pad: "%s"}]}`, coll, k, strings.Repeat("x", 900))) == ratelimit.CodeThrottled {
				refused++
			}
		}
		return refused
	}
	clock.Advance(time.Second)
	for first, k := range a {
		if n := insert("a", k, 250); n < 60 || n > 90 { // 5.8 RU each, of 1000
			t.Errorf("a hot value: %d of 250 were refused", n)
		}
		for id, k := range b {
			if n := insert("b", k, 10); (n == 10) != (id == first) {
				t.Errorf("the neighbour on %s, while %s is hot: %d of 10 were refused", id, first, n)
			}
		}
		break
	}
	c.ok(`{customAction: "UpdateDatabase", offerThroughput: 4000}`)
	c.ok(`{customAction: "UpdateDatabase", offerThroughput: 400}`)
	if shares := w.Cluster.Budgets.Database("test").Shares(); len(shares) != 4 || shares[0].RUs != 100 {
		t.Errorf("after it was raised and lowered: %v", shares)
	}
}

// At the Cosmos address, collections without a shard key share the throughput of their database too. Each lies in one
// partition of the database, and collections in the same partition share its RU/s. Source: Azure Cosmos DB for
// MongoDB, "custom-commands" (CreateCollection, insert).
func TestSharedUnsharded(t *testing.T) {
	w, clock := clockWorld(t, nil)
	w.DDL.Limits.ShardRU, w.Jobs.Pools.ShardMax = 1000, 1000
	c := w.dialAs(command.TagCosmos)
	c.ok(`{customAction: "CreateDatabase", offerThroughput: 2000}`)
	c.ok(`{customAction: "CreateCollection", collection: "a"}`)
	c.ok(`{create: "b"}`)
	c.ok(`{insert: "c", documents: [{_id: "made by an insert"}]}`)
	spent := func(coll string) (taken int) {
		for i := range 250 {
			r := c.run(fmt.Sprintf(`{insert: "%s", documents: [{_id: %d, pad: "%s"}]}`, coll, i, strings.Repeat("x", 900)))
			if number(r.Get("n")) == 1 {
				taken++
			}
		}
		return taken
	}
	clock.Advance(time.Second)
	a, b, third := spent("a"), spent("b"), spent("c")
	// a and c, or b and c, are in one partition of 1000 RU/s; an insert of a document costs 5.4 RU.
	if a < 180 || a > 195 || b < 180 || b > 195 || third > 3 {
		t.Errorf("within a second %d, %d and %d documents went in", a, b, third)
	}
	for _, coll := range []string{"a", "b", "c"} {
		if r := c.ok(fmt.Sprintf(`{customAction: "GetCollection", collection: "%s"}`, coll)); !r.Get("provisionedThroughput").IsMissing() {
			t.Errorf("%s: %v", coll, r)
		}
	}
}
