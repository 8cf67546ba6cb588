// Command cantle is a MongoDB-compatible database server with partitions and
// request units.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/cantledb/cantle/cmd/cantle/cli"
	"github.com/cantledb/cantle/cmd/cantle/daemon"
)

const usage = `cantle is a MongoDB-compatible server with Cosmos-DB-style partitions and
request units, in one binary.

Usage:

  cantle serve [flags]                     start a server
  cantle partitions URI db.collection      what each partition holds and costs
  cantle report URI [db.collection]        what commands cost, by their shape
  cantle advise URI db.collection          which shard key suits a collection
  cantle estimate [flags] document.json    what a workload will cost
  cantle dump [flags] URI                  write databases into files, as mongodump does
  cantle restore [flags] URI [folder]      load what it or mongodump has written
  cantle import URI db.collection [file]   load JSON, CSV or TSV
  cantle export URI db.collection          print JSON or CSV
  cantle cert [flags]                      make certificates for development
  cantle version                           print the version

Try it:

  cantle serve --memory                     a throwaway server on port 27017
  mongosh mongodb://127.0.0.1:27017/        talk to it
  cantle serve --help                       every setting, explained

`

func main() {
	if len(os.Args) < 2 {
		fmt.Fprint(os.Stderr, usage)
		os.Exit(2)
	}
	switch os.Args[1] {
	case "serve":
		os.Exit(serve(os.Args[2:]))
	case "estimate":
		os.Exit(cli.Estimate(context.Background(), os.Args[2:], os.Stdout, os.Stderr))
	case "report":
		os.Exit(cli.Report(context.Background(), os.Args[2:], os.Stdout, os.Stderr))
	case "advise":
		os.Exit(cli.Advise(context.Background(), os.Args[2:], os.Stdout, os.Stderr))
	case "partitions":
		os.Exit(cli.Partitions(context.Background(), os.Args[2:], os.Stdout, os.Stderr))
	case "dump":
		os.Exit(cli.Dump(context.Background(), os.Args[2:], os.Stdout, os.Stderr))
	case "restore":
		os.Exit(cli.Restore(context.Background(), os.Args[2:], os.Stdin, os.Stderr))
	case "import":
		os.Exit(cli.Import(context.Background(), os.Args[2:], os.Stdin, os.Stderr))
	case "export":
		os.Exit(cli.Export(context.Background(), os.Args[2:], os.Stdout, os.Stderr))
	case "cert":
		os.Exit(cli.Cert(os.Args[2:], os.Stdout, os.Stderr))
	case "version", "--version", "-v":
		fmt.Println("cantle", daemon.Version)
	case "help", "--help", "-h":
		fmt.Print(usage)
	default:
		fmt.Fprintf(os.Stderr, "cantle: there is no command %q\n\n%s", os.Args[1], usage)
		os.Exit(2)
	}
}

// serve runs a server until it is told to stop, and returns the exit status.
func serve(args []string) int {
	var cfg daemon.Config
	f := flag.NewFlagSet("cantle serve", flag.ContinueOnError)
	cfg.Flags(f)
	f.Usage = func() {
		fmt.Fprint(f.Output(), "Usage: cantle serve [flags]\n\nEvery flag can also be set as an environment variable (CANTLE_DATA for --data) or in a file (--config).\n\n")
		f.PrintDefaults()
	}
	if err := f.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return 0
		}
		return 2
	}
	if f.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "cantle serve: unexpected argument %q; see cantle serve --help\n", f.Arg(0))
		return 2
	}
	if err := daemon.Load(f, nil); err != nil {
		fmt.Fprintln(os.Stderr, "cantle serve:", err)
		return 2
	}
	if os.Getenv("GOGC") == "" {
		tuneHeap()
	}
	if os.Getenv("GOMAXPROCS") == "" {
		cfg.Crowded = spareProcessors().crowded
	}
	ctx := context.Background()
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	d, err := daemon.Start(ctx, cfg, os.Stderr)
	if err != nil {
		fmt.Fprintln(os.Stderr, "cantle serve:", err)
		return 1
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(daemon.HeapLimit())
	}
	fmt.Println("cantle ready", strings.Join(d.URIs(), " "))
	if uri := d.CosmosURI(); uri != "" {
		fmt.Println("cantle ready", uri, "(as Azure Cosmos DB)")
	}
	if url := d.MetricsURL(); url != "" {
		fmt.Println("cantle metrics", url)
	}
	status := waitForEnd(d, signals)
	if err := d.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, "cantle serve: stopping:", err)
		status = 1
	}
	return status
}

// waitForEnd returns when the server is told to stop, with status 0, or fails.
// SIGHUP makes it read its certificates again.
func waitForEnd(d *daemon.Daemon, signals chan os.Signal) (status int) {
	reload := make(chan os.Signal, 1)
	signal.Notify(reload, syscall.SIGHUP)
	for {
		select {
		case <-reload:
			_ = d.Reload() // it is in the log
		case <-signals:
			go func() { // a second signal does not wait
				<-signals
				os.Exit(1)
			}()
			return 0
		case err := <-d.Failed():
			fmt.Fprintln(os.Stderr, "cantle serve:", err)
			return 1
		}
	}
}
