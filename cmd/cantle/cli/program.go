package cli

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cantledb/cantle/cmd/cantle/columns"
	"github.com/cantledb/cantle/cmd/cantle/s3archive"
	"github.com/cantledb/cantle/cmd/cantle/tikvengine"
	"github.com/cantledb/cantle/serve/daemon"
	"github.com/cantledb/cantle/serve/flags"
)

// Serve is the function of "cantle serve": it runs a server until the server is stopped, and returns the exit status.
// wrong is the error of parsing the flags, nil without one.
type Serve func(cfg *daemon.Config, f *pflag.FlagSet, wrong error, s Streams) int

// exitStatus is the error of a command that has printed its errors already: only the exit status of the program is left
// to return.
type exitStatus int

func (s exitStatus) Error() string { return fmt.Sprintf("exit status %d", int(s)) }

// Program returns the root command of the program, with serve and all verbs below it. run is the function of serve.
func Program(run Serve) *cobra.Command {
	root := &cobra.Command{Use: "cantle", SilenceErrors: true, SilenceUsage: true}
	root.CompletionOptions.DisableDefaultCmd = true // there is a verb
	cobra.EnableCommandSorting = false
	root.SetHelpFunc(func(c *cobra.Command, _ []string) {
		out := columns.PlainWriter(c.OutOrStdout())
		fmt.Fprintf(out, "Usage: %s\n\n%s", c.UseLine(), c.Long)
		flags.Print(out, c.Flags())
	})
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error { return usageError{flags.Explain(c.Flags(), err)} })
	root.AddCommand(serveCommand(run), followCommand(run))
	root.AddCommand(Verbs()...)
	return root
}

// serveCommand returns the command "cantle serve". It calls run even if flags are wrong, because --check-config
// reports all errors at once.
func serveCommand(run Serve) *cobra.Command {
	cfg := &daemon.Config{Remotes: []daemon.Remote{tikvengine.Engine()}, OpenArchive: s3archive.Open}
	serve := func(c *cobra.Command, wrong error) error {
		if status := run(cfg, c.Flags(), wrong, Streams{c.InOrStdin(), c.OutOrStdout(), c.ErrOrStderr()}); status != 0 {
			return exitStatus(status)
		}
		return nil
	}
	c := &cobra.Command{Use: "serve [flags]", Short: "start a server", Long: daemon.Help, Args: cobra.ArbitraryArgs, DisableFlagsInUseLine: true,
		RunE: func(c *cobra.Command, _ []string) error { return serve(c, nil) }}
	c.SetFlagErrorFunc(func(c *cobra.Command, err error) error { return serve(c, daemon.ExplainFlag(c.Flags(), err)) })
	cfg.Flags(c.Flags())
	return c
}

const followHelp = `Starts a server that has a copy of another server's data and applies its writes
as they come: a secondary. PLACE is the --backup-to of the other server, a folder
or s3://bucket/path. The copy is made from the newest backup there when the folder
of --data has none yet; later starts continue it.

The server serves reads with the read preferences secondary, secondaryPreferred,
primaryPreferred and nearest, and refuses writes. "cantle promote" makes it the primary;
after that, the same command line starts it as the primary.
cantle follow PLACE is the same as cantle serve --follow PLACE, with all its flags.

  cantle follow /backups --data ./copy --listen 127.0.0.1:27018

`

// followCommand returns the command "cantle follow", a short form of "cantle serve --follow".
func followCommand(run Serve) *cobra.Command {
	c := serveCommand(run)
	c.Use, c.Short, c.Long = "follow PLACE [flags]", "start a server that follows the backups of another one", followHelp
	serve := c.RunE
	c.RunE = func(c *cobra.Command, args []string) error {
		if len(args) != 1 {
			return usageErrorf("one place of backups is needed, a folder or s3://bucket/path, and %d are given", len(args))
		}
		if c.Flags().Changed("follow") {
			return usageErrorf("--follow is the place of backups, which is given without it")
		}
		if err := c.Flags().Set("follow", args[0]); err != nil {
			return err
		}
		if err := c.Flags().Parse(nil); err != nil { // serve has no arguments
			return err
		}
		return serve(c, nil)
	}
	return c
}

// Run runs a command line and returns the exit status: 0, 1 for an error, 2 for a usage error, or the status that
// serve returns.
func Run(ctx context.Context, args []string, s Streams, serve Serve) int {
	root := Program(serve)
	root.SetIn(s.In)
	root.SetOut(s.Out)
	root.SetErr(s.Err)
	if len(args) == 0 {
		printUsage(s.Err, root)
		return 2
	}
	switch args[0] {
	case "help", "--help", "-help", "-h":
		if len(args) == 1 {
			printUsage(s.Out, root)
			return 0
		}
		args = []string{args[1], "--help"}
	case "--version", "-version", "-v":
		args = append([]string{"version"}, args[1:]...)
	case cobra.ShellCompRequestCmd, cobra.ShellCompNoDescRequestCmd:
		for _, c := range root.Commands() {
			prepareCompletion(c)
		}
		root.SetArgs(args)
		return printError(root.ExecuteContextC(ctx))
	}
	c, _, _ := root.Find(args[:1])
	if c == root {
		fmt.Fprintf(s.Err, "cantle: there is no command %q%s\nSee cantle --help\n", args[0], similarCommand(root, args[0]))
		return 2
	}
	root.SetArgs(append(args[:1:1], flags.WithDashes(c.Flags(), args[1:])...))
	return printError(root.ExecuteContextC(ctx))
}

// similarCommand returns the end of an error text for a name that is no command: what to do instead, the command whose
// name is nearest, or for a flag the start of a server with it; "" if there is nothing to advise.
func similarCommand(root *cobra.Command, name string) string {
	if advice := habit(name); advice != "" {
		return ": " + advice
	}
	names := []string{"help"}
	for _, c := range root.Commands() {
		names = append(names, c.Name())
	}
	if near := flags.Nearest(name, names); near != "" {
		return fmt.Sprintf("; did you mean %q?", near)
	}
	if strings.HasPrefix(name, "-") {
		return "; the settings of the server follow it: " + daemon.StartLine(name)
	}
	return ""
}

// printUsage lists the commands.
func printUsage(out io.Writer, root *cobra.Command) {
	fmt.Fprint(out, `cantle is a MongoDB-compatible server with Cosmos-DB-style partitions and
request units, in one binary.

Usage:

`)
	for _, c := range root.Commands() {
		fmt.Fprintf(out, "  cantle %-38s %s\n", strings.Replace(c.Use, " [flags]", "", 1), c.Short)
	}
	fmt.Fprint(out, `
cantle COMMAND --help tells its flags, which may stand anywhere behind it.

Try it:

  cantle serve --memory                     a throwaway server on port 27017
  mongosh mongodb://127.0.0.1:27017/        talk to it
  cantle serve --help                       every setting, explained

`)
}
