// Command bench measures a Cantle server through the official Go driver: it loads 100,000 documents of 1 KB and runs
// mixes of reads and writes after YCSB with a few and with many clients. For comparison the command also measures a
// stub that answers every command with a canned reply: the cost of the driver and the sockets on this machine, and
// so the ceiling for any server on it.
//
//	./scripts/bench                        about three minutes
//	./scripts/bench --only=C,load          some workloads
//	./scripts/bench --only=aggregate --documents=1000000 --no-stub
//	                                       pipelines, which run only when named
//	./scripts/bench --only=latency --seconds=60 --no-stub
//	                                       how long clients wait beside splits, index builds, a
//	                                       large sort and $lookup, with a histogram
//	./scripts/bench --only=flat --documents=1000000 --no-stub
//	                                       what operations cost as a store grows
//	./scripts/bench --provisioned --seconds=30
//	                                       request units under overload: exactness, what a
//	                                       quiet neighbour feels, what metering costs
//	./scripts/bench --provisioned --only=metering
//	                                       one of overload, neighbour, metering
//	./scripts/bench --storage              one to three servers over a simulated TiKV cluster
//	./scripts/bench --ratio                the scoreboard: multiples of the stub, and of a stub with
//	                                       the server's engine behind it, in three rounds
//	./scripts/bench --json=old.json        keep the numbers
//	./scripts/bench --compare=old.json     show the change against kept numbers
//
// Client and server share the machine's cores, so numbers compare only with others from
// the same machine. CPU per operation is the server's alone and varies less than throughput.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/cantledb/cantle/compat-tests/rig/harness"
	"github.com/cantledb/cantle/internal/testenv"
)

func main() {
	// Started as a server by itself: run as the stub.
	if len(os.Args) > 1 && os.Args[1] == "serve" {
		if err := serveStub(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if len(os.Args) == 4 && os.Args[1] == pressCommand {
		if err := serveNoise(os.Args[2], os.Args[3]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := bench(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// settings are the flags of one run.
type settings struct {
	documents int
	seconds   float64
	only      map[string]bool // empty = all
	json      string
	compare   string
	memory    bool
	noStub    bool
	flags     string
	uri       string
	shards    int

	provisioned bool

	storage storageFlag   // "" for the files of one server
	delay   time.Duration // of the simulated cluster's stores

	ratio  bool
	page   string
	beside string
	pid    int // of the server at uri
}

// parseFlags reads the command line.
func parseFlags() settings {
	var s settings
	only := flag.String("only", "", "comma-separated `workloads`: load, A, B, C, E, F, durable-insert, durable-update, transaction; count, drain, group: what looks at all documents; streams, tails: what change streams and tailable cursors cost; latency: how long clients wait beside long work; flat: what operations cost as a store grows, in documents, partitions or collections (flat-documents, …); find-indexed, update-plain, update-indexed build an index first and measure that; aggregate: match-group, sort-limit, lookup, expression")
	flag.IntVar(&s.documents, "documents", 100_000, "documents to load, 1 KB each")
	flag.Float64Var(&s.seconds, "seconds", 4, "seconds to measure each workload")
	flag.StringVar(&s.json, "json", "", "write the results to this `file`")
	flag.StringVar(&s.compare, "compare", "", "show the change against the results in this `file`")
	flag.BoolVar(&s.memory, "memory", false, "run the server in memory instead of on disk")
	flag.BoolVar(&s.noStub, "no-stub", false, "do not measure the stub")
	flag.StringVar(&s.flags, "server", "", "further `flags` for the server, separated by blanks")
	flag.StringVar(&s.uri, "uri", "", "measure this running server (`connection string`) instead of starting one")
	flag.IntVar(&s.shards, "shards", 0, "shard the collection over so many partitions")
	flag.BoolVar(&s.provisioned, "provisioned", false, "measure provisioned throughput instead (--seconds each, 30 is a good number); --only takes overload, neighbour and metering then: how exactly an overload is cut down, what it does to a neighbour, what metering costs")
	flag.Var(&s.storage, "storage", "measure one, two and three servers over a TiKV cluster instead: how they scale, how long definitions take, when change streams of another server have a write, what idle servers ask of the cluster; over the simulator, or over a `cluster` with --storage=tikv://PD,PD/keyspace")
	flag.DurationVar(&s.delay, "delay", 5*time.Millisecond, "with --storage: how much later the stores of the simulator answer each request")
	flag.BoolVar(&s.ratio, "ratio", false, "print the scoreboard: what operations cost as multiples of the stub, the least of three rounds")
	flag.StringVar(&s.page, "page", "", "with --ratio: write the scoreboard to this `file` as well")
	flag.StringVar(&s.beside, "beside", "", "with --ratio: show results of other servers beside, from these `files` of --json, separated by commas")
	flag.IntVar(&s.pid, "pid", 0, "the `process` of the server at --uri, whose CPU time is measured")
	flag.Parse()
	s.only = map[string]bool{}
	for name := range strings.FieldsFuncSeq(*only, func(c rune) bool { return c == ',' }) {
		s.only[name] = true
	}
	return s
}

// bench runs all measurements and prints the table.
func bench(ctx context.Context) error {
	s := parseFlags()
	for name := range s.only {
		if !known(name) && !(s.provisioned && (name == overloadName || name == neighbourName || name == meteringName)) {
			return fmt.Errorf("no workload is called %s", name)
		}
	}
	if s.storage != "" {
		return measureStorage(ctx, os.Stdout, s, wholeExtent)
	}
	if s.provisioned {
		return measureProvisioned(ctx, s)
	}
	if s.ratio {
		return measureRatio(ctx, s)
	}
	fmt.Printf("%d cores, %s, %d documents of 1 KB, %g s each\n\n", runtime.NumCPU(), runtime.Version(), s.documents, s.seconds)
	var results []result
	printHeader(os.Stdout)
	report := func(r result) {
		results = append(results, r)
		r.print(os.Stdout)
	}
	if err := measureBoth(ctx, s, !s.noStub, report); err != nil {
		return err
	}
	if s.json != "" {
		if err := save(s.json, results); err != nil {
			return err
		}
	}
	if s.compare != "" {
		return compare(os.Stdout, s.compare, results)
	}
	return nil
}

// measureBoth measures the server. If stub is set, it measures the stub before, and for the scoreboard of a server
// on disk also the floor.
func measureBoth(ctx context.Context, s settings, stub bool, report func(result)) error {
	if stub {
		self, err := os.Executable()
		if err != nil {
			return err
		}
		if err := measureTarget(ctx, s, stubName, self, harness.Options{}, report); err != nil {
			return err
		}
		if s.ratio && !s.memory {
			err := onDisk(func(dir string) error {
				return measureTarget(ctx, s, floorName, self, harness.Options{Data: dir, Args: []string{floorFlag}}, report)
			})
			if err != nil {
				return err
			}
		}
	}
	return measureCantle(ctx, s, report)
}

// onDisk calls f with a folder for data. The folder is not in the system's directory for temporary files,
// which may be in memory.
func onDisk(f func(dir string) error) error {
	root, err := harness.Root()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp(filepath.Join(root, ".cache"), "bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	return f(dir)
}

// measureCantle starts the real server and measures it.
func measureCantle(ctx context.Context, s settings, report func(result)) error {
	if s.uri != "" {
		return measureURI(ctx, s, cantleName, s.uri, s.pid, report)
	}
	binary := testenv.Binary()
	if binary == "" {
		var err error
		if binary, err = harness.Build(""); err != nil {
			return err
		}
	}
	o := harness.Options{Args: strings.Fields(s.flags)}
	if s.memory {
		return measureTarget(ctx, s, cantleName, binary, o, report)
	}
	return onDisk(func(dir string) error {
		o.Data = dir
		return measureTarget(ctx, s, cantleName, binary, o, report)
	})
}

// measureTarget starts a server, measures it and stops it.
func measureTarget(ctx context.Context, s settings, name, binary string, o harness.Options, report func(result)) error {
	server, err := harness.LaunchBinary(binary, o)
	if err != nil {
		return err
	}
	defer server.Kill()
	if err := measureURI(ctx, s, name, server.URI, server.PID(), report); err != nil {
		return fmt.Errorf("%w\n%s", err, server.Log())
	}
	return server.Stop()
}

// measureURI runs the selected workloads against a running server.
func measureURI(ctx context.Context, s settings, name, uri string, pid int, report func(result)) error {
	r, err := newRunner(ctx, s, name, uri, pid)
	if err != nil {
		return err
	}
	defer r.close()
	if some, only := s.aggregates(); some {
		if name == cantleName {
			err = r.measureAggregations(ctx, report)
		}
		if err != nil || only {
			return err
		}
	}
	if s.only[latencyName] {
		if name != cantleName {
			return nil
		}
		return r.measureLatency(ctx, os.Stdout)
	}
	if s.flats() {
		if name != cantleName {
			return nil
		}
		return r.measureFlat(ctx, report)
	}
	loaded, err := r.load(ctx)
	if err != nil {
		return err
	}
	if s.wants("load") {
		report(loaded)
	}
	if s.only[streamsName] && name == cantleName {
		if err := r.measureStreams(ctx, report); err != nil {
			return err
		}
	}
	if s.only[tailsName] && name == cantleName {
		if err := r.measureTails(ctx, report); err != nil {
			return err
		}
	}
	indexed := false
	for _, w := range workloads {
		if !s.wants(w.name) || name != cantleName && !w.forStub(s) {
			continue
		}
		if w.indexed && !indexed {
			built, err := r.index(ctx)
			if err != nil {
				return err
			}
			indexed = true
			report(built)
		}
		for _, clients := range w.clients {
			if s.ratio && !inRatio(w.name, clients) {
				continue
			}
			if err := ctx.Err(); err != nil {
				return err
			}
			got, err := r.measure(ctx, w, clients, time.Duration(s.seconds*float64(time.Second)))
			if err != nil {
				return err
			}
			report(got)
		}
	}
	return nil
}

// Reports whether a workload is selected.
func (s settings) wants(name string) bool {
	if s.ratio {
		return slices.ContainsFunc(scores, func(x score) bool { return x.workload == name || x.instead == name })
	}
	return len(s.only) == 0 || s.only[name]
}

// forStub reports whether stub and floor implement a workload.
func (w workload) forStub(s settings) bool {
	return !w.indexed && !w.whole && (!w.durable || s.ratio && w.name != "transaction")
}
