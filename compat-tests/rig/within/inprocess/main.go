// Command inprocess is a server whose data are in a simulated TiKV cluster in the same process, and are lost at its
// end. Its arguments are serve and the flags of cantle serve.
//
//	inprocess --servers=3 serve …
//
// runs three servers over one such cluster; a last line prints the addresses of the peers.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/cantledb/cantle/compat-tests/rig/within"
	"github.com/cantledb/cantle/serve/daemon"
	"github.com/cantledb/cantle/serve/flags"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "inprocess:", err)
		os.Exit(1)
	}
}

// run serves until a signal or a client's command comes.
func run(args []string) error {
	servers := 0
	if len(args) > 0 && strings.HasPrefix(args[0], "--servers=") {
		if _, err := fmt.Sscanf(args[0], "--servers=%d", &servers); err != nil {
			return err
		}
		args = args[1:]
	}
	if len(args) == 0 || args[0] != "serve" {
		return errors.New("usage: inprocess serve [flags of cantle serve]")
	}
	end := make(chan os.Signal, 1)
	signal.Notify(end, syscall.SIGINT, syscall.SIGTERM)
	shutdown := func() {
		select {
		case end <- syscall.SIGTERM:
		default: // already sent
		}
	}
	if servers > 0 {
		return several(servers, args[1:], shutdown, end)
	}
	cfg := daemon.Config{Wrap: within.Instead, Shutdown: shutdown}
	set := flags.New("cantle serve")
	cfg.Flags(set)
	if err := flags.Parse(set, args[1:]); err != nil {
		return err
	}
	d, err := daemon.Start(context.Background(), cfg, os.Stderr)
	if err != nil {
		return err
	}
	announce(d)
	select {
	case <-end:
	case err = <-d.Failed():
	}
	return errors.Join(err, d.Stop())
}

// several serves with n servers until a signal or a client's command comes.
func several(n int, args []string, shutdown func(), end <-chan os.Signal) error {
	s, err := within.Start(context.Background(), n, args, shutdown, os.Stderr)
	if err != nil {
		return err
	}
	announce(s.Servers()[0])
	others := []string{}
	for _, d := range s.Servers()[1:] {
		others = append(others, d.URI())
	}
	fmt.Println("cantle ready", strings.Join(others, " "))
	<-end
	return s.Stop()
}

// announce prints the ready lines of a server.
func announce(d *daemon.Daemon) {
	fmt.Println("cantle ready", strings.Join(d.URIs(), " "))
	if uri := d.CosmosURI(); uri != "" {
		fmt.Println("cantle ready", uri, "(as Azure Cosmos DB)")
	}
}
