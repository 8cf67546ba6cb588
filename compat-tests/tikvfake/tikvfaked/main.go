// Command tikvfaked is a simulated TiKV cluster as a process of its own: what PD, its etcd and a
// TiKV server say, on one address. Everything is in memory and gone at the end. It is for
// trying cantle serve --storage tikv://ADDRESS/name where there is no cluster.
//
//	tikvfaked [ADDRESS [until-stdin-ends]]
package main

import (
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/cantledb/cantle/compat-tests/tikvfake"
)

func main() {
	address := "127.0.0.1:2379"
	if len(os.Args) > 1 {
		address = os.Args[1]
	}
	if len(os.Args) > 2 && os.Args[2] == "until-stdin-ends" { // of the process that started this one
		go func() {
			_, _ = io.Copy(io.Discard, os.Stdin)
			os.Exit(0)
		}()
	}
	if err := run(address); err != nil {
		fmt.Fprintln(os.Stderr, "tikvfaked:", err)
		os.Exit(1)
	}
}

// run serves until a signal comes.
func run(address string) error {
	c, err := tikvfake.New()
	if err != nil {
		return err
	}
	defer c.Close()
	at, stop, err := c.Serve(address)
	if err != nil {
		return err
	}
	defer stop()
	fmt.Println("tikvfaked ready tikv://" + at + "/cantle")
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	<-signals
	return nil
}
