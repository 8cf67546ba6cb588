package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cantledb/cantle/cmd/cantle/columns"
	"github.com/cantledb/cantle/cmd/cantle/gateways"
	"github.com/cantledb/cantle/cmd/cantle/top"
	"github.com/cantledb/cantle/serve/certificates"
	"github.com/cantledb/cantle/serve/flags"
)

// Streams are the input and output of a verb: results go to Out, everything else to Err. Both escape control
// characters while a verb runs; a verb that writes data uses columns.Raw.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// action runs a verb once its flags and arguments have been parsed.
type action func(ctx context.Context, s Streams) error

// newVerb makes a command of the program. args are its arguments in the usage line. define defines the flags of the
// verb, and returns the action that runs once these have been parsed.
func newVerb(name, args, does, help string, define func(f *pflag.FlagSet) action) *cobra.Command {
	c := &cobra.Command{Use: name, Short: does, Long: help, Args: cobra.ArbitraryArgs, DisableFlagsInUseLine: true}
	do := define(c.Flags())
	c.RunE = func(c *cobra.Command, _ []string) error {
		if err := checkValues(c.Flags()); err != nil {
			return usageError{err}
		}
		return do(c.Context(), Streams{c.InOrStdin(), columns.PlainWriter(c.OutOrStdout()), columns.PlainWriter(c.ErrOrStderr())})
	}
	if c.Flags().HasFlags() {
		c.Use += " [flags]"
	}
	c.Use = strings.TrimSpace(c.Use + " " + args)
	return c
}

// checkValues checks the values of flags by the rules of all verbs: a flag with choices has one of them, and a timeout
// is positive. It leaves out hidden flags, which are settings of the server: cantle doctor reports errors in these.
func checkValues(f *pflag.FlagSet) (err error) {
	f.Visit(func(x *pflag.Flag) {
		choices, value := flags.Choices(x), x.Value.String()
		switch {
		case x.Hidden || err != nil:
		case choices != nil && !slices.Contains(choices, value):
			err = fmt.Errorf("--%s is one of %s, not %q", x.Name, strings.Join(choices, ", "), value)
		case x.Name == "timeout" && (value == "0s" || strings.HasPrefix(value, "-")):
			err = fmt.Errorf("--timeout is positive, not %s", value)
		}
	})
	return err
}

// Verbs returns all verbs, which work on their own or as clients of a server, in the order in which the help lists
// them.
func Verbs() []*cobra.Command {
	return []*cobra.Command{
		newVerb("demo", "", "start a server with sample data and a hot partition", demoHelp, demoVerb),
		newVerb("ping", "[URI]", "check whether a server answers", pingHelp, pingVerb),
		newVerb("doctor", "[URI]", "find problems of a server or its machine", doctorHelp, doctorVerb),
		newVerb("gateways", "URI", "list the servers that share a TiKV cluster", gateways.Help, gatewaysVerb),
		newVerb("partitions", "URI db.collection", "show the size, load and cost of each partition", partitionsHelp, partitionsVerb),
		newVerb("top", "URI", "watch a server live: heat, requests, warnings", top.Help, topVerb),
		newVerb("report", "URI [db[.collection]]", "show the cost of commands by their shape", reportHelp, reportVerb),
		newVerb("bill", "URI", "show what users, collections or tenants have cost", billHelp, billVerb),
		newVerb("advise", "URI db.collection", "rank shard keys for a collection", adviseHelp, adviseVerb),
		newVerb("bench", "URI", "measure a server with a load, in latencies and request units", benchHelp(), benchVerb),
		newVerb("lint", "file|folder|URI...", "find what an Azure Cosmos DB account refuses", lintHelp, lintVerb),
		newVerb("estimate", "document.json", "estimate the cost of a workload", estimateHelp, estimateVerb),
		newVerb("dump", "URI", "write databases into files, as mongodump does", dumpHelp, dumpVerb),
		newVerb("restore", "[URI] [folder]", "load a dump, or restore a backup to a moment", restoreHelp, restoreVerb),
		newVerb("backup", "URI | list folder | verify folder", "back up a running server, to restore any moment", backupHelp, backupVerb),
		newVerb("promote", "URI", "make a server that follows another one the primary", promoteHelp, promoteVerb),
		newVerb("compact", "URI [db[.collection]]", "free the disk space of deleted documents", compactHelp, compactVerb),
		newVerb("check", "", "check the folder of a database for damage", checkHelp, checkVerb),
		newVerb("salvage", "", "extract the readable data of a damaged database", salvageHelp, salvageVerb),
		newVerb("import", "URI db.collection [file]", "load JSON, CSV or TSV", importHelp, importVerb),
		newVerb("export", "URI db.collection", "print JSON or CSV", exportHelp, exportVerb),
		newVerb("users", "URI file...", "create users and roles from an account's files", usersHelp, usersVerb),
		newVerb("debug", "zip URI", "collect a file for a bug report, without values of documents", debugHelp, debugVerb),
		newVerb("cert", "", "create certificates for development", certificates.Help, certVerb),
		newVerb("completion", "bash|fish|powershell|zsh", "print the completion script for a shell", completionHelp, completionVerb),
		newVerb("version", "", "print the version", versionHelp, versionVerb),
	}
}

// printError prints the error of a command, unless it is an exitStatus, and returns the exit status of the program: the
// exitStatus, 2 for a usage error, 1 for another error, 0 for nil.
func printError(c *cobra.Command, err error) int {
	var wrong usageError
	var ended exitStatus
	errs := columns.PlainWriter(c.ErrOrStderr())
	switch {
	case err == nil:
		return 0
	case errors.As(err, &ended):
		return int(ended)
	case errors.As(err, &wrong):
		fmt.Fprintf(errs, "%s: %v\nSee %[1]s --help\n", c.CommandPath(), err)
		return 2
	}
	fmt.Fprintf(errs, "%s: %v%s\n", c.CommandPath(), err, remedy(err))
	return 1
}

// remedy returns advice to print after an error of the driver: the driver refuses servers before MongoDB 4.4, which a
// Cosmos address with an earlier --cosmos-version appears to be. It is "" for other errors.
func remedy(err error) string {
	if !strings.Contains(err.Error(), "reports wire version") {
		return ""
	}
	return "\nIf this is a Cantle server with an earlier --cosmos-version, use its --listen address. Dump an Azure Cosmos DB account of that version with mongodump; cantle restore reads its dumps."
}

// usageError is a wrong command line.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// usageErrorf makes a usageError.
func usageErrorf(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// namespaceOf splits "database.collection"; ok is false if a part is missing.
func namespaceOf(text string) (db, coll string, ok bool) {
	db, coll, ok = strings.Cut(text, ".")
	return db, coll, ok && db != "" && coll != ""
}
