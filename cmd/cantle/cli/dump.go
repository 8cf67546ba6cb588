package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/ejson"
	"github.com/cantledb/cantle/cmd/cantle/columns"
	"github.com/cantledb/cantle/cmd/cantle/dumps"
	"github.com/cantledb/cantle/cmd/cantle/namespaces"
	"github.com/cantledb/cantle/cmd/cantle/progress"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/serve/flags"
)

const dumpHelp = `Writes databases into files, in the layout of mongodump: a folder per database, and in it
NAME.bson with the documents and NAME.metadata.json with options and indexes. mongorestore
reads its dumps, and cantle restore those of mongodump. Metadata also has shard keys,
throughput (also of databases), and expiry after the last write, which cantle restore
restores.

  cantle dump mongodb://127.0.0.1:27017/                       everything into ./dump
  cantle dump --db shop --gzip --out backup URI                one database, compressed
  cantle dump --db shop --archive shop.archive URI             into one file ("-": standard output)
  cantle dump --resume --out backup URI                        continue after an interruption
  cantle dump --nsInclude 'shop.*' --nsExclude '*.log*' URI    namespaces by pattern
  cantle dump --for mongodb --out to-mongodb URI               for mongorestore into MongoDB

A collection is read in the order of _id while other clients write: each document is
dumped in a state that it had during the run. Throttled requests are retried after the
time that the server specifies. The databases admin, config and local are left out unless
named.

With --for mongodb, index definitions are those of MongoDB, and features without a
counterpart are left out and listed by collection: shard keys, throughput, expiry after
the last write. If documents with different shard keys have the same _id, which only a
sharded collection can store, the exit status is 1.
`

// dumpArgs are the settings of a dump.
type dumpArgs struct {
	out, archive string
	db, coll     string
	query        bson.Raw
	gzip, resume bool
	parallel     int
	names        namespaces.Chosen
	without      []string // collections of db
	prefixes     []string // of such names
	target       string   // "mongodb", or "" for a Cantle
}

func dumpVerb(f *pflag.FlagSet) action {
	var a dumpArgs
	f.StringVar(&a.out, "out", "dump", "`folder` to write into")
	f.StringVar(&a.archive, "archive", "", "write one archive `file` instead, - for standard output")
	f.StringVar(&a.db, "db", "", "only this `database`")
	f.StringVar(&a.coll, "collection", "", "only this `collection` of --db")
	query := f.String("query", "", "only documents that match this `filter`, with --collection")
	queryFile := f.String("queryFile", "", "the filter from a `file`")
	f.Func("nsInclude", "only namespaces that match this `pattern`, such as shop.*; may be given several times", namespaces.Pattern(&a.names.Include))
	f.Func("nsExclude", "no namespaces that match this `pattern`; may be given several times", namespaces.Pattern(&a.names.Exclude))
	f.Func("excludeCollection", "not this `collection` of --db; may be given several times", appended(&a.without))
	f.Func("excludeCollectionsWithPrefix", "no collections of --db whose names begin with this `text`; may be given several times", appended(&a.prefixes))
	f.IntVarP(&a.parallel, "numParallelCollections", "j", parallelCollections, "number of `collections` to process at a time")
	f.BoolVar(&a.gzip, "gzip", false, "compress")
	f.StringVar(&a.target, "for", "", "`target` of the dump: mongodb; the default is cantle restore")
	flags.Choose(f, "for", "mongodb")
	f.BoolVar(&a.resume, "resume", false, "continue an interrupted dump in --out")
	return func(ctx context.Context, s Streams) error {
		var err error
		if *queryFile != "" && *query == "" {
			var text []byte
			text, err = os.ReadFile(*queryFile)
			*query = string(text)
		}
		if err == nil && *query != "" {
			a.query, err = ejson.Parse(*query)
		}
		switch {
		case err != nil:
			err = fmt.Errorf("--query: %w", err)
		case f.NArg() != 1:
			err = errors.New("expected a connection string, as in\n\n  cantle dump mongodb://127.0.0.1:27017/")
		case a.coll != "" && a.db == "":
			err = errors.New("--collection needs --db")
		case *query != "" && a.coll == "":
			err = errors.New("--query needs --collection")
		case (a.without != nil || a.prefixes != nil) && (a.db == "" || a.coll != ""):
			err = errors.New("--excludeCollection and --excludeCollectionsWithPrefix need --db, and no --collection")
		case a.parallel < 1:
			err = errors.New("--numParallelCollections is at least 1")
		case a.resume && a.archive != "":
			err = errors.New("--resume is for folders: an archive cannot be continued")
		}
		if err != nil {
			return usageError{err}
		}
		return dump(ctx, f.Arg(0), a, columns.Raw(s.Out), s.Err)
	}
}

// parallelCollections is the default number of collections that are dumped or restored at once, as in mongodump.
const parallelCollections = 4

// appended returns the function of a flag that may be given several times: it appends each value to list.
func appended(list *[]string) func(string) error {
	return func(s string) error {
		*list = append(*list, s)
		return nil
	}
}

func (a *dumpArgs) selects(d *dumps.Collection) bool {
	return a.names.Holds(d.NS()) && !slices.Contains(a.without, d.Coll) &&
		!slices.ContainsFunc(a.prefixes, func(p string) bool { return strings.HasPrefix(d.Coll, p) })
}

func dump(ctx context.Context, uri string, a dumpArgs, out, errs io.Writer) error {
	t, err := newTransfer(uri, "cantle dump", onOne)
	if err != nil {
		return err
	}
	defer t.end()
	t.waits.showOn(errs)
	d := &dumping{transfer: t, dumpArgs: a}
	if d.account, err = t.account(ctx); err != nil {
		return t.explain(err)
	}
	list, err := d.collections(ctx)
	if err != nil {
		return t.explain(err)
	}
	if len(list) == 0 {
		return errors.New("there is nothing to dump")
	}
	var to dumps.Sink
	if a.archive != "" {
		w := out
		if a.archive != "-" {
			file, err := os.Create(a.archive)
			if err != nil {
				return err
			}
			defer file.Close()
			w = file
		}
		version, err := t.serverVersion(ctx)
		if err != nil {
			return t.explain(err)
		}
		archive, err := dumps.NewArchiveWriter(w, version, a.gzip, min(a.parallel, len(list)), list)
		if err != nil {
			return err
		}
		defer archive.Close()
		to = archive
	} else {
		to = &dumps.Folder{Root: a.out, Gzip: a.gzip, Resume: a.resume}
	}
	total := int64(0)
	for _, d := range list {
		if d.Kind != "view" && a.query == nil {
			total += t.count(ctx, d.DB, d.Data)
		}
	}
	d.shows = progress.Share(errs, "documents", total)
	t.waits.showBy(d.shows.Logf)
	err = each(ctx, t, a.parallel, list, func(ctx context.Context, t *transfer, c *dumps.Collection) error {
		if err := d.one(ctx, t, c, to); err != nil {
			return fmt.Errorf("%s: %w", c.NS(), t.explain(err))
		}
		return nil
	})
	d.shows.End()
	if err != nil {
		return err
	}
	t.waits.summary(errs)
	return d.verdict(errs)
}

// serverVersion returns the MongoDB release that the server reports.
func (t *transfer) serverVersion(ctx context.Context) (string, error) {
	reply, err := t.run(ctx, "admin", bson.D{{"buildInfo", 1}}.Doc())
	version, _ := reply.Get("version").Str()
	return version, err
}

// collections lists the collections to dump, with their metadata.
func (a *dumping) collections(ctx context.Context) ([]*dumps.Collection, error) {
	t := a.transfer
	dbs := []string{a.db}
	if a.db == "" {
		dbs = nil
		reply, err := t.run(ctx, "admin", bson.D{{"listDatabases", 1}, {"nameOnly", true}}.Doc())
		if err != nil {
			return nil, err
		}
		names, _ := reply.Get("databases").Array()
		for v := range names.Values() {
			d, _ := v.Doc()
			if name, _ := d.Get("name").Str(); !collection.IsInternal(name) {
				dbs = append(dbs, name)
			}
		}
	}
	var out []*dumps.Collection
	for _, db := range dbs {
		infos, err := t.all(ctx, db, bson.D{{"listCollections", 1}}.Doc())
		if err != nil {
			return nil, err
		}
		shared := t.shared(ctx, db)
		if a.target != "" && !shared.IsEmpty() {
			a.recordOmitted(db, "the throughput "+ejson.String(shared)+" that its collections share")
		}
		for _, info := range infos {
			d := &dumps.Collection{DB: db, Kind: "collection"}
			d.Coll, _ = info.Get("name").Str()
			if kind, ok := info.Get("type").Str(); ok {
				d.Kind = kind
			}
			d.Data = d.Coll
			if (a.coll != "" && d.Coll != a.coll) || strings.HasPrefix(d.Coll, "system.") || !a.selects(d) {
				continue
			}
			if d.Kind == "timeseries" && t.plainBuckets(ctx, d) {
				d.Data = dumps.BucketsPrefix + d.Coll
			}
			if d.Metadata, err = a.metadata(ctx, d, info, shared); err != nil {
				return nil, err
			}
			out = append(out, d)
		}
	}
	slices.SortStableFunc(out, func(a, b *dumps.Collection) int { return cmp.Compare(a.NS(), b.NS()) })
	return out, nil
}

// plainBuckets reports whether all buckets of a time-series collection can be read and have version 1, which any
// server can decode. If so, the dump contains the buckets, as that of mongodump; otherwise it contains the
// measurements.
func (t *transfer) plainBuckets(ctx context.Context, d *dumps.Collection) bool {
	others, err := t.all(ctx, d.DB, bson.D{
		{"find", dumps.BucketsPrefix + d.Coll}, {"filter", bson.D{{"control.version", bson.D{{"$ne", 1}}}}}, {"limit", 1},
	}.Doc())
	return err == nil && len(others) == 0
}

// one copies one collection into the sink.
func (a *dumping) one(ctx context.Context, t *transfer, d *dumps.Collection, to dumps.Sink) error {
	query, p := a.query, a.shows
	out, err := to.Begin(d)
	if err != nil {
		return err
	}
	if out == nil {
		p.Logf("%s has been dumped already", d.NS())
		return nil
	}
	if d.Kind == "view" {
		return out.End()
	}
	after, n := out.Done()
	p.Add(n)
	command := bson.D{{"find", d.Data}}
	if query != nil {
		command = append(command, bson.E{"filter", query})
	}
	if d.ByID() {
		command = append(command, bson.E{"sort", bson.D{{"_id", 1}}}, bson.E{"hint", bson.D{{"_id", 1}}})
		if !after.IsMissing() {
			command = append(command, bson.E{"min", bson.D{{"_id", after}}})
		}
	}
	twice := sharedIDs{on: a.target != "" && d.ByID()}
	err = t.scan(ctx, d.DB, command.Doc(), func(doc bson.Raw) error {
		if !after.IsMissing() && doc.Get("_id").Identical(after) {
			return nil // min includes its bound
		}
		n++
		p.Add(1)
		twice.count(doc)
		return out.Write(doc)
	})
	if err != nil {
		return err
	}
	a.noteShared(d, twice.n)
	what := "document"
	if d.Data != d.Coll {
		what = "bucket"
	}
	p.Logf("%s: %s", d.NS(), columns.Plural(n, what))
	return out.End()
}
