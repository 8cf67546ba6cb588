package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"slices"
	"strings"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// Latency of operations while the server also does long work. Measured only if --only names "latency".
const (
	latencyName    = "latency"
	latencyClients = 16
	splitEvery     = time.Second // of the partitions under a mixed load
	splitAtMost    = 48
)

// mixedKinds are the operations of the mixed load, each with its share in percent.
var mixedKinds = []struct {
	name string
	part int
	run  func(c *client, ctx context.Context) error
}{
	{"read", 45, (*client).read},
	{"update", 35, (*client).update},
	{"insert", 10, (*client).insert},
	{"scan", 10, (*client).scan},
}

// company is long work that runs beside the mixed load: run is called repeatedly until its context ends.
type company struct {
	name string
	run  func(r *runner, ctx context.Context, turn int) error
}

// companies are the kinds of long work beside which the mixed load is measured, in this order. The first row, without
// long work, is the baseline of the others.
var companies = []company{
	{"alone", nil},
	{"splits, index builds, compactions", (*runner).restructure},
	{"a sort of everything, which spills", func(r *runner, ctx context.Context, _ int) error {
		return r.pipeline(ctx, bson.D{{Key: "$sort", Value: bson.D{{Key: "field3", Value: 1}}}})
	}},
	{"a $lookup of everything", func(r *runner, ctx context.Context, _ int) error {
		return r.pipeline(ctx, bson.D{{Key: "$lookup", Value: bson.D{
			{Key: "from", Value: "usertable"}, {Key: "localField", Value: "plain"}, {Key: "foreignField", Value: "_id"}, {Key: "as", Value: "same"},
		}}})
	}},
}

// latencies holds the durations of operations by the index of their kind in mixedKinds.
type latencies [][]time.Duration

// measureLatency runs the mixed load beside each of the companies and prints the latencies, and at the end a
// histogram of all operations but scans beside splits, index builds and compactions.
func (r *runner) measureLatency(ctx context.Context, w io.Writer) error {
	if _, err := r.load(ctx); err != nil {
		return err
	}
	if err := r.quiet(ctx); err != nil { // compactions of the load would be counted in the baseline
		return err
	}
	fmt.Fprintf(w, "mixed load of %d clients: reads 45 %%, updates 35 %%, inserts 10 %%, scans 10 %%; load of the machine %s\n\n", latencyClients, loadAverage())
	fmt.Fprintf(w, "%-36s %-7s %8s %9s %9s %9s %9s %10s\n", "beside", "kind", "op/s", "p50", "p99", "p99.9", "longest", "p99.9/p50")
	var alone, restructured latencies
	for i, c := range companies {
		got, err := r.mixed(ctx, c)
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		switch i {
		case 0:
			alone = got
		case 1:
			restructured = got
		}
		r.printLatencies(w, c.name, got, alone)
	}
	fmt.Fprintf(w, "\nall operations but scans, beside %s:\n", companies[1].name)
	writeHistogram(w, slices.Concat(restructured[0], restructured[1], restructured[2]))
	return nil
}

// mixed runs the mixed load beside one company for the duration of a workload.
func (r *runner) mixed(ctx context.Context, c company) (latencies, error) {
	beside, leave := context.WithCancel(ctx)
	defer leave()
	var group sync.WaitGroup
	var besideErr error
	if c.run != nil {
		group.Go(func() {
			for turn := 0; beside.Err() == nil; turn++ {
				if err := c.run(r, beside, turn); err != nil && beside.Err() == nil {
					besideErr = err
					return
				}
			}
		})
	}
	all := make([]latencies, latencyClients)
	errs := make([]error, latencyClients)
	deadline := time.Now().Add(time.Duration(r.settings.seconds * float64(time.Second)))
	var clients sync.WaitGroup
	for i := range latencyClients {
		all[i] = make(latencies, len(mixedKinds))
		clients.Go(func() {
			cl := newClient(r, workload{}, uint64(i))
			for time.Now().Before(deadline) && ctx.Err() == nil && errs[i] == nil {
				kind := kindOf(cl.random.IntN(100))
				start := time.Now()
				errs[i] = mixedKinds[kind].run(cl, ctx)
				all[i][kind] = append(all[i][kind], time.Since(start))
			}
		})
	}
	clients.Wait()
	leave()
	group.Wait()
	out := make(latencies, len(mixedKinds))
	for _, one := range all {
		for kind := range out {
			out[kind] = append(out[kind], one[kind]...)
		}
	}
	return out, errors.Join(append(errs, besideErr)...)
}

// kindOf returns the kind of operation for a number from 0 to 99.
func kindOf(dice int) int {
	for i, k := range mixedKinds {
		if dice -= k.part; dice < 0 {
			return i
		}
	}
	return len(mixedKinds) - 1
}

// printLatencies prints a line per kind, compared with the latency of the same kind alone.
func (r *runner) printLatencies(w io.Writer, beside string, got, alone latencies) {
	for kind, list := range got {
		if len(list) == 0 {
			continue
		}
		slices.Sort(list)
		p50, p999 := quantile(list, 0.5), quantile(list, 0.999)
		fmt.Fprintf(w, "%-36s %-7s %8.0f %9s %9s %9s %9s %10.1f", beside, mixedKinds[kind].name, float64(len(list))/r.settings.seconds,
			brief(p50), brief(quantile(list, 0.99)), brief(p999), brief(list[len(list)-1]), float64(p999)/float64(p50))
		if base := alone[kind]; len(base) > 0 && &base[0] != &list[0] {
			fmt.Fprintf(w, "   %.1f of the operations per second and %.1f times the p50 of alone", float64(len(list))/float64(len(base)), float64(p50)/float64(quantile(base, 0.5)))
		}
		fmt.Fprintln(w)
		beside = ""
	}
}

// brief prints a duration with three digits.
func brief(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return d.Round(time.Microsecond).String()
	case d < 100*time.Millisecond:
		return d.Round(10 * time.Microsecond).String()
	}
	return d.Round(time.Millisecond).String()
}

// writeHistogram prints a histogram of the durations by powers of two of microseconds. The length of a bar is
// the logarithm of the count, because the few slow operations matter.
func writeHistogram(w io.Writer, list []time.Duration) {
	counts := make([]int, 64)
	least, most := len(counts), 0
	for _, d := range list {
		at := bits.Len64(uint64(d.Microseconds()))
		counts[at]++
		least, most = min(least, at), max(most, at)
	}
	passed := 0
	for at := least; at <= most; at++ {
		passed += counts[at]
		fmt.Fprintf(w, "%9s and more %9d %8.4f %%  %s\n", brief(time.Duration(1<<at>>1)*time.Microsecond), counts[at],
			100*float64(passed)/float64(len(list)), strings.Repeat("█", 2*bits.Len(uint(counts[at]))))
	}
}

// restructure changes a collection while it is used: it splits a partition, at most one a second and splitAtMost in
// all, and builds and drops an index. Compactions follow from the writes.
func (r *runner) restructure(ctx context.Context, turn int) error {
	began := time.Now()
	if turn < splitAtMost {
		err := r.mongo.Database("admin").RunCommand(ctx, bson.D{
			{Key: "split", Value: "bench.usertable"}, {Key: "find", Value: bson.D{{Key: "_id", Value: scatter(int64(turn)) % int64(r.settings.documents)}}},
		}).Err()
		// The server refuses to split a partition that is still being split, or is too small: ignore that.
		var refused mongo.CommandError
		if err != nil && !errors.As(err, &refused) {
			return err
		}
	}
	if _, err := r.plain.Indexes().CreateOne(ctx, mongo.IndexModel{Keys: bson.D{{Key: "number", Value: 1}}}); err != nil {
		return err
	}
	if err := r.plain.Indexes().DropOne(ctx, "number_1"); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
	case <-time.After(splitEvery - time.Since(began)):
	}
	return nil
}

// pipeline runs one stage over all documents and reads the result.
func (r *runner) pipeline(ctx context.Context, stage bson.D) error {
	cursor, err := r.plain.Aggregate(ctx, mongo.Pipeline{stage, {{Key: "$match", Value: bson.D{{Key: "plain", Value: -1}}}}},
		options.Aggregate().SetAllowDiskUse(true))
	if err != nil {
		return err
	}
	return newClient(r, workload{}, 0).rows(ctx, cursor, 0)
}
