package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/cantledb/cantle/compat-tests/rig/harness"
	"github.com/cantledb/cantle/internal/testenv"
)

// Provisioned throughput under load: how exactly a steady overload of four times is limited to the
// provisioned rate.

const (
	overloadRUs     = 1600 // RU/s provisioned
	overloadTimes   = 4
	insertRU        = 5.8 // of the documents that are inserted
	provisionedConn = 16
)

// The measurements of --provisioned, as --only names them.
const (
	overloadName  = "overload"
	neighbourName = "neighbour"
	meteringName  = "metering"
)

// measureProvisioned runs the selected measurements and prints their results.
func measureProvisioned(ctx context.Context, s settings) error {
	binary := testenv.Binary()
	if binary == "" {
		var err error
		if binary, err = harness.Build(""); err != nil {
			return err
		}
	}
	seconds := max(3, int(s.seconds))
	for _, partitions := range []int{1, 4, 16} {
		if !s.wants(overloadName) {
			break
		}
		if err := withServer(binary, []string{"--memory", fmt.Sprintf("--partition-ru=%d", overloadRUs/partitions)}, func(m *mongo.Client) error {
			return measureOverload(ctx, m, partitions, seconds)
		}); err != nil {
			return err
		}
	}
	if s.wants(neighbourName) {
		if err := withLaunched(binary, []string{"--memory"}, func(server *harness.Server, m *mongo.Client) error {
			return measureNeighbour(ctx, server, m, seconds)
		}); err != nil {
			return err
		}
	}
	if !s.wants(meteringName) {
		return nil
	}
	return withLaunched(binary, []string{"--memory", "--enable-test-commands"}, func(server *harness.Server, m *mongo.Client) error {
		return measureMetering(ctx, server, m, seconds)
	})
}

// withServer starts a server for one measurement.
func withServer(binary string, args []string, run func(m *mongo.Client) error) error {
	return withLaunched(binary, args, func(_ *harness.Server, m *mongo.Client) error { return run(m) })
}

// withLaunched is withServer for measurements that need the server's process.
func withLaunched(binary string, args []string, run func(s *harness.Server, m *mongo.Client) error) error {
	server, err := harness.LaunchBinary(binary, harness.Options{Args: args})
	if err != nil {
		return err
	}
	defer server.Kill()
	m, err := harness.Connect(server.URI, options.Client().SetMaxPoolSize(64).SetRetryWrites(false))
	if err != nil {
		return err
	}
	defer m.Disconnect(context.Background())
	return run(server, m)
}

// provision makes a collection with a throughput of its own.
func provision(ctx context.Context, db *mongo.Database, name string, rus int) error {
	return db.RunCommand(ctx, bson.D{{Key: "customAction", Value: "CreateCollection"}, {Key: "collection", Value: name},
		{Key: "shardKey", Value: "k"}, {Key: "offerThroughput", Value: rus}}).Err()
}

// spent returns the RU charged to a collection, the number of refused requests, and the number of partitions.
func spent(ctx context.Context, db *mongo.Database, name string) (ru float64, refused int64, partitions int, err error) {
	var reply struct {
		Partitions []struct {
			RU        float64 `bson:"ruTotal"`
			Throttled int64   `bson:"throttled"`
		} `bson:"partitions"`
	}
	err = db.RunCommand(ctx, bson.D{{Key: "customAction", Value: "GetPartitions"}, {Key: "collection", Value: name}}).Decode(&reply)
	for _, p := range reply.Partitions {
		ru += p.RU
		refused += p.Throttled
	}
	return ru, refused, len(reply.Partitions), err
}

// press inserts documents at a steady rate until ctx ends, from several clients. It counts the documents sent. wait
// waits until the clients have ended.
func press(ctx context.Context, coll *mongo.Collection, perSecond float64, sent *atomic.Int64) (wait func()) {
	var wg sync.WaitGroup
	pause := time.Duration(float64(time.Second) * provisionedConn / perSecond)
	for i := range provisionedConn {
		wg.Add(1)
		go func() {
			defer wg.Done()
			rng := rand.New(rand.NewPCG(uint64(i), 7))
			next := time.Now().Add(time.Duration(rng.Float64() * float64(pause)))
			for ctx.Err() == nil {
				if d := time.Until(next); d > 0 {
					time.Sleep(d)
				}
				next = next.Add(pause)
				coll.InsertOne(ctx, bson.D{{Key: "k", Value: rng.Int64()}}) // may be refused: refusals are counted at the server
				sent.Add(1)
			}
		}()
	}
	return wg.Wait
}

// measureOverload prints how much of a steady overload was admitted.
func measureOverload(ctx context.Context, m *mongo.Client, partitions, seconds int) error {
	db := m.Database("bench")
	if err := provision(ctx, db, "over", overloadRUs); err != nil {
		return err
	}
	var sent atomic.Int64
	load, stop := context.WithCancel(ctx)
	wait := press(load, db.Collection("over"), overloadTimes*overloadRUs/insertRU, &sent)
	defer wait()
	defer stop()
	// atSecondsEnd reads the totals just before a second ends, when all RU of that second have been used.
	atSecondsEnd := func() (at time.Time, ru float64, refused int64, n int, err error) {
		at = time.Now().Add(time.Second).Truncate(time.Second).Add(-10 * time.Millisecond)
		if time.Until(at) < 0 {
			at = at.Add(time.Second)
		}
		time.Sleep(time.Until(at))
		ru, refused, n, err = spent(ctx, db, "over")
		return at, ru, refused, n, err
	}
	time.Sleep(2 * time.Second)
	from, first, refused, n, err := atSecondsEnd()
	if err != nil {
		return err
	}
	before := sent.Load()
	time.Sleep(time.Duration(seconds)*time.Second - 500*time.Millisecond)
	to, last, refusedLater, _, err := atSecondsEnd()
	if err != nil {
		return err
	}
	took := to.Sub(from).Seconds()
	rate := (last - first) / took
	fmt.Printf("overload x%d  %2d partitions  %.0f s: asked for %.0f RU/s, admitted %.1f of %d RU/s (%+.2f%%), %d refused\n",
		overloadTimes, n, took, float64(sent.Load()-before)*insertRU/took, rate, overloadRUs, 100*(rate/overloadRUs-1), refusedLater-refused)
	if n != partitions {
		return fmt.Errorf("%d partitions, want %d", n, partitions)
	}
	return nil
}
