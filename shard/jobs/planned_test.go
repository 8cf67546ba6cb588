package jobs_test

import (
	"testing"
	"time"

	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/shard/balance"
	"github.com/cantledb/cantle/shard/ddl"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/memkv"
)

// Throughput prepared for a time: the partitions are split from splitFrom on, the RU/s change at from and to, and a server
// that starts in between continues. Merges leave the partitions that are needed.
func TestPreparedThroughput(t *testing.T) {
	virtually(t, func(t *testing.T, make func() storage.Store) {
		n := open(t, make)
		manual := func(ru int64) catalog.Throughput {
			return catalog.Throughput{Mode: catalog.ThroughputManual, RU: ru}
		}
		policy := balance.Policy{ShardRU: 10_000, Merge: true}
		n.must(n.Create(n.op(), shop, ddl.CreateOptions{ShardKey: bsontest.Doc(t, `{k: "hashed"}`), Shards: 1, Throughput: manual(5000)}))
		start := n.Now()
		n.must(n.PrepareThroughput(n.op(), shop, ddl.Preparation{Throughput: manual(45_000), From: start.Add(2 * time.Hour), To: start.Add(4 * time.Hour)}))
		step := func(minutes int, partitions int, rus int64) {
			t.Helper()
			if ahead := start.Add(time.Duration(minutes) * time.Minute).Sub(n.Now()); ahead > 0 {
				n.clock.Add(int64(ahead/time.Second) + 1)
			}
			n.must(n.jobs.ApplyPlanned(t.Context()))
			n.balancer(policy).Pass(t.Context())
			c := n.coll()
			if got := c.Map.Len(); got != partitions || c.Throughput.RU != rus || n.Budgets.Collection(uint64(c.ID)).Throughput().RUs != rus {
				t.Errorf("after %d minutes: %d partitions and %d RU/s, want %d and %d", minutes, got, c.Throughput.RU, partitions, rus)
			}
		}
		step(0, 1, 5000)
		step(59, 1, 5000)
		step(60, 5, 5000)
		step(119, 5, 5000)
		ahead := n.clock.Load()
		n = n.reopen()
		n.clock.Store(ahead)
		step(120, 5, 45_000)
		n.must(n.jobs.ApplyPlanned(t.Context()))
		n = n.reopen() // its clock is behind
		step(0, 5, 45_000)
		step(240, 1, 5000) // and merged
		if n.coll().Planned != nil || n.jobs.PlannedChanges() != 1 {
			t.Errorf("still planned: %+v, %d changes", n.coll().Planned, n.jobs.PlannedChanges())
		}
	})
}

// Throughput prepared for a database splits the sharded collections that share it, and merges leave these partitions.
func TestPreparedDatabase(t *testing.T) {
	virtually(t, func(t *testing.T, make func() storage.Store) {
		n := open(t, make)
		manual := func(ru int64) catalog.Throughput {
			return catalog.Throughput{Mode: catalog.ThroughputManual, RU: ru}
		}
		n.must(n.CreateDatabase(n.op(), shop.DB, manual(5000)))
		n.must(n.Create(n.op(), shop, ddl.CreateOptions{ShardKey: bsontest.Doc(t, `{k: "hashed"}`), Shards: 1}))
		start := n.Now()
		n.must(n.PrepareThroughput(n.op(), collection.Namespace{DB: shop.DB}, ddl.Preparation{Throughput: manual(45_000), From: start.Add(2 * time.Hour), To: start.Add(4 * time.Hour)}))
		for _, step := range []struct {
			minutes, partitions int
			rus                 int64
		}{{0, 1, 5000}, {60, 5, 5000}, {120, 5, 45_000}, {240, 1, 5000}} {
			if ahead := start.Add(time.Duration(step.minutes) * time.Minute).Sub(n.Now()); ahead > 0 {
				n.clock.Add(int64(ahead/time.Second) + 1)
			}
			n.must(n.jobs.ApplyPlanned(t.Context()))
			n.balancer(balance.Policy{ShardRU: 10_000, Merge: true}).Pass(t.Context())
			if got, rus := n.coll().Map.Len(), n.Budgets.Database(shop.DB).Throughput().RUs; got != step.partitions || rus != step.rus {
				t.Errorf("after %d minutes: %d partitions and %d RU/s, want %d and %d", step.minutes, got, rus, step.partitions, step.rus)
			}
		}
	})
}

// The loop makes planned changes of collections and databases by itself.
func TestPlannedLoop(t *testing.T) {
	virtually(t, func(t *testing.T, make func() storage.Store) {
		n := open(t, make)
		manual := func(ru int64) catalog.Throughput {
			return catalog.Throughput{Mode: catalog.ThroughputManual, RU: ru}
		}
		n.must(n.CreateDatabase(n.op(), shop.DB, manual(1000)))
		n.must(n.Create(n.op(), shop, ddl.CreateOptions{Throughput: manual(500)}))
		n.jobs.Start(t.Context())
		defer func() { n.must(n.jobs.Stop()) }()
		from := n.Now().Add(time.Minute)
		n.must(n.PrepareThroughput(n.op(), shop, ddl.Preparation{Throughput: manual(900), From: from, To: from.Add(time.Minute)}))
		n.must(n.PrepareThroughput(n.op(), collection.Namespace{DB: shop.DB}, ddl.Preparation{Throughput: manual(3000), From: from, To: from.Add(time.Minute)}))
		for _, want := range [][2]int64{{900, 3000}, {500, 1000}} {
			<-time.After(time.Minute + 2*time.Second) // virtual
			d, err := n.DatabaseThroughput(shop.DB)
			n.must(err)
			if c := n.coll().Throughput; c.RU != want[0] || d.RU != want[1] || n.Budgets.Database(shop.DB).Throughput().RUs != want[1] {
				t.Errorf("%d and %d RU/s, want %d", c.RU, d.RU, want)
			}
		}
	})
}

// RU/s that have become too low by the time are raised to the lowest allowed.
func TestPlannedTooLow(t *testing.T) {
	n := open(t, func() storage.Store { return memkv.Open(memkv.Options{Clock: time.Now}) })
	auto := func(ru int64) catalog.Throughput {
		return catalog.Throughput{Mode: catalog.ThroughputAutoscale, RU: ru}
	}
	n.must(n.Create(n.op(), shop, ddl.CreateOptions{ShardKey: bsontest.Doc(t, `{k: "hashed"}`), Throughput: auto(1000)}))
	n.must(n.PrepareThroughput(n.op(), shop, ddl.Preparation{Throughput: auto(50_000), To: n.Now().Add(time.Hour)}))
	if c := n.coll().Throughput; c.RU != 50_000 || c.HighestRU != 50_000 {
		t.Fatalf("%+v", c)
	}
	n.clock.Add(3600)
	n.must(n.jobs.ApplyPlanned(t.Context()))
	if c := n.coll().Throughput; c.RU != 5000 { // a tenth of the highest
		t.Errorf("%+v", c)
	}
}
