package jobs_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/plan"
	"github.com/cantledb/cantle/shard/balance"
	"github.com/cantledb/cantle/shard/cluster"
	"github.com/cantledb/cantle/shard/ddl"
	"github.com/cantledb/cantle/storage"
)

func (n *node) balancer(p balance.Policy) *balance.Balancer {
	return balance.New(balance.Config{Catalog: n.jobs.Catalog, Tally: n.jobs.Tally, Budgets: n.Budgets, Runner: n.jobs, Now: n.Now, Policy: p, Every: time.Hour})
}

// Shards that grow too large split at the median of their documents until none is too large. A balancer that is off
// splits none.
func TestBalanceBySize(t *testing.T) {
	engines(t, func(t *testing.T, make func() storage.Store) {
		n := open(t, make)
		n.sharded(1)
		n.fill(0, 2000)
		const limit = 20_000
		b := n.balancer(balance.Policy{ShardBytes: limit})
		for range 10 {
			b.Pass(t.Context())
		}
		m := n.coll().Map
		for _, d := range m.Shards() {
			c := n.Counts(n.coll().ID).Shard(d.ID).Get()
			if c.Bytes > limit || c.Bytes < limit/5 {
				t.Errorf("shard %v of %d holds %d bytes", d.ID, m.Len(), c.Bytes)
			}
		}
		if n.check(`{}`) != 2000 {
			t.Fatal("documents lost")
		}
		n.exact()
		b.Enable(false)
		n.fill(2000, 4000)
		b.Pass(t.Context())
		if n.coll().Map.Len() != m.Len() {
			t.Error("a balancer that is off splits")
		}
	})
}

func TestBalanceOneKey(t *testing.T) {
	engines(t, func(t *testing.T, make func() storage.Store) {
		n := open(t, make)
		n.must(n.ShardCollection(n.op(), shop, ddl.ShardOptions{Key: bsontest.Doc(t, `{t: "hashed"}`), Shards: 1}))
		n.fill(0, 300) // t is missing everywhere
		n.insert(`{_id: "x", t: 1}`, `{_id: "y", t: 2}`)
		b := n.balancer(balance.Policy{ShardBytes: 1000})
		for range 10 {
			b.Pass(t.Context())
		}
		if c := n.coll().Map.Len(); c < 2 || c > 4 {
			t.Fatalf("%d shards", c)
		}
		if n.check(`{}`) != 302 {
			t.Fatal("documents lost")
		}
		n.exact()
	})
}

// Raising the RU/s of a collection wakes the balancer, which splits until there are enough shards for the
// RU/s.
func TestBalanceByThroughput(t *testing.T) {
	virtually(t, func(t *testing.T, make func() storage.Store) {
		n := open(t, make)
		b := n.balancer(balance.Policy{ShardRU: 10_000})
		n.Changed = b.Wake
		manual := func(ru int64) catalog.Throughput {
			return catalog.Throughput{Mode: catalog.ThroughputManual, RU: ru}
		}
		n.must(n.Create(n.op(), shop, ddl.CreateOptions{ShardKey: bsontest.Doc(t, `{k: "hashed"}`), Shards: 1, Throughput: manual(5000)}))
		ctx, cancel := context.WithCancel(t.Context())
		done := background(func() { b.Run(ctx) })
		n.must(n.SetThroughput(n.op(), shop, manual(45_000)))
		synctest.Wait()
		if c := n.coll().Map.Len(); c != 5 {
			t.Errorf("%d shards, want 5", c)
		}
		cancel()
		<-done
		if got := len(n.Budgets.Collection(uint64(n.coll().ID)).Shares()); got != n.coll().Map.Len() {
			t.Errorf("the budget knows %d shards", got)
		}
	})
}

// A pass of the balancer finds the shard key values whose documents come near the limit of their size, in all shards.
// From then on their sizes follow the writes, and a full value accepts no insert; a value that is light again is no
// longer tracked.
func TestHeavyValues(t *testing.T) {
	engines(t, func(t *testing.T, make func() storage.Store) {
		n := open(t, make)
		n.must(n.ShardCollection(n.op(), shop, ddl.ShardOptions{Key: bsontest.Doc(t, `{t: "hashed"}`), Shards: 3}))
		n.must(n.SetThroughput(n.op(), shop, catalog.Throughput{Mode: catalog.ThroughputManual, RU: 100_000}))
		size := int64(len(bsontest.Doc(t, `{_id: "v1-000", t: 1, pad: "0123456789"}`)))
		for v, docs := range map[int]int{1: 300, 2: 130, 3: 10} {
			for i := range docs {
				n.insert(fmt.Sprintf(`{_id: "v%d-%03d", t: %d, pad: "0123456789"}`, v, i, v))
			}
		}
		n.LogicalKeyBytes = 250 * size
		b := n.balancer(balance.Policy{LogicalBytes: n.LogicalKeyBytes})
		b.Pass(t.Context())
		heavy := &n.Counts(n.coll().ID).Heavy
		list := heavy.List()
		if len(list) != 2 || list[0].Bytes() != 300*size || list[1].Bytes() != 130*size {
			t.Fatalf("heavy values: %v", list)
		}
		n.insert(`{_id: "v2-900", t: 2, pad: "0123456789"}`)
		if got := heavy.List()[1].Bytes(); got != 131*size {
			t.Errorf("after an insert: %d bytes, want %d", got, 131*size)
		}
		_, errs, err := n.Insert(n.op(), shop, []bson.Raw{bsontest.Doc(t, `{_id: "v1-900", t: 1}`)}, true)
		n.must(err)
		if len(errs) != 1 || errs[0].Err.Code != cluster.PartitionKeyFull {
			t.Errorf("an insert into the full value: %v", errs)
		}
		// A value that is light again is no longer tracked.
		_, err = n.Modify(n.op(), shop, &cluster.Modify{Find: plan.Find{Filter: bsontest.Doc(t, `{t: 2}`)}, Multi: true})
		n.must(err)
		b.Pass(t.Context())
		if list := heavy.List(); len(list) != 1 {
			t.Errorf("after the delete: %v", list)
		}
		n.exact()
	})
}
