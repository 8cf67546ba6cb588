// Command cantle is a MongoDB-compatible database server with partitions and
// request units.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/cantledb/cantle/cmd/cantle/cli"
	"github.com/cantledb/cantle/serve/flags"
)

func main() {
	os.Exit(run(os.Args[1:], cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}))
}

// run executes the command line and returns the exit status.
func run(args []string, s cli.Streams) int {
	if len(args) == 0 {
		usage(s.Err)
		return 2
	}
	name, args := args[0], args[1:]
	switch name {
	case "help", "--help", "-help", "-h":
		if len(args) == 0 {
			usage(s.Out)
			return 0
		}
		name, args = args[0], []string{"--help"}
	case "--version", "-version", "-v":
		name = "version"
	}
	if name == "serve" {
		return serve(args, s)
	}
	status, known := cli.Run(context.Background(), name, args, s)
	if !known {
		fmt.Fprintf(s.Err, "cantle: there is no command %q%s\nSee cantle --help\n", name, similarCommand(name))
	}
	return status
}

// similarCommand returns the command that a mistyped one is most similar to.
func similarCommand(name string) string {
	names := []string{"help"}
	for _, c := range cli.Commands() {
		names = append(names, c.Name)
	}
	if near := flags.Nearest(name, names); near != "" {
		return fmt.Sprintf("; did you mean %q?", near)
	}
	if strings.HasPrefix(name, "-") {
		return "; the settings of the server follow it: cantle serve " + name
	}
	return ""
}

// usage lists the commands.
func usage(out io.Writer) {
	fmt.Fprint(out, `cantle is a MongoDB-compatible server with Cosmos-DB-style partitions and
request units, in one binary.

Usage:

`)
	for _, c := range cli.Commands() {
		fmt.Fprintf(out, "  cantle %-38s %s\n", c.Name+" "+c.Args, c.Summary)
	}
	fmt.Fprint(out, `
cantle COMMAND --help tells its flags, which may stand anywhere behind it.

Try it:

  cantle serve --memory                     a throwaway server on port 27017
  mongosh mongodb://127.0.0.1:27017/        talk to it
  cantle serve --help                       every setting, explained

`)
}
