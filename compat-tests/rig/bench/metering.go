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

	"github.com/cantledb/cantle/compat-tests/rig/harness"
)

// Cost of metering: the same server reads with and without it, in short alternating turns, so that other load
// of the machine affects both. Without metering nothing is counted, priced, charged or kept as a statistic of
// charges.

const (
	meteredDocuments = 10_000
	meteredClients   = 16
	meteredTurn      = 250 * time.Millisecond
)

// measureMetering prints throughput and the server's processor time of point reads, with metering and
// without.
func measureMetering(ctx context.Context, server *harness.Server, m *mongo.Client, seconds int) error {
	coll := m.Database("bench").Collection("metered")
	random := rand.New(rand.NewPCG(1, 1))
	for first := 0; first < meteredDocuments; first += loadBatch {
		batch := make([]any, 0, loadBatch)
		for id := first; id < first+loadBatch; id++ {
			batch = append(batch, document(random, int64(id)))
		}
		if _, err := coll.InsertMany(ctx, batch); err != nil {
			return err
		}
	}
	load, stop := context.WithCancelCause(ctx)
	var done atomic.Int64
	var clients sync.WaitGroup
	for i := range meteredClients {
		clients.Go(func() {
			random := rand.New(rand.NewPCG(uint64(i), 7))
			for load.Err() == nil {
				if err := coll.FindOne(load, bson.D{{Key: "_id", Value: random.Int64N(meteredDocuments)}}).Err(); err != nil && load.Err() == nil {
					stop(err)
				}
				done.Add(1)
			}
		})
	}
	defer clients.Wait()
	defer stop(nil)
	var sides [2]side // metered, not metered
	for i := range 2 * seconds * int(time.Second/meteredTurn) {
		at := (i + i/2) % 2 // ABBA: a drift affects both
		if err := setMetering(ctx, m, at == 0); err != nil {
			return err
		}
		time.Sleep(meteredTurn / 10)
		began, cpu, before := time.Now(), processCPU(server.PID()), done.Load()
		time.Sleep(meteredTurn)
		sides[at].took += time.Since(began)
		sides[at].cpu += processCPU(server.PID()) - cpu
		sides[at].done += done.Load() - before
		if cause := context.Cause(load); cause != nil {
			return cause
		}
	}
	with, without := sides[0], sides[1]
	fmt.Printf("metering      point reads, %d clients: %.0f/s with it, %.0f/s without (%+.1f%%)", meteredClients, with.rate(), without.rate(), 100*(with.rate()/without.rate()-1))
	if without.cpu > 0 {
		fmt.Printf("; server CPU %.2f us with it, %.2f us without (%+.1f%%)", with.micros(), without.micros(), 100*(with.micros()/without.micros()-1))
	}
	fmt.Println()
	return nil
}

// side holds the totals of the turns with metering, or of those without.
type side struct {
	took, cpu time.Duration
	done      int64
}

func (s side) rate() float64   { return float64(s.done) / s.took.Seconds() }
func (s side) micros() float64 { return micros(s.cpu) / float64(s.done) }

// setMetering switches the server's metering on or off.
func setMetering(ctx context.Context, m *mongo.Client, on bool) error {
	mode := "alwaysOn"
	if on {
		mode = "off"
	}
	return m.Database("admin").RunCommand(ctx, bson.D{{Key: "configureFailPoint", Value: "noMetering"}, {Key: "mode", Value: mode}}).Err()
}
