package cli

import (
	"context"
	"fmt"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/pflag"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/cantledb/cantle/cmd/cantle/bench"
)

// benchHelp returns the help of cantle bench, with the workloads of its table.
func benchHelp() string {
	var list strings.Builder
	for _, m := range bench.Mixes {
		fmt.Fprintf(&list, "  %-13s %s\n", m.Name, m.Does)
	}
	return fmt.Sprintf(`Loads documents into a collection of its own, sends a mix of operations, and reports
operations per second, latencies, request units and refusals, each second and at the end.
a to f are the core workloads of YCSB (Cooper et al., 2010), with its proportions, its
distributions and its documents of ten fields of 100 bytes:

%s
Without --rate each thread sends the next operation when the last is answered. With --rate
operations are due at fixed times, and latencies count from these: the wait for a server
that is too slow is part of the latency.

Throttled requests (error 16500) are sent again after the time that the server names.
"refused" counts the refusals, "retries" the repetitions, "failed" the operations that were
given up. The collection is sharded by _id, device or tenant. Any MongoDB server can be
measured; the columns of request units are for Cantle.

  cantle bench mongodb://127.0.0.1:27017/
  cantle bench --workload b --threads 32 --duration 1m mongodb://127.0.0.1:27017/
  cantle bench --throughput 1000 --rate 200 mongodb://127.0.0.1:27017/      at 1,000 RU/s
  cantle bench --drop --json mongodb://127.0.0.1:27017/ > result.json

A collection with documents is not touched unless --append is set. Ctrl-C ends the
measurement early, with its result.
`, list.String())
}

func benchVerb(f *pflag.FlagSet) action {
	var o bench.Options
	o.Flags(f)
	return func(ctx context.Context, s Streams) error {
		if f.NArg() != 1 {
			return usageErrorf("expected one connection string, as in\n\n  cantle bench mongodb://127.0.0.1:27017/")
		}
		server, err := connect(f.Arg(0), "cantle bench", withoutRetries, func(c *options.ClientOptions) error {
			c.SetMaxPoolSize(uint64(max(1, o.Threads)))
			return nil
		})
		if err != nil {
			return err
		}
		defer server.close()
		b, err := bench.New(server.remoteRun, o)
		if err != nil {
			return usageError{err}
		}
		ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
		defer stop()
		return b.Measure(ctx, &bench.Report{Out: s.Out, JSON: o.JSON})
	}
}
