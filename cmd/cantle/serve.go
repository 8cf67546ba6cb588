package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spf13/pflag"

	"github.com/cantledb/cantle/cmd/cantle/cli"
	"github.com/cantledb/cantle/cmd/cantle/firstscripts"
	"github.com/cantledb/cantle/serve/console"
	"github.com/cantledb/cantle/serve/daemon"
	"github.com/cantledb/cantle/storage"
)

// serve runs a server until it is stopped, and returns the exit status of the program: 1 for an error, 2 for wrong
// settings, 4 for damaged data. wrong is the error of parsing the flags, nil without one.
func serve(cfg *daemon.Config, f *pflag.FlagSet, wrong error, s cli.Streams) int {
	places, err := settings(cfg, f, wrong)
	for _, text := range cfg.Notices(os.Environ()) {
		fmt.Fprintln(s.Err, "cantle serve: note:", text)
	}
	if err = withFaults(cfg, places, err); err != nil {
		printError(s, err)
		if !cfg.CheckOnly {
			fmt.Fprintln(s.Err, "See cantle serve --help")
		}
		return 2
	}
	if cfg.CheckOnly {
		fmt.Fprintln(s.Out, "the settings are valid:", places)
		return 0
	}
	if os.Getenv("GOGC") == "" {
		tuneHeap()
		returnHeap()
	}
	if os.Getenv("GOMAXPROCS") == "" {
		cfg.OnOverload = newProcsRaiser().raise
	}
	cfg.CommandLine = os.Args
	cfg.FirstScripts = firstscripts.Run
	cfg.ConsoleTools = cli.ConsoleTools()
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	cfg.Shutdown = func() {
		select {
		case signals <- syscall.SIGTERM:
		default: // already printed
		}
	}
	cfg.Status = func(text string) { notify("STATUS="+text, s.Err) }
	if cfg.UntilStdinEnds {
		go endWith(s.In, signals)
	}
	for {
		status, again := serveOnce(cfg, places, s, signals)
		if !again {
			return status
		}
	}
}

// serveOnce runs a server until it is stopped, and returns the exit status. again means that the
// caller must start the server again (StartAgain).
func serveOnce(cfg *daemon.Config, places daemon.Origins, s cli.Streams, signals chan os.Signal) (status int, again bool) {
	d, err := start(*cfg, s, signals)
	if err != nil {
		fmt.Fprintln(s.Err, "cantle serve:", places.Explain(err))
		if errors.Is(err, storage.ErrCorruption) {
			return daemon.StatusDamaged, false
		}
		return 1, false
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(daemon.HeapLimit())
	}
	fmt.Fprint(s.Out, addresses(d)) // in one write, so that a program that has waited for the first line can read all lines
	notify(stateReady, s.Err)
	status, again = waitForEnd(d, s, signals)
	if again {
		*cfg = d.RestartConfig(*cfg)
	} else {
		notify(stateStopping, s.Err)
	}
	if err := d.Stop(); err != nil {
		fmt.Fprintln(s.Err, "cantle serve: stopping:", err)
		status = 1
	}
	return status, again
}

// addresses returns a line for each address of the server.
func addresses(d *daemon.Daemon) string {
	var b strings.Builder
	fmt.Fprintln(&b, "cantle ready", strings.Join(d.URIs(), " "))
	if uri := d.CosmosReady(); uri != "" {
		as := "(as Azure Cosmos DB)"
		if file := d.AccountFile(); file != "" {
			as = "(as Azure Cosmos DB; name and key are in " + file + ")"
		}
		fmt.Fprintln(&b, "cantle ready", uri, as)
	}
	if url := d.ConsoleURL(); url != "" {
		fmt.Fprintln(&b, "cantle console", url)
	}
	if url := d.MetricsURL(); url != "" {
		fmt.Fprintln(&b, "cantle metrics", url)
	}
	return b.String()
}

// printError prints an error to the standard error, each line of its text after the name of the command.
func printError(s cli.Streams, err error) {
	for line := range strings.Lines(err.Error()) {
		fmt.Fprintln(s.Err, "cantle serve:", strings.TrimRight(line, "\n"))
	}
}

// withFaults returns err, the error of reading the settings, and all errors in the values of settings, each with its
// place; nil if there are none.
func withFaults(cfg *daemon.Config, places daemon.Origins, err error) error {
	errs := []error{err}
	for _, fault := range cfg.Faults() {
		errs = append(errs, places.Explain(fault))
	}
	return errors.Join(errs...)
}

// settings adds the environment and the settings file to the parsed flags in cfg, and returns the place where each
// setting was made. wrong is the error of parsing the flags.
// Errors: wrong; other wrong settings.
func settings(cfg *daemon.Config, f *pflag.FlagSet, wrong error) (daemon.Origins, error) {
	if wrong != nil {
		return nil, wrong
	}
	if f.NArg() > 0 {
		return nil, fmt.Errorf("unexpected argument %q", f.Arg(0))
	}
	if useless := cfg.NeedsNoFolder(); useless != "" && f.Changed("data") {
		return nil, fmt.Errorf("%s keeps nothing on disk, so --data has no use; give one of them", useless)
	}
	return daemon.Load(f, os.Environ())
}

// endWith stops the server as SIGTERM does, when the standard input in has ended (--until-stdin-ends).
func endWith(in io.Reader, signals chan<- os.Signal) {
	_, _ = io.Copy(io.Discard, in) // an error is an end as well
	signals <- syscall.SIGTERM
}

// Errors of a server that was stopped before its start was complete: before scripts of --initdb-folder began, and after.
var (
	errStopped        = errors.New("stopped during startup; no document was changed")
	errStoppedScripts = errors.New("stopped during startup, after the scripts of --initdb-folder had begun: what they changed is kept; if they had not ended, the next start is refused")
)

// start starts a server. A start takes long if there is much to recover, so a signal interrupts it.
func start(cfg daemon.Config, s cli.Streams, signals chan os.Signal) (*daemon.Daemon, error) {
	type result struct {
		d   *daemon.Daemon
		err error
	}
	done := make(chan result, 1)
	var scripts atomic.Bool // they have begun
	if run := cfg.FirstScripts; run != nil {
		cfg.FirstScripts = func(ctx context.Context, c *daemon.Config, command console.RunCommand, log func(file, text string)) error {
			scripts.Store(true)
			return run(ctx, c, command, log)
		}
	}
	go func() {
		d, err := daemon.Start(context.Background(), cfg, s.Err)
		done <- result{d, err}
	}()
	select {
	case r := <-done:
		return r.d, r.err
	case <-signals: // as if killed, which the store survives
		if scripts.Load() {
			return nil, errStoppedScripts
		}
		return nil, errStopped
	}
}

// waitForEnd waits until the server is stopped, fails, or must be started again (StartAgain), and returns the exit status. On SIGHUP it reloads the certificates.
func waitForEnd(d *daemon.Daemon, s cli.Streams, signals chan os.Signal) (status int, again bool) {
	reload := make(chan os.Signal, 1)
	signal.Notify(reload, syscall.SIGHUP)
	for {
		select {
		case <-reload:
			_ = d.Reload() // the error is logged
		case <-signals:
			go exitOnSecondSignal(s, signals)
			return 0, false
		case <-d.StartAgain():
			return 0, true
		case err := <-d.Failed():
			fmt.Fprintln(s.Err, "cantle serve:", err)
			return 1, false
		}
	}
}

// againAfter is the minimum time between the first signal to stop and a signal that counts as the second. An earlier
// one is the same request, sent to the process and to its process group.
const againAfter = 500 * time.Millisecond

// exitOnSecondSignal ends the process at once on a second signal that comes at least againAfter after the first.
func exitOnSecondSignal(s cli.Streams, signals chan os.Signal) {
	for wish := time.Now(); ; {
		<-signals
		if time.Since(wish) >= againAfter {
			fmt.Fprintln(s.Err, "cantle serve: second signal to stop: exiting without waiting for running commands")
			os.Exit(1)
		}
	}
}
