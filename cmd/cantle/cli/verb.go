package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/pflag"

	"github.com/cantledb/cantle/cmd/cantle/columns"
	"github.com/cantledb/cantle/cmd/cantle/gateways"
	"github.com/cantledb/cantle/cmd/cantle/top"
	"github.com/cantledb/cantle/serve/certificates"
	"github.com/cantledb/cantle/serve/flags"
)

// Streams are the input and output of a verb: results go to Out, everything else to Err. Both are plain text
// while a verb runs; a verb that writes data uses columns.Raw.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// Verb is a command of the program, chosen by the first argument.
type Verb struct {
	Name string
	Args string // arguments after the flags
	Does string // for the list of verbs
	Help string // the help text, without the flags
	// define defines the flags of the verb and returns the action to run once the flags have been parsed.
	define func(f *pflag.FlagSet) action
}

// action executes a verb, with the flags and arguments it was defined with.
type action func(ctx context.Context, s Streams) error

// Verbs returns all verbs that work on their own or as clients of a server, in the order in which they are shown.
func Verbs() []Verb {
	return []Verb{
		{"ping", "[URI]", "check whether a server answers", pingHelp, pingVerb},
		{"doctor", "[URI]", "find problems of a server or its machine", doctorHelp, doctorVerb},
		{"gateways", "URI", "list the servers that share a TiKV cluster", gateways.Help, gatewaysVerb},
		{"partitions", "URI db.collection", "show the size, load and cost of each partition", partitionsHelp, partitionsVerb},
		{"top", "URI", "watch a server live: heat, requests, warnings", top.Help, topVerb},
		{"report", "URI [db[.collection]]", "show the cost of commands by their shape", reportHelp, reportVerb},
		{"advise", "URI db.collection", "rank shard keys for a collection", adviseHelp, adviseVerb},
		{"lint", "file|folder|URI...", "find what an Azure Cosmos DB account refuses", lintHelp, lintVerb},
		{"estimate", "document.json", "estimate the cost of a workload", estimateHelp, estimateVerb},
		{"dump", "URI", "write databases into files, as mongodump does", dumpHelp, dumpVerb},
		{"restore", "[URI] [folder]", "load a dump, or restore a backup to a moment", restoreHelp, restoreVerb},
		{"backup", "URI | list folder | verify folder", "back up a running server, to restore any moment", backupHelp, backupVerb},
		{"compact", "URI [db[.collection]]", "free the disk space of deleted documents", compactHelp, compactVerb},
		{"check", "", "check the folder of a database for damage", checkHelp, checkVerb},
		{"salvage", "", "extract the readable data of a damaged database", salvageHelp, salvageVerb},
		{"import", "URI db.collection [file]", "load JSON, CSV or TSV", importHelp, importVerb},
		{"export", "URI db.collection", "print JSON or CSV", exportHelp, exportVerb},
		{"users", "URI file...", "create users and roles from an account's files", usersHelp, usersVerb},
		{"cert", "", "create certificates for development", certificates.Help, certVerb},
		{"completion", "bash|fish|powershell|zsh", "print the completion script for a shell", completionHelp, completionVerb},
		{"version", "", "print the version", versionHelp, versionVerb},
	}
}

// Command returns the verb's description for help, man pages and completion.
func (v Verb) Command() flags.Command {
	f := flags.New("cantle " + v.Name)
	v.define(f)
	c := flags.Command{Name: v.Name, Args: v.Args, Summary: v.Does, Help: v.Help}
	if f.HasFlags() {
		c.Groups = []flags.Group{{Title: "Flags", Flags: f}}
	}
	return c
}

// Run runs a verb and returns the exit status: 1 for an error, 2 for a usage error; both are printed to s.Err.
// known reports whether the verb exists.
func Run(ctx context.Context, name string, args []string, s Streams) (status int, known bool) {
	for _, v := range Verbs() {
		if v.Name == name {
			s.Out, s.Err = columns.PlainWriter(s.Out), columns.PlainWriter(s.Err)
			return v.status(v.run(ctx, args, s), s.Err), true
		}
	}
	return 2, false
}

// run parses the command line and executes it. Errors: pflag.ErrHelp after printing the help; usageError; those
// of the verb.
func (v Verb) run(ctx context.Context, args []string, s Streams) error {
	f := flags.New("cantle " + v.Name)
	do := v.define(f)
	err := flags.Parse(f, args)
	if errors.Is(err, pflag.ErrHelp) {
		v.Command().Print(s.Out)
		return err
	}
	if err != nil {
		return usageError{err}
	}
	return do(ctx, s)
}

// status prints an error and returns the exit status for it.
func (v Verb) status(err error, errs io.Writer) int {
	var wrong usageError
	var faults faultsError
	switch {
	case errors.As(err, &faults):
		return 1
	case err == nil, errors.Is(err, pflag.ErrHelp):
		return 0
	case errors.As(err, &wrong):
		fmt.Fprintf(errs, "cantle %s: %v\nSee cantle %s --help\n", v.Name, err, v.Name)
		return 2
	}
	fmt.Fprintf(errs, "cantle %s: %v%s\n", v.Name, err, remedy(err))
	return 1
}

// remedy returns advice after the driver's error for a server before MongoDB 4.4, which a Cosmos address of an
// earlier --cosmos-version appears to be.
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
