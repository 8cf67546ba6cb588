package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/cantledb/cantle/compat-tests/rig/harness"
)

// Throughput of several servers over one cluster, and the cost of coordination among them. Measured instead
// of everything else if --storage is given.
const (
	fleetClients   = 8  // of each server
	fleetShards    = 12 // of the collection, so that each server uses all of them
	fleetDocuments = 10_000
)

// extent bounds each measurement.
type extent struct {
	servers int
	rounds  int           // times that each definition is made
	writes  int           // writes that are followed to a stream
	idle    time.Duration // time for which idle servers are measured
}

var wholeExtent = extent{servers: 3, rounds: 20, writes: 100, idle: 10 * time.Second}

// storageFlag is the value of --storage: the address of a cluster; simulatedStorage if none is given.
type storageFlag string

const simulatedStorage storageFlag = "true" // the value that package flag passes for a flag without a value

// String implements flag.Value.
func (p *storageFlag) String() string { return string(*p) }

// Set implements flag.Value.
func (p *storageFlag) Set(value string) error {
	if *p = storageFlag(value); *p != simulatedStorage && !strings.HasPrefix(value, "tikv://") {
		return errors.New("want tikv://PD,PD/keyspace, or nothing for the simulator")
	}
	return nil
}

// IsBoolFlag lets the flag appear without a value.
func (*storageFlag) IsBoolFlag() bool { return true }

// fleet is a number of servers over one cluster, and a client of each.
type fleet struct {
	s       settings
	e       extent
	w       io.Writer
	servers []*harness.Server
	clients []*mongo.Client
	store   int // the process of the simulator; 0 for a real cluster
	next    int64
}

// measureStorage measures one server over a cluster, then two and so on. Unless a cluster is named, it is a
// simulated one whose TiKV nodes delay each response.
func measureStorage(ctx context.Context, w io.Writer, s settings, e extent) error {
	binary, err := harness.Build("")
	if err != nil {
		return err
	}
	f := &fleet{s: s, e: e, w: w}
	where, end, err := f.cluster()
	if err != nil {
		return err
	}
	defer end()
	defer f.stop()
	fmt.Fprintf(f.w, "%d cores, %s, %d documents of 1 KB in %d partitions, %d clients a server, %g s each, load %s\n", runtime.NumCPU(), runtime.Version(), f.documents(), fleetShards, fleetClients, s.seconds, loadAverage())
	if f.store != 0 {
		fmt.Fprintf(f.w, "the cluster is a simulator on this machine; its stores answer each request %v later\n", s.delay)
	}
	var scaling []fleetRow
	for len(f.servers) < e.servers {
		if err := f.join(ctx, binary, where); err != nil {
			return err
		}
		rows, err := f.scale(ctx)
		if err != nil {
			return err
		}
		scaling = append(scaling, rows...)
		if err := f.define(ctx); err != nil {
			return err
		}
		if err := f.follow(ctx); err != nil {
			return err
		}
		if err := f.measureIdle(ctx); err != nil {
			return err
		}
	}
	writeScaling(f.w, scaling)
	return nil
}

// cluster returns the address of the servers' storage, and a function that ends a simulated cluster.
func (f *fleet) cluster() (where string, end func(), err error) {
	if f.s.storage != simulatedStorage {
		return string(f.s.storage), func() {}, nil
	}
	where, process, end, err := harness.LaunchCluster("--delay", f.s.delay.String())
	if err == nil {
		f.store = process.Pid
	}
	return where, end, err
}

// documents is the number of documents to load: the simulator cannot hold many.
func (f *fleet) documents() int { return min(f.s.documents, fleetDocuments) }

// coll returns the collection through the client of server i.
func (f *fleet) coll(i int) *mongo.Collection {
	return f.clients[i].Database("bench").Collection("usertable")
}

// join starts one more server. The first one loads the documents.
func (f *fleet) join(ctx context.Context, binary, where string) error {
	server, err := harness.LaunchBinary(binary, harness.Options{Storage: where, Args: strings.Fields(f.s.flags)})
	if err != nil {
		return err
	}
	f.servers = append(f.servers, server)
	client, err := harness.Connect(server.URI, options.Client().SetMaxPoolSize(64))
	if err != nil {
		return err
	}
	f.clients = append(f.clients, client)
	if len(f.servers) > 1 {
		return nil
	}
	if err := client.Database("bench").Drop(ctx); err != nil {
		return err
	}
	if err := client.Database("admin").RunCommand(ctx, bson.D{
		{Key: "shardCollection", Value: "bench.usertable"}, {Key: "key", Value: bson.D{{Key: "_id", Value: "hashed"}}}, {Key: "numInitialChunks", Value: fleetShards},
	}).Err(); err != nil {
		return err
	}
	random := rand.New(rand.NewPCG(1, 1))
	for f.next < int64(f.documents()) {
		var batch []any
		for range min(loadBatch, f.documents()-int(f.next)) {
			batch = append(batch, document(random, f.next))
			f.next++
		}
		if _, err := f.coll(0).InsertMany(ctx, batch); err != nil {
			return err
		}
	}
	return nil
}

// stop ends the servers.
func (f *fleet) stop() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	for _, c := range f.clients {
		_ = c.Disconnect(ctx)
	}
	for _, s := range f.servers {
		if err := s.Stop(); err != nil {
			fmt.Fprintln(f.w, "stopping a server:", err)
		}
	}
}

// pids returns the processes of the servers.
func (f *fleet) pids() (list []int) {
	for _, s := range f.servers {
		list = append(list, s.PID())
	}
	return list
}

// fleetKinds are the operations that show how servers scale.
var fleetKinds = []struct {
	name string
	run  func(f *fleet, ctx context.Context, coll *mongo.Collection, r *rand.Rand) error
}{
	{"read", func(f *fleet, ctx context.Context, coll *mongo.Collection, r *rand.Rand) error {
		return coll.FindOne(ctx, bson.D{{Key: "_id", Value: r.Int64N(int64(f.documents()))}}).Err()
	}},
	{"update", func(f *fleet, ctx context.Context, coll *mongo.Collection, r *rand.Rand) error {
		_, err := coll.UpdateByID(ctx, r.Int64N(int64(f.documents())), bson.D{{Key: "$set", Value: bson.D{{Key: "plain", Value: r.Int64()}}}})
		return err
	}},
	{"insert", func(f *fleet, ctx context.Context, coll *mongo.Collection, r *rand.Rand) error {
		_, err := coll.InsertOne(ctx, document(r, int64(f.documents())+r.Int64N(1<<52)))
		return err
	}},
}

// fleetRow is a result for a number of servers.
type fleetRow struct {
	servers int
	result
	store, bench float64 // processor time of the simulator and of this program, µs per operation
	busy         float64 // share of the machine's processors that all of them used
}

// scale runs each kind of operation with the clients of all servers.
func (f *fleet) scale(ctx context.Context) (rows []fleetRow, err error) {
	for _, kind := range fleetKinds {
		m := &measurement{result: result{Target: cantleName, Workload: kind.name, Clients: fleetClients * len(f.servers)}, pids: f.pids(), start: time.Now(), cpu: processCPU(f.pids()...)}
		store, self := processCPU(f.store), processCPU(os.Getpid())
		var group sync.WaitGroup
		var mu sync.Mutex
		var errs []error
		deadline := time.Now().Add(time.Duration(f.s.seconds * float64(time.Second)))
		for i := range m.result.Clients {
			group.Go(func() {
				coll, random := f.coll(i%len(f.servers)), rand.New(rand.NewPCG(uint64(i), uint64(len(f.servers))))
				var mine []time.Duration
				var failed error
				for time.Now().Before(deadline) && failed == nil {
					start := time.Now()
					if failed = kind.run(f, ctx, coll, random); failed == nil {
						mine = append(mine, time.Since(start))
					}
				}
				mu.Lock()
				defer mu.Unlock()
				m.latencies = append(m.latencies, mine...)
				m.operations += len(mine)
				errs = append(errs, failed)
			})
		}
		group.Wait()
		if err := errors.Join(errs...); err != nil {
			return rows, fmt.Errorf("%s with %d servers: %w", kind.name, len(f.servers), err)
		}
		row := fleetRow{servers: len(f.servers), result: m.end()}
		n := float64(max(row.Operations, 1))
		row.store, row.bench = micros(processCPU(f.store)-store)/n, micros(processCPU(os.Getpid())-self)/n
		row.busy = (row.ServerMicros + row.store + row.bench) * n / 1e6 / row.Seconds / float64(runtime.NumCPU())
		rows = append(rows, row)
	}
	return rows, nil
}

// writeScaling prints how operations scale: as measured, where the machine limits as soon as it is busy; and
// by the servers' own processor time, as if each had a machine of its own.
func writeScaling(w io.Writer, rows []fleetRow) {
	fmt.Fprintf(w, "\n%-8s %-7s %8s %8s %9s %9s %12s %11s %11s %6s %10s\n", "servers", "kind", "clients", "op/s", "p50 µs", "p99 µs", "server µs/op", "store µs/op", "bench µs/op", "busy", "scaling")
	for _, kind := range fleetKinds {
		var first fleetRow
		for _, r := range rows {
			if r.Workload != kind.name {
				continue
			}
			if r.servers == 1 {
				first = r
			}
			fmt.Fprintf(w, "%-8d %-7s %8d %8.0f %9.0f %9.0f %12.1f %11.1f %11.1f %5.0f%% %9.2fx", r.servers, r.Workload, r.Clients, r.PerSecond, r.P50Micros, r.P99Micros, r.ServerMicros, r.store, r.bench, r.busy*100, r.PerSecond/first.PerSecond)
			if r.ServerMicros > 0 {
				fmt.Fprintf(w, "  by the servers' processors %.2fx", float64(r.servers)*first.ServerMicros/r.ServerMicros)
			}
			fmt.Fprintln(w)
		}
	}
	fmt.Fprintln(w, "\nbusy: the part of this machine that servers, simulator and this program took together. Near 100 % it is the limit, not the servers.")
}

// define measures how long definitions take at the first server.
func (f *fleet) define(ctx context.Context) error {
	db := f.clients[0].Database("bench")
	side := db.Collection("side")
	ids := make([]any, 100)
	for i := range ids {
		ids[i] = bson.D{{Key: "_id", Value: i}, {Key: "a", Value: i}}
	}
	steps := []struct {
		name string
		run  func() error
	}{
		{"create", func() error { return db.CreateCollection(ctx, "side") }},
		{"insertMany of 100", func() error { _, err := side.InsertMany(ctx, ids); return err }},
		{"createIndex", func() error {
			_, err := side.Indexes().CreateOne(ctx, mongo.IndexModel{Keys: bson.D{{Key: "a", Value: 1}}})
			return err
		}},
		{"collMod", func() error {
			return db.RunCommand(ctx, bson.D{{Key: "collMod", Value: "side"}, {Key: "validationLevel", Value: "moderate"}}).Err()
		}},
		{"dropIndex", func() error { return side.Indexes().DropOne(ctx, "a_1") }},
		{"drop", func() error { return side.Drop(ctx) }},
	}
	took := make([][]time.Duration, len(steps))
	for range f.e.rounds {
		for i, step := range steps {
			start := time.Now()
			if err := step.run(); err != nil {
				return fmt.Errorf("%s: %w", step.name, err)
			}
			took[i] = append(took[i], time.Since(start))
		}
	}
	fmt.Fprintf(f.w, "\n%s: definitions\n", counted(len(f.servers)))
	for i, step := range steps {
		writeTimes(f.w, step.name, took[i])
	}
	return nil
}

// counted returns a number of servers in words.
func counted(n int) string {
	if n == 1 {
		return "1 server"
	}
	return strconv.Itoa(n) + " servers"
}

// writeTimes prints a line of a distribution.
func writeTimes(w io.Writer, name string, took []time.Duration) {
	slices.Sort(took)
	at := func(part int) time.Duration {
		return took[min(len(took)-1, len(took)*part/100)].Round(100 * time.Microsecond)
	}
	fmt.Fprintf(w, "  %-34s p50 %8v   p90 %8v   longest %8v\n", name, at(50), at(90), at(100))
}

// follow measures the time from the acknowledgement of a write at the first server to its arrival at a change stream
// of the last one: without load, and while two clients of each server write as fast as they can.
func (f *fleet) follow(ctx context.Context) error {
	fmt.Fprintf(f.w, "%s: from the acknowledgement of a write to a change stream of the last server\n", counted(len(f.servers)))
	watched := f.clients[0].Database("bench").Collection("watched")
	if _, err := watched.InsertOne(ctx, bson.D{}); err != nil {
		return err
	}
	for _, busy := range []bool{false, true} {
		name := "nobody else writes"
		beside, leave := context.WithCancel(ctx)
		var group sync.WaitGroup
		if busy {
			name = fmt.Sprintf("%d others write", 2*len(f.servers))
			for i := range 2 * len(f.servers) {
				group.Go(func() {
					random := rand.New(rand.NewPCG(uint64(i), 99))
					for beside.Err() == nil {
						_ = fleetKinds[1].run(f, beside, f.coll(i%len(f.servers)), random)
					}
				})
			}
		}
		took, err := f.delays(ctx, watched)
		leave()
		group.Wait()
		if err != nil {
			return err
		}
		writeTimes(f.w, name, took)
	}
	return nil
}

// delays returns the times of some writes.
func (f *fleet) delays(ctx context.Context, watched *mongo.Collection) (took []time.Duration, err error) {
	stream, err := f.clients[len(f.clients)-1].Database("bench").Collection("watched").Watch(ctx, mongo.Pipeline{})
	if err != nil {
		return nil, err
	}
	defer stream.Close(ctx)
	for range f.e.writes {
		if _, err := watched.InsertOne(ctx, bson.D{}); err != nil {
			return nil, err
		}
		start := time.Now()
		if !stream.Next(ctx) {
			return nil, fmt.Errorf("the change stream ended: %w", stream.Err())
		}
		took = append(took, time.Since(start))
	}
	return took, nil
}

// measureIdle measures the requests to the cluster and the processor time of idle servers.
func (f *fleet) measureIdle(ctx context.Context) error {
	before, err := f.storeRequests(ctx)
	if err != nil {
		return err
	}
	cpu, store := processCPU(f.pids()...), processCPU(f.store)
	select {
	case <-time.After(f.e.idle):
	case <-ctx.Done():
		return ctx.Err()
	}
	cpu, store = processCPU(f.pids()...)-cpu, processCPU(f.store)-store
	after, err := f.storeRequests(ctx)
	if err != nil {
		return err
	}
	each := f.e.idle.Seconds() * float64(len(f.servers))
	fmt.Fprintf(f.w, "%s: idle, each asks the cluster for %.1f requests and %.1f times a second, and takes %.2f %% of a processor (the simulator %.2f %%)\n", counted(len(f.servers)),
		float64(after[0]-before[0])/each, float64(after[1]-before[1])/each, 100*cpu.Seconds()/each, 100*store.Seconds()/f.e.idle.Seconds())
	return nil
}

// storeRequests sums the requests that the servers have sent to the cluster: all requests, and those for timestamps.
func (f *fleet) storeRequests(ctx context.Context) (sum [2]int64, err error) {
	for _, c := range f.clients {
		var status struct {
			StorageRemote struct{ Requests, OracleTimes int64 }
		}
		if err := c.Database("admin").RunCommand(ctx, bson.D{{Key: "serverStatus", Value: 1}}).Decode(&status); err != nil {
			return sum, err
		}
		sum[0] += status.StorageRemote.Requests
		sum[1] += status.StorageRemote.OracleTimes
	}
	return sum, nil
}
