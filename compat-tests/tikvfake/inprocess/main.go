// Command inprocess is a server whose data are in a simulated TiKV cluster in the same process,
// and gone at its end. Its arguments are those of cantle.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/cantledb/cantle/cmd/cantle/daemon"
	"github.com/cantledb/cantle/cmd/cantle/flags"
	"github.com/cantledb/cantle/compat-tests/tikvfake/within"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "inprocess:", err)
		os.Exit(1)
	}
}

// run serves until a signal or a client's command comes.
func run(args []string) error {
	if len(args) == 0 || args[0] != "serve" {
		return errors.New("usage: inprocess serve [flags of cantle serve]")
	}
	var cfg daemon.Config
	set := flags.New("cantle serve")
	cfg.Flags(set)
	if err := flags.Parse(set, args[1:]); err != nil {
		return err
	}
	cfg.Wrap = within.Instead
	end := make(chan os.Signal, 1)
	signal.Notify(end, syscall.SIGINT, syscall.SIGTERM)
	cfg.Shutdown = func() {
		select {
		case end <- syscall.SIGTERM:
		default: // told already
		}
	}
	d, err := daemon.Start(context.Background(), cfg, os.Stderr)
	if err != nil {
		return err
	}
	fmt.Println("cantle ready", strings.Join(d.URIs(), " "))
	if uri := d.CosmosURI(); uri != "" {
		fmt.Println("cantle ready", uri, "(as Azure Cosmos DB)")
	}
	select {
	case <-end:
	case err = <-d.Failed():
	}
	return errors.Join(err, d.Stop())
}
