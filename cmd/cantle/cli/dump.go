package cli

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/ejson"
)

const dumpHelp = `Usage: cantle dump [flags] URI

Writes databases into files, in the layout of mongodump: a folder per database, and in
it NAME.bson with the documents and NAME.metadata.json with options and indexes. What it
writes, mongorestore reads, and the other way around; besides, metadata remembers shard
keys, so that cantle restore shards alike.

  cantle dump mongodb://127.0.0.1:27017/                       everything into ./dump
  cantle dump --db shop --gzip --out backup URI                one database, compressed
  cantle dump --db shop --archive shop.archive URI             into one file ("-": standard output)
  cantle dump --resume --out backup URI                        go on after an interruption

A collection is read in the order of _id while others write: each document is dumped as
it was at some time during the run. Requests that the server throttles are repeated
when it says so. The databases admin, config and local are left out unless named.

Flags:
`

// dumpArgs are the settings of a dump.
type dumpArgs struct {
	out, archive string
	db, coll     string
	query        bson.Raw
	gzip, resume bool
}

// Dump is the verb dump. It returns the exit status.
func Dump(ctx context.Context, args []string, out, errs io.Writer) int {
	f := flag.NewFlagSet("cantle dump", flag.ContinueOnError)
	f.SetOutput(errs)
	var a dumpArgs
	f.StringVar(&a.out, "out", "dump", "`folder` to write into")
	f.StringVar(&a.archive, "archive", "", "write one archive `file` instead, - for standard output")
	f.StringVar(&a.db, "db", "", "only this `database`")
	f.StringVar(&a.coll, "collection", "", "only this `collection` of --db")
	query := f.String("query", "", "only documents that match this `filter`, with --collection")
	f.BoolVar(&a.gzip, "gzip", false, "compress")
	f.BoolVar(&a.resume, "resume", false, "keep what an interrupted dump has written to --out, and go on")
	f.Usage = func() { fmt.Fprint(f.Output(), dumpHelp); f.PrintDefaults() }
	if err := f.Parse(args); err != nil {
		return status(err)
	}
	var err error
	if *query != "" {
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
	case a.resume && a.archive != "":
		err = errors.New("--resume is for folders: an archive cannot be continued")
	}
	if err != nil {
		fmt.Fprintf(errs, "cantle dump: %v\n\nsee cantle dump --help\n", err)
		return 2
	}
	if err := dump(ctx, f.Arg(0), a, out, errs); err != nil {
		fmt.Fprintln(errs, "cantle dump:", err)
		return 1
	}
	return 0
}

// status is the exit status for what a flag set says.
func status(err error) int {
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	return 2
}

// dumped is one collection on its way.
type dumped struct {
	db, coll, kind string // kind: collection, view or timeseries
	metadata       string // Extended JSON, as in the file
}

func (d *dumped) ns() string { return d.db + "." + d.coll }

// sink takes what is dumped.
type sink interface {
	// begin announces a collection. after is the _id of the last document that is
	// there already, missing for none; done says that all are, n how many.
	begin(d *dumped) (after bson.Value, n int64, done bool, err error)
	write(doc bson.Raw) error
	end() error
}

func dump(ctx context.Context, uri string, a dumpArgs, out, errs io.Writer) error {
	t, err := newTransfer(uri, "cantle dump")
	if err != nil {
		return err
	}
	defer t.end()
	list, err := t.collections(ctx, a.db, a.coll)
	if err != nil {
		return t.explain(err)
	}
	if len(list) == 0 {
		return errors.New("there is nothing to dump")
	}
	var to sink
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
		archive, err := newArchiveWriter(w, a.gzip, list)
		if err != nil {
			return err
		}
		defer archive.close()
		to = archive
	} else {
		to = &folderSink{root: a.out, gzip: a.gzip, resume: a.resume}
	}
	for _, d := range list {
		if err := t.dumpOne(ctx, d, a.query, to, errs); err != nil {
			return fmt.Errorf("%s: %w", d.ns(), t.explain(err))
		}
	}
	t.summary(errs)
	return nil
}

// collections lists what there is to dump, with its metadata.
func (t *transfer) collections(ctx context.Context, db, only string) ([]*dumped, error) {
	dbs := []string{db}
	if db == "" {
		dbs = nil
		b := bson.NewBuilder(nil)
		b.Int32("listDatabases", 1)
		b.Bool("nameOnly", true)
		reply, err := t.run(ctx, "admin", b.Doc())
		if err != nil {
			return nil, err
		}
		names, _ := reply.Get("databases").Array()
		for v := range names.Values() {
			d, _ := v.Doc()
			if name, _ := d.Get("name").Str(); name != "admin" && name != "config" && name != "local" {
				dbs = append(dbs, name)
			}
		}
	}
	var out []*dumped
	for _, db := range dbs {
		b := bson.NewBuilder(nil)
		b.Int32("listCollections", 1)
		infos, err := t.all(ctx, db, b.Doc())
		if err != nil {
			return nil, err
		}
		for _, info := range infos {
			d := &dumped{db: db, kind: "collection"}
			d.coll, _ = info.Get("name").Str()
			if kind, ok := info.Get("type").Str(); ok {
				d.kind = kind
			}
			if (only != "" && d.coll != only) || strings.HasPrefix(d.coll, "system.") {
				continue
			}
			if d.metadata, err = t.metadata(ctx, d, info); err != nil {
				return nil, err
			}
			out = append(out, d)
		}
	}
	slices.SortStableFunc(out, func(a, b *dumped) int { return cmp.Compare(a.ns(), b.ns()) })
	return out, nil
}

// metadata prints options and indexes of a collection as mongodump does, and under
// "cantle" its shard key.
func (t *transfer) metadata(ctx context.Context, d *dumped, info bson.Raw) (string, error) {
	b := bson.NewBuilder(nil)
	options, _ := info.Get("options").Doc()
	if options == nil {
		options = bson.NewBuilder(nil).Doc()
	}
	b.Value("options", options.Value())
	b.BeginArray("indexes")
	if d.kind == "collection" {
		q := bson.NewBuilder(nil)
		q.String("listIndexes", d.coll)
		indexes, err := t.all(ctx, d.db, q.Doc())
		if err != nil {
			return "", err
		}
		for _, x := range indexes {
			b.Value("", x.Value())
		}
	}
	b.End()
	detail, _ := info.Get("info").Doc()
	if _, id, ok := detail.Get("uuid").Binary(); ok {
		b.String("uuid", fmt.Sprintf("%x", id))
	}
	b.String("collectionName", d.coll)
	b.String("type", d.kind)
	q := bson.NewBuilder(nil)
	q.String("find", "collections")
	q.BeginDoc("filter")
	q.String("_id", d.ns())
	q.End()
	// On an address without sharding there is no such collection, and nothing found.
	if entries, err := t.all(ctx, "config", q.Doc()); err == nil && len(entries) == 1 {
		if key := entries[0].Get("key"); !key.IsMissing() {
			b.BeginDoc("cantle")
			b.Value("shardKey", key)
			b.Value("unique", bson.Bool(entries[0].Get("unique").Truthy()))
			b.End()
		}
	}
	return ejson.Canonical(b.Doc()), nil
}

// dumpOne copies one collection into the sink.
func (t *transfer) dumpOne(ctx context.Context, d *dumped, query bson.Raw, to sink, errs io.Writer) error {
	after, n, done, err := to.begin(d)
	if err != nil {
		return err
	}
	if done {
		fmt.Fprintf(errs, "%s is there already\n", d.ns())
		return nil
	}
	if d.kind == "view" {
		return to.end()
	}
	b := bson.NewBuilder(nil)
	b.String("find", d.coll)
	if query != nil {
		b.Raw("filter", query)
	}
	// A capped collection keeps the order of insertion; all others are read by _id,
	// where an interrupted dump can go on.
	capped := strings.Contains(d.metadata, `"capped":true`)
	if !capped && d.kind == "collection" {
		b.BeginDoc("sort")
		b.Int32("_id", 1)
		b.End()
		b.BeginDoc("hint")
		b.Int32("_id", 1)
		b.End()
		if !after.IsMissing() {
			b.BeginDoc("min")
			b.Value("_id", after)
			b.End()
		}
	}
	p := show(errs, d.ns(), t.count(ctx, d.db, d.coll))
	err = t.scan(ctx, d.db, b.Doc(), func(doc bson.Raw) error {
		if !after.IsMissing() && doc.Get("_id").Identical(after) {
			return nil // min includes its bound
		}
		n++
		p.at(n)
		return to.write(doc)
	})
	p.end()
	if err != nil {
		return err
	}
	fmt.Fprintf(errs, "%s: %d documents\n", d.ns(), n)
	return to.end()
}

// fileName is how a collection's name is written in a folder: like a part of a URL,
// as mongodump does.
func fileName(coll string) string {
	var b strings.Builder
	for _, c := range []byte(coll) {
		if strings.IndexByte("/\\%:*?\"<>|", c) >= 0 || c < ' ' {
			fmt.Fprintf(&b, "%%%02X", c)
			continue
		}
		b.WriteByte(c)
	}
	return b.String()
}

// folderOf is where a database's files lie.
func folderOf(root, db string) string { return filepath.Join(root, fileName(db)) }
