package cli

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/pflag"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/ejson"
	"github.com/cantledb/cantle/cmd/cantle/columns"
	"github.com/cantledb/cantle/cmd/cantle/dumps"
	"github.com/cantledb/cantle/cmd/cantle/progress"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/index"
	"github.com/cantledb/cantle/collection/salvage"
	"github.com/cantledb/cantle/collection/verify"
)

const salvageHelp = `Extracts everything that can still be read from the folder of a damaged database, and
writes it as a dump for cantle restore and mongorestore. Nothing in the folder is changed,
and no server may have it open. Works without the list of tables (MANIFEST), with a
damaged write-ahead log and with tables that are damaged, truncated or missing; damaged
documents are taken from the change log if it has their newest version.

Documents that may be outdated or deleted, because newer data was lost, are written into a
second folder, whose name ends in -older.

  cantle salvage --data ./cantle-data --out saved
  cantle restore mongodb://127.0.0.1:27017/ saved
`

func salvageVerb(f *pflag.FlagSet) action {
	data := f.String("data", "./cantle-data", "`folder` of the damaged database")
	out := f.String("out", "", "`folder` to write into; created")
	asJSON := jsonFlag(f)
	return func(ctx context.Context, s Streams) error {
		switch {
		case f.NArg() != 0:
			return usageErrorf("unexpected argument %q", f.Arg(0))
		case *out == "":
			return usageErrorf("expected --out FOLDER")
		}
		for _, dir := range []string{*out, *out + olderSuffix} {
			if list, err := os.ReadDir(dir); err == nil && len(list) > 0 {
				return usageErrorf("the folder %s is not empty", dir)
			}
		}
		return salvageFolder(ctx, *data, *out, *asJSON, s)
	}
}

// olderSuffix is added to the name of the folder into which cantle salvage writes documents that may be out of date.
const olderSuffix = "-older"

func salvageFolder(ctx context.Context, data, out string, asJSON bool, s Streams) error {
	f, release, err := openForScan(ctx, data, s)
	if err != nil {
		return err
	}
	defer release()
	f.Prepare()
	to := &salvageSink{main: dumps.Folder{Root: out}, older: dumps.Folder{Root: out + olderSuffix}}
	p := progress.Share(s.Err, "documents", 0)
	report, err := salvage.Run(ctx, f, to, func(n int64) error {
		p.Add(n)
		return ctx.Err()
	})
	p.End()
	if err != nil {
		return err
	}
	if asJSON {
		printJSON(s.Out, salvageJSON(report))
	} else {
		printSalvage(s, out, report)
	}
	return nil
}

// salvageJSON returns the saved and the lost documents for programs.
func salvageJSON(r *salvage.Report) bson.Raw {
	list, damages := bson.A{}, bson.A{}
	for _, c := range r.Collections {
		list = append(list, bson.D{{"collection", c.Namespace.String()}, {"nameLost", c.Nameless}, {"documents", c.Documents},
			{"fromChangeLog", c.FromLog}, {"older", c.Older}, {"unreadable", c.Invalid}})
	}
	for _, d := range r.Damages {
		damages = append(damages, verify.Sentence(d, r.Catalog))
	}
	return bson.D{{"collections", list}, {"damage", damages}, {"complete", r.Complete}}.Doc()
}

// printSalvage prints the saved and the lost documents.
func printSalvage(s Streams, out string, r *salvage.Report) {
	t := &columns.Table{}
	t.Row("Collection", " Documents", " From the change log", " Older", " Unreadable")
	for _, c := range r.Collections {
		name := c.Namespace.String()
		if c.Nameless {
			name += " (name lost)"
		}
		t.Row(name, fmt.Sprint(c.Documents), fmt.Sprint(c.FromLog), fmt.Sprint(c.Older), fmt.Sprint(c.Invalid))
	}
	t.Print(s.Out)
	if len(r.Damages) == 0 {
		fmt.Fprintln(s.Out, "\nNothing was lost.")
	} else {
		fmt.Fprintln(s.Out, "\nDamage:")
		for _, d := range r.Damages {
			fmt.Fprintln(s.Out, "-", verify.Sentence(d, r.Catalog))
		}
		fmt.Fprintf(s.Out, "\n%s\n", r.Loss(out+olderSuffix))
	}
	if !r.Complete {
		fmt.Fprintln(s.Out, "The list of the current files is lost, so all files were read: recently deleted documents may be among the saved ones.")
	}
	fmt.Fprintf(s.Out, "\nLoad it into an empty folder with: cantle restore mongodb://127.0.0.1:27017/ %s\nUsers and roles are not part of a dump: create them again.\n", out)
}

// salvageSink writes saved documents into folders.
type salvageSink struct{ main, older dumps.Folder }

// Begin implements salvage.Sink.
func (k *salvageSink) Begin(snap *catalog.Snapshot, coll *catalog.Collection) (documents, older func(doc bson.Raw) error, end func() error, err error) {
	d := asDumped(snap, coll)
	main, err := k.main.Begin(d)
	if err != nil {
		return nil, nil, nil, err
	}
	var second dumps.Part
	older = func(doc bson.Raw) error {
		if second == nil {
			var err error
			if second, err = k.older.Begin(d); err != nil {
				return err
			}
		}
		return second.Write(doc)
	}
	end = func() error {
		err := main.End()
		if second != nil {
			err = errors.Join(err, second.End())
		}
		return err
	}
	return main.Write, older, end, nil
}

// savedMetadata returns options and indexes of a collection of a catalog as text, in the form in which
// dumping.metadata writes them for a server.
func savedMetadata(coll *catalog.Collection, db *catalog.Database) string {
	options := coll.Options.Raw
	if options == nil {
		options = bson.Empty
	}
	indexes := bson.A{}
	if !coll.IsView() {
		for i, ix := range coll.Indexes {
			if hidden := i == 0 && (coll.Options.Clustered || coll.Options.TimeSeries != nil); !hidden && !ix.Staged && ix.State != catalog.IndexDropping {
				indexes = append(indexes, ix.Listed())
			}
		}
	}
	kind := coll.Kind()
	out := bson.D{{"options", options}, {"indexes", indexes}}
	if kind == "collection" {
		out = append(out, bson.E{"uuid", fmt.Sprintf("%x", coll.UUID[:])})
	}
	var own bson.D
	if coll.Sharded() {
		own = bson.D{{"shardKey", coll.Key.Spec()}, {"unique", false}}
	}
	if db != nil && db.Throughput.Mode != catalog.ThroughputNone && !coll.IsView() {
		own = append(own, bson.E{"sharedThroughput", offerOf(db.Throughput)})
	}
	if coll.Throughput.Mode != catalog.ThroughputNone {
		own = append(own, bson.E{"throughput", offerOf(coll.Throughput)})
	}
	byLastWrite := bson.D{}
	for _, ix := range coll.Indexes {
		if ix.LastWrite {
			byLastWrite = append(byLastWrite, bson.E{ix.Name, ix.ExpireAfterSeconds})
		}
	}
	own = append(own, bson.E{index.LastWriteOption, byLastWrite})
	return ejson.Canonical(append(out, bson.D{{"collectionName", coll.Namespace.Coll}, {"type", kind}, {"cantle", own}}...).Doc())
}
