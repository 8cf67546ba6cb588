package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os/signal"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/pflag"

	"github.com/cantledb/cantle/cmd/cantle/columns"
	"github.com/cantledb/cantle/cmd/cantle/demo"
	"github.com/cantledb/cantle/serve/daemon"
	"github.com/cantledb/cantle/serve/flags"
)

const demoHelp = `Starts a server with sample data and a load, to see partitions, request units and a hot
partition at work. The collection shop.orders has the orders of 40 tenants, sharded by
tenant over four partitions that share 2,000 RU/s. After some seconds one tenant, acme,
sends more than its partition's 500 RU/s allow: that partition refuses requests with
error 16500, while the other three have room.

The console's heat map shows this; it is opened in the browser if the machine has a
display. Drivers, mongosh and the other commands of cantle work as with any server:

  cantle partitions mongodb://127.0.0.1:27017/ shop.orders
  cantle advise mongodb://127.0.0.1:27017/ shop.orders

Everything is in memory and gone at the end, unless --data gives a folder. The data does
not grow: for each new order the oldest is deleted. Ctrl-C stops the demo.

  cantle demo                              with a free port if 27017 or 8080 is in use
  cantle demo --hot-after 5s --duration 1m hot at once, and gone after a minute
  cantle demo --data ./demo                keep the data; cantle serve --data ./demo
                                           serves it later
`

// demoArgs are the flags of cantle demo.
type demoArgs struct {
	data, listen, console string
	duration, hotAfter    time.Duration
	rate, documents       int
	noOpen                bool
	freeListen            bool // --listen is the default, and may become a free port
	freeConsole           bool
}

// Limits of the demo's load.
const (
	demoRateMax      = 1_000
	demoDocumentsMax = 200_000
)

func demoVerb(f *pflag.FlagSet) action {
	var a demoArgs
	f.StringVar(&a.data, "data", "", "`folder` to keep the data in; the default keeps it in memory")
	f.StringVar(&a.listen, "listen", "127.0.0.1:27017", "`address` for MongoDB clients; if the default is in use, a free port")
	f.StringVar(&a.console, "console-listen", "127.0.0.1:8080", "`address` of the console; if the default is in use, a free port")
	f.DurationVar(&a.duration, "duration", 0, "stop after this time; 0 runs until Ctrl-C")
	f.DurationVar(&a.hotAfter, "hot-after", 20*time.Second, "time until the tenant acme becomes hot")
	f.IntVar(&a.rate, "rate", 40, fmt.Sprintf("`requests` per second of all tenants together, at most %d; the hot tenant sends four times as many on top", demoRateMax))
	f.IntVar(&a.documents, "documents", 1_000, fmt.Sprintf("`number` of orders, from %d to %d", demo.Tenants, demoDocumentsMax))
	f.BoolVar(&a.noOpen, "no-open", false, "do not open the console in a browser")
	return func(ctx context.Context, s Streams) error {
		switch {
		case f.NArg() > 0:
			return usageErrorf("unexpected argument %q; all settings are flags, as in\n\n  cantle demo --duration 1m", f.Arg(0))
		case a.rate < 4 || a.rate > demoRateMax:
			return usageErrorf("--rate is from 4 to %d", demoRateMax)
		case a.documents < demo.Tenants || a.documents > demoDocumentsMax:
			return usageErrorf("--documents is from %d to %d", demo.Tenants, demoDocumentsMax)
		case a.duration < 0 || a.hotAfter < 0:
			return usageErrorf("--duration and --hot-after are not negative")
		}
		a.freeListen, a.freeConsole = !f.Changed("listen"), !f.Changed("console-listen")
		return a.run(ctx, s)
	}
}

// run runs the demo until ctx ends, a signal comes, or the duration is over.
func (a *demoArgs) run(ctx context.Context, s Streams) error {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	d, err := a.start(s.Err)
	if err != nil {
		return err
	}
	err = a.show(ctx, s.Out, d)
	stop() // a second signal ends the process at once
	if stopErr := d.Stop(); err == nil && !errors.Is(stopErr, context.DeadlineExceeded) {
		err = stopErr
	}
	return err
}

// start starts the server. Only its errors are logged.
func (a *demoArgs) start(log io.Writer) (*daemon.Daemon, error) {
	set := flags.New("cantle serve")
	var cfg daemon.Config
	cfg.Flags(set)
	args := []string{"--listen", usable(a.listen, a.freeListen), "--console-listen", usable(a.console, a.freeConsole),
		"--log-level", "error", "--drain", "1s", "--log-retention", "15m", "--log-size", "256MB"}
	if a.data == "" {
		args = append(args, "--memory")
	} else {
		args = append(args, "--data", a.data)
	}
	if err := flags.Parse(set, args); err != nil {
		return nil, err
	}
	if wrong := cfg.Faults(); len(wrong) > 0 {
		return nil, usageError{wrong[0]}
	}
	cfg.CommandLine = append([]string{"cantle", "serve"}, args...)
	cfg.ConsoleTools = ConsoleTools()
	return daemon.Start(context.Background(), cfg, log) // ctx would end the server before its clients
}

// usable returns an address, or a free port of the same host if another process listens at the address and free allows
// that.
func usable(address string, free bool) string {
	if !free {
		return address
	}
	l, err := net.Listen("tcp", address)
	if err == nil {
		l.Close()
		return address
	}
	host, _, _ := net.SplitHostPort(address)
	return net.JoinHostPort(host, "0")
}

// show fills the collection, prints the first screen, and sends the load until ctx ends or the duration is over.
func (a *demoArgs) show(ctx context.Context, out io.Writer, d *daemon.Daemon) error {
	client, err := connect(d.URI(), "cantle demo", withoutRetries)
	if err != nil {
		return err
	}
	defer client.close()
	load := demo.Load{Run: client.remoteRun, Now: time.Now, Documents: a.documents, Throughput: demo.Throughput, Rate: a.rate, HotRate: 4 * a.rate}
	if err := load.Prepare(ctx); err != nil {
		return err
	}
	hot, err := load.HotPartition(ctx)
	if err != nil {
		return err
	}
	url := d.ConsoleURL() + "#/heat?ns=" + demo.Namespace
	a.printScreen(out, d, hot, url)
	if !a.noOpen && demo.OpenBrowser(ctx, url) {
		fmt.Fprintln(out, "The console is being opened in the browser.")
	}
	begun := time.Now()
	if a.duration > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithCancel(ctx) // not a deadline, before which the driver would give up
		defer time.AfterFunc(a.duration, cancel).Stop()
	}
	var announced sync.WaitGroup
	announced.Go(func() { announce(ctx, out, hot, a.hotAfter, &load) })
	load.Send(ctx, a.hotAfter)
	announced.Wait()
	return reportDemo(out, time.Since(begun), load.Counts())
}

// printScreen prints the size of the demo, its addresses, and the parts of it that are worth a look.
func (a *demoArgs) printScreen(out io.Writer, d *daemon.Daemon, hot, url string) {
	kept := "in memory"
	if a.data != "" {
		kept = "in " + a.data
	}
	fmt.Fprintf(out, `cantle demo: %d orders of %d tenants %s, on %d partitions of %d RU/s each

  connection string  %s
  console            %s

What to look at:

  now       every partition has about the same load: open
            %s
  in %-6s partition %s becomes hot, because tenant %s sends more than %d RU/s: it
            refuses requests (error 16500) while the others have room
  then      which key would suit:  cantle advise %s %s

Ctrl-C stops it.
`, a.documents, demo.Tenants, kept, demo.Partitions, demo.Throughput/demo.Partitions, d.URI(), d.ConsoleURL(), url,
		a.hotAfter.Round(time.Second), hot, demo.HotTenant, demo.Throughput/demo.Partitions, d.URI(), demo.Namespace)
}

// announce prints a line when the hot tenant begins, and one at the first refusal.
func announce(ctx context.Context, out io.Writer, hot string, after time.Duration, load *demo.Load) {
	begun := time.Now()
	at := func() string { return strconv.Itoa(int(time.Since(begun).Seconds())) + " s" }
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for began := false; ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if !began && time.Since(begun) >= after {
			began = true
			fmt.Fprintf(out, "%s: tenant %s becomes hot\n", at(), demo.HotTenant)
		}
		if load.Counts().Refused > 0 {
			fmt.Fprintf(out, "%s: partition %s is at its limit and refuses requests\n", at(), hot)
			return
		}
	}
}

// reportDemo prints the counts of the requests.
// Errors: the last error, if requests failed other than by refusals.
func reportDemo(out io.Writer, took time.Duration, n demo.Counts) error {
	fmt.Fprintf(out, "\nstopped after %s: %s, %d of them refused\n", took.Round(time.Second), columns.Plural(int(n.Requests), "request"), n.Refused)
	if n.Failed > 0 {
		return fmt.Errorf("%s failed, the last with: %w", columns.Plural(int(n.Failed), "request"), n.LastError)
	}
	return nil
}
