package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/pflag"

	"github.com/cantledb/cantle/cmd/cantle/flags"
)

// Streams are what a verb reads and writes: results go to Out, all else to Err.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// Verb is what the program does when its first argument is the name.
type Verb struct {
	Name string
	Args string // as the list of verbs shows them
	Does string
	run  func(ctx context.Context, args []string, s Streams) error
}

// Verbs are all there are but serve, in the order in which they are shown.
func Verbs() []Verb {
	return []Verb{
		{"ping", "[URI]", "ask a server whether it answers", pingVerb},
		{"partitions", "URI db.collection", "what each partition holds and costs", partitionsVerb},
		{"report", "URI [db.collection]", "what commands cost, by their shape", reportVerb},
		{"advise", "URI db.collection", "which shard key suits a collection", adviseVerb},
		{"estimate", "document.json", "what a workload will cost", estimateVerb},
		{"dump", "URI", "write databases into files, as mongodump does", dumpVerb},
		{"restore", "URI [folder]", "load what it or mongodump has written", restoreVerb},
		{"import", "URI db.collection [file]", "load JSON, CSV or TSV", importVerb},
		{"export", "URI db.collection", "print JSON or CSV", exportVerb},
		{"cert", "", "make certificates for development", certVerb},
	}
}

// Run runs a verb and returns the exit status: 1 for what went wrong, 2 for what was
// wrongly asked; both are told on s.Err. known is whether there is such a verb.
func Run(ctx context.Context, name string, args []string, s Streams) (status int, known bool) {
	for _, v := range Verbs() {
		if v.Name == name {
			return v.status(v.run(ctx, args, s), s.Err), true
		}
	}
	return 2, false
}

// status tells an error and returns the exit status for it.
func (v Verb) status(err error, errs io.Writer) int {
	var wrong usageError
	switch {
	case err == nil, errors.Is(err, pflag.ErrHelp):
		return 0
	case errors.As(err, &wrong):
		fmt.Fprintf(errs, "cantle %s: %v\nSee cantle %s --help\n", v.Name, err, v.Name)
		return 2
	}
	fmt.Fprintf(errs, "cantle %s: %v\n", v.Name, err)
	return 1
}

// usageError is what was wrongly asked.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// wrong makes a usageError.
func wrong(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// parse reads the command line of a verb.
// Errors: pflag.ErrHelp after printing the help; usageError.
func parse(f *pflag.FlagSet, args []string, help string, s Streams) error {
	err := flags.Parse(f, args)
	if errors.Is(err, pflag.ErrHelp) {
		fmt.Fprint(s.Out, help)
		flags.Print(s.Out, f)
		return err
	}
	if err != nil {
		return usageError{err}
	}
	return nil
}

// namespaceOf divides "database.collection"; ok is false where a part is missing.
func namespaceOf(text string) (db, coll string, ok bool) {
	db, coll, ok = strings.Cut(text, ".")
	return db, coll, ok && db != "" && coll != ""
}
