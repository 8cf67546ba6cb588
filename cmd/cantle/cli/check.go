package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/ejson"
	"github.com/cantledb/cantle/cmd/cantle/columns"
	"github.com/cantledb/cantle/cmd/cantle/progress"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/salvage"
	"github.com/cantledb/cantle/serve/daemon"
	"github.com/cantledb/cantle/shard/checkup"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/pebblekv"
	"github.com/cantledb/cantle/storage/pebblekv/filescan"
)

const checkHelp = `Checks the folder of a database that no server has open, and changes nothing: the
checksums of all files; every index against its documents, in both directions; the counts,
the partition maps, the catalog and the change log. Prints a table of findings. Exit
status 0: no findings; 1: findings; 2: the folder cannot be checked.

  cantle check --data ./cantle-data
  cantle check --data ./cantle-data --json
`

func checkVerb(f *pflag.FlagSet) action {
	data := f.String("data", "./cantle-data", "`folder` of the database")
	asJSON := f.Bool("json", false, "print JSON")
	return func(ctx context.Context, s Streams) error {
		if f.NArg() != 0 {
			return usageErrorf("unexpected argument %q", f.Arg(0))
		}
		report, err := check(ctx, *data, s)
		if err != nil {
			return usageError{err}
		}
		if *asJSON {
			fmt.Fprintln(s.Out, ejson.String(checkJSON(report)))
		} else {
			printCheck(s, *data, report)
		}
		if n := len(report.Findings); n > 0 {
			return errors.New(columns.Plural(n, "finding"))
		}
		return nil
	}
}

// check verifies the store in the folder of a database, and returns a report of its damage. Errors: reasons why it
// cannot be verified.
func check(ctx context.Context, data string, s Streams) (*checkup.Report, error) {
	report := &checkup.Report{Now: time.Now}
	f, release, err := openForScan(ctx, data, s)
	var lost *daemon.LostError
	if errors.As(err, &lost) {
		report.Findings = append(report.Findings, checkup.Finding{Kind: "folder", Where: lost.Data, What: "it " + lost.What + ": " + lost.Do})
		return report, nil
	}
	if err != nil {
		return nil, err
	}
	release() // the store takes the lock itself
	if f.Fresh() {
		return report, nil
	}
	store, err := pebblekv.Open(storeOf(data), pebblekv.Options{ReadOnly: true, ReserveBytes: -1})
	var damaged *storage.DamagedError
	if err != nil && !errors.As(err, &damaged) {
		return nil, err
	}
	var snap *catalog.Snapshot
	if err == nil {
		p := progress.Share(s.Err, "documents and entries", 0)
		snap, err = report.Contents(ctx, store, func(n int64) error {
			p.Add(n)
			return ctx.Err()
		})
		p.End()
		if err = errors.Join(err, store.Close()); err != nil {
			return nil, err
		}
	} else {
		f.Prepare()
		snap, _ = salvage.Catalog(ctx, f) // for the names only
	}
	report.Files(f.Damages, snap)
	return report, nil
}

// storeOf returns the folder of the store in the folder of a database.
func storeOf(data string) string { return filepath.Join(data, "store") }

// openForScan opens the files of the store in a database's folder, and verifies all checksums. It holds the store's
// lock until release is called.
// Errors: no store; LostError; a server has the store open.
func openForScan(ctx context.Context, data string, s Streams) (f *filescan.Folder, release func(), err error) {
	dir := storeOf(data)
	if _, err := daemon.Look(data); err != nil {
		return nil, nil, err
	}
	if _, err := os.Stat(dir); err != nil {
		return nil, nil, fmt.Errorf("there is no database in %s: %w", data, err)
	}
	if release, err = filescan.Lock(dir); err != nil {
		return nil, nil, fmt.Errorf("a server has the folder %s open; stop it first (a running server checks a collection with the command validate)", data)
	}
	if f, err = filescan.ReadFolder(filescan.Disk, dir); err == nil {
		err = f.ListTables()
	}
	if err != nil {
		release()
		return nil, nil, err
	}
	p := progress.Share(s.Err, "bytes of tables", f.Bytes())
	err = f.Verify(func(n int64) error {
		p.Add(n)
		return ctx.Err()
	})
	p.End()
	if err != nil {
		release()
		return nil, nil, err
	}
	return f, release, nil
}

// printCheck prints the findings.
func printCheck(s Streams, data string, r *checkup.Report) {
	if len(r.Findings) > 0 {
		t := &columns.Table{}
		t.Row("What", "Where", " Count", "Finding")
		for _, x := range r.Findings {
			n := ""
			if x.Count > 0 {
				n = fmt.Sprint(x.Count)
			}
			t.Row(x.Kind, x.Where, n, x.What)
		}
		t.Print(s.Out)
	}
	fmt.Fprintf(s.Out, "%s, %s, %s and %s were read: %s\n", columns.Plural(r.Collections, "collection"), columns.Plural(r.Records, "document"),
		columns.Plural(r.Entries, "index entry"), columns.Plural(r.Changes, "change"), columns.Plural(len(r.Findings), "finding"))
	if n := len(r.Outdated); n > 0 {
		fmt.Fprintf(s.Out, "Indexes with entries of another format version were not compared; the server rebuilds them when it opens the folder: %s\n", strings.Join(r.Outdated, ", "))
	}
	if slices.ContainsFunc(r.Findings, func(x checkup.Finding) bool { return x.Kind == "file" }) {
		fmt.Fprintf(s.Out, "Keep the folder as it is. \"cantle salvage --data %s --out DUMP\" extracts the readable data; restore that, or a backup, into an empty folder.\n", data)
	} else if slices.ContainsFunc(r.Findings, func(x checkup.Finding) bool { return x.Kind == "index" }) {
		fmt.Fprintln(s.Out, "To repair an index that does not match its documents, drop it and create it again.")
	}
}

// checkJSON returns the report for programs.
func checkJSON(r *checkup.Report) bson.Raw {
	outdated, findings := bson.A{}, bson.A{}
	for _, name := range r.Outdated {
		outdated = append(outdated, name)
	}
	for _, x := range r.Findings {
		findings = append(findings, bson.D{{"kind", x.Kind}, {"where", x.Where}, {"what", x.What}, {"count", int(max(x.Count, 1))}})
	}
	return bson.D{{"valid", len(r.Findings) == 0}, {"collections", r.Collections}, {"documents", int(r.Records)}, {"indexEntries", int(r.Entries)},
		{"changes", int(r.Changes)}, {"outdatedIndexes", outdated}, {"findings", findings}}.Doc()
}
