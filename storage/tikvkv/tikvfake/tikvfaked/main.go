// Command tikvfaked is a simulated TiKV cluster as a process of its own. It serves the protocols of PD, its etcd and
// a TiKV server on one address; with --trouble, each TiKV server has its own. All data are in memory and lost at the
// end. It is for trying cantle serve --storage tikv://ADDRESS/name without a cluster.
//
//	tikvfaked [--trouble] [--delay DURATION] [--until-stdin-ends] [ADDRESS]
//
// With --trouble it has three stores, and injects the faults of a real cluster: see tikvfake.Cluster.InjectFaults.
// With --delay, and without --trouble, its store answers each request that much later, like a store on another
// machine that waits for a majority.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/cantledb/cantle/storage/tikvkv/tikvfake"
)

func main() {
	trouble := flag.Bool("trouble", false, "three stores, and what goes wrong in a real cluster")
	delay := flag.Duration("delay", 0, "how much later stores answer each request")
	untilStdinEnds := flag.Bool("until-stdin-ends", false, "end when the standard input does, such as with the process that started this one")
	flag.Parse()
	address := "127.0.0.1:2379"
	if flag.NArg() > 0 {
		address = flag.Arg(0)
	}
	if *untilStdinEnds {
		go func() {
			_, _ = io.Copy(io.Discard, os.Stdin)
			os.Exit(0)
		}()
	}
	if err := run(address, *trouble, *delay); err != nil {
		fmt.Fprintln(os.Stderr, "tikvfaked:", err)
		os.Exit(1)
	}
}

// run serves until the process gets a signal.
func run(address string, trouble bool, delay time.Duration) error {
	stores := 1
	if trouble {
		stores = 3
	}
	c, err := tikvfake.NewOf(stores)
	if err != nil {
		return err
	}
	defer c.Close()
	if delay > 0 {
		c.SetHook(tikvfake.Delay(delay))
	}
	at, stop, err := c.Serve(address)
	if err != nil {
		return err
	}
	defer stop()
	if trouble {
		_, end := c.InjectFaults(uint64(os.Getpid()))
		defer end()
	}
	fmt.Println("tikvfaked ready tikv://" + at + "/cantle")
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	<-signals
	return nil
}
