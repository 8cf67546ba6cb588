// Command cantle is a MongoDB-compatible database server with partitions and
// request units.
package main

import (
	"context"
	"os"

	"github.com/cantledb/cantle/cmd/cantle/cli"
)

func main() {
	os.Exit(cli.Run(context.Background(), os.Args[1:], cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}, serve))
}
