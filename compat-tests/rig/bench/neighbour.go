package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/cantledb/cantle/compat-tests/rig/harness"
)

// Effect of a collection under a load of ten times its budget on the latency of a quiet neighbour with a
// budget of its own.

const (
	noisyTimes     = 10
	noisyRUs       = 400
	quietPerSecond = 200
	turnSeconds    = 1
)

// besides are the loads under which the neighbour is measured, in turns. An idle machine sleeps and takes
// time to wake, so "alone" is not the fastest load. The noisy collection within its budget shows the effect
// of any other load on the machine; the difference from there is the effect of exceeding the budget.
var besides = []struct {
	name    string
	times   float64 // load of the noisy collection as a multiple of its budget
	backOff bool
}{
	{"alone", 0, false},
	{"beside x0.9, within its budget", 0.9, false},
	{"beside x10, refusals ignored", noisyTimes, false},
	{"beside x10, drivers back off", noisyTimes, true},
}

// measureNeighbour prints the latency of point reads of a quiet collection under
// each of the loads.
func measureNeighbour(ctx context.Context, server *harness.Server, m *mongo.Client, seconds int) error {
	db := m.Database("bench")
	for _, name := range []string{"noisy", "quiet"} {
		if err := provision(ctx, db, name, noisyRUs); err != nil {
			return err
		}
	}
	quiet := db.Collection("quiet")
	if _, err := quiet.InsertOne(ctx, bson.D{{Key: "_id", Value: 1}, {Key: "k", Value: 1}, {Key: "text", Value: strings.Repeat("x", 900)}}); err != nil {
		return err
	}
	n, err := startNoise(server.URI, "noisy")
	if err != nil {
		return err
	}
	defer n.stop()
	all := make([][]time.Duration, len(besides)) // by load
	ratios := make([][]float64, len(besides))    // p99 of each round relative to alone
	sent := make([]int64, len(besides))
	for round := range seconds {
		p99 := make([]time.Duration, len(besides))
		for i := range besides {
			at := (i + round) % len(besides) // rotated, so that no load always follows the same one
			if _, err := n.rate(besides[at].times*noisyRUs/insertRU, besides[at].backOff); err != nil {
				return err
			}
			time.Sleep(settleTime)
			list, err := readQuietly(ctx, quiet)
			if err != nil {
				return err
			}
			count, err := n.rate(0, false)
			if err != nil {
				return err
			}
			sent[at] += count
			all[at] = append(all[at], list...)
			p99[at] = quantile(list, 0.99)
		}
		for i := range besides {
			ratios[i] = append(ratios[i], float64(p99[i])/float64(p99[0]))
		}
	}
	for i, b := range besides {
		p50, p99 := quantile(all[i], 0.5), quantile(all[i], 0.99)
		fmt.Printf("neighbour     %-31s p50 %v, p99 %v", b.name, p50.Round(time.Microsecond), p99.Round(time.Microsecond))
		if i > 0 {
			fmt.Printf(" (%+.0f%%; in the middle of %d rounds %+.0f%%); %.0f inserts/s sent", 100*(float64(p99)/float64(quantile(all[0], 0.99))-1),
				seconds, 100*(quantile(ratios[i], 0.5)-1), float64(sent[i])/float64(seconds)/(turnSeconds+settleTime.Seconds()))
		}
		fmt.Println()
	}
	within, beyond := quantile(all[1], 0.99), quantile(all[2], 0.99)
	fmt.Printf("neighbour     exceeding the budget ten times instead of using it changes its p99 by %+.0f%%\n", 100*(float64(beyond)/float64(within)-1))
	return nil
}

// readQuietly reads one document at a steady rate for one turn and returns how long
// each took, ascending.
func readQuietly(ctx context.Context, quiet *mongo.Collection) (list []time.Duration, err error) {
	next := time.Now()
	for range quietPerSecond * turnSeconds {
		if d := time.Until(next); d > 0 {
			time.Sleep(d)
		}
		next = next.Add(time.Second / quietPerSecond)
		began := time.Now()
		if err := quiet.FindOne(ctx, bson.D{{Key: "_id", Value: 1}, {Key: "k", Value: 1}}).Err(); err != nil {
			return nil, err
		}
		list = append(list, time.Since(began))
	}
	slices.Sort(list)
	return list, nil
}

// quantile returns the p-quantile of the list, which may be in any order.
func quantile[T float64 | time.Duration](list []T, p float64) T {
	sorted := slices.Sorted(slices.Values(list))
	return sorted[int(p*float64(len(sorted)-1)+0.5)]
}
