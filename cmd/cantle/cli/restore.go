package cli

import (
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/ejson"
)

const restoreHelp = `Usage: cantle restore [flags] URI [folder]

Loads what cantle dump or mongodump has written: a folder ("dump" unless named), or an
archive. Collections are made with their options, shard keys and indexes.

  cantle restore mongodb://127.0.0.1:27017/                    everything in ./dump
  cantle restore --drop --db shop URI backup                   one database, replacing what is there
  cantle restore --rename shop=shop2 --archive a.archive URI   under another name
  cantle restore --resume restore.journal URI                  go on after an interruption

Documents whose _id is there already are left as they are and counted. Requests that
the server throttles are repeated when it says so. Unique indexes are made before the
documents, as Azure Cosmos DB wants them; the others after.

Flags:
`

// restoreArgs are the settings of a restore.
type restoreArgs struct {
	dir, archive  string
	db, coll      string
	from, to      string // database renamed
	gzip, drop    bool
	noIndexes     bool
	noOptions     bool
	validate      bool
	journal       string
	journalOpened *journal
}

// Restore is the verb restore. It returns the exit status.
func Restore(ctx context.Context, args []string, in io.Reader, errs io.Writer) int {
	f := flag.NewFlagSet("cantle restore", flag.ContinueOnError)
	f.SetOutput(errs)
	var a restoreArgs
	f.StringVar(&a.archive, "archive", "", "read one archive `file`, - for standard input")
	f.StringVar(&a.db, "db", "", "only this `database`, by its name in the dump")
	f.StringVar(&a.coll, "collection", "", "only this `collection` of --db")
	rename := f.String("rename", "", "`old=new`: restore database old as new")
	f.BoolVar(&a.gzip, "gzip", false, "the archive is compressed; files in folders say so by their names")
	f.BoolVar(&a.drop, "drop", false, "drop each collection before it is restored")
	f.BoolVar(&a.noIndexes, "no-indexes", false, "make no indexes")
	f.BoolVar(&a.noOptions, "no-options", false, "make collections without their options")
	f.BoolVar(&a.validate, "validate", false, "let validators refuse documents")
	f.StringVar(&a.journal, "resume", "", "write down in this `file` what is done, and begin behind what it says is")
	f.Usage = func() { fmt.Fprint(f.Output(), restoreHelp); f.PrintDefaults() }
	if err := f.Parse(args); err != nil {
		return status(err)
	}
	a.dir = "dump"
	if f.NArg() == 2 {
		a.dir = f.Arg(1)
	}
	var ok bool
	a.from, a.to, ok = strings.Cut(*rename, "=")
	var err error
	switch {
	case f.NArg() < 1 || f.NArg() > 2:
		err = errors.New("expected a connection string, as in\n\n  cantle restore mongodb://127.0.0.1:27017/ dump")
	case *rename != "" && (!ok || a.from == "" || a.to == ""):
		err = errors.New("--rename is old=new")
	case a.coll != "" && a.db == "":
		err = errors.New("--collection needs --db")
	case a.drop && a.journal != "":
		err = errors.New("--resume keeps what is there, --drop does not")
	case a.archive != "" && f.NArg() == 2:
		err = errors.New("either --archive or a folder")
	}
	if err != nil {
		fmt.Fprintf(errs, "cantle restore: %v\n\nsee cantle restore --help\n", err)
		return 2
	}
	if err := restore(ctx, f.Arg(0), a, in, errs); err != nil {
		fmt.Fprintln(errs, "cantle restore:", err)
		return 1
	}
	return 0
}

// restoring is a restore on its way.
type restoring struct {
	*transfer
	restoreArgs
	errs  io.Writer
	total written
	open  map[string]*loading
}

// loading is one collection of it.
type loading struct {
	*dumped        // by its names on the server
	source  string // namespace in the dump
	batch   batch  // not yet sent
	skip    int64  // documents that a journal says are done
	seen    int64  // documents read
	later   []bson.Raw
	shows   *progress
	counted written
}

func restore(ctx context.Context, uri string, a restoreArgs, in io.Reader, errs io.Writer) error {
	t, err := newTransfer(uri, "cantle restore")
	if err != nil {
		return err
	}
	defer t.end()
	if a.journalOpened, err = openJournal(a.journal); err != nil {
		return err
	}
	defer a.journalOpened.close()
	r := &restoring{transfer: t, restoreArgs: a, errs: errs, open: map[string]*loading{}}
	if a.archive != "" {
		err = r.fromArchive(ctx, in)
	} else {
		err = r.fromFolder(ctx)
	}
	if err != nil {
		return t.explain(err)
	}
	t.summary(errs)
	fmt.Fprintf(errs, "%d documents restored, %d there already, %d failed\n", r.total.done, r.total.duplicates, r.total.failed)
	if r.total.failed > 0 {
		return fmt.Errorf("%d documents failed, the first: %s", r.total.failed, r.total.first)
	}
	return nil
}

// wanted reports whether a collection of the dump is asked for.
func (r *restoring) wanted(d *dumped) bool {
	if r.db != "" {
		return d.db == r.db && (r.coll == "" || d.coll == r.coll)
	}
	return d.db != "admin" && d.db != "config" && d.db != "local" && !strings.HasPrefix(d.coll, "system.")
}

func (r *restoring) fromArchive(ctx context.Context, in io.Reader) error {
	if r.archive != "-" {
		file, err := os.Open(r.archive)
		if err != nil {
			return err
		}
		defer file.Close()
		in = file
	}
	a, err := newArchiveReader(in, r.gzip)
	if err != nil {
		return err
	}
	for _, d := range a.list {
		if r.wanted(d) {
			if err := r.begin(ctx, d); err != nil {
				return fmt.Errorf("%s: %w", d.ns(), r.explain(err))
			}
		}
	}
	err = a.each(func(db, coll string, doc bson.Raw) error {
		if l := r.open[db+"."+coll]; l != nil {
			return r.add(ctx, l, doc)
		}
		return nil
	}, func(db, coll string) error {
		if l := r.open[db+"."+coll]; l != nil {
			delete(r.open, db+"."+coll)
			return r.finish(ctx, l)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for ns := range r.open { // views have no block in some archives
		if l := r.open[ns]; l.kind != "view" && l.seen > 0 {
			return fmt.Errorf("%s: the archive ends early", ns)
		}
		if err := r.finish(ctx, r.open[ns]); err != nil {
			return err
		}
	}
	return nil
}

func (r *restoring) fromFolder(ctx context.Context) error {
	found, err := filepath.Glob(filepath.Join(r.dir, "*", "*.metadata.json*"))
	if err != nil {
		return err
	}
	if len(found) == 0 {
		return fmt.Errorf("%s has no folders with .metadata.json files: it is no dump", r.dir)
	}
	var views []*dumped
	for _, path := range found {
		text, err := readWhole(path)
		if err != nil {
			return err
		}
		base, zipped := strings.CutSuffix(path, ".gz")
		base = strings.TrimSuffix(base, ".metadata.json")
		d := &dumped{metadata: text, kind: "collection"}
		if d.db, err = url.PathUnescape(filepath.Base(filepath.Dir(path))); err != nil {
			return err
		}
		if d.coll, err = url.PathUnescape(filepath.Base(base)); err != nil {
			return err
		}
		m, err := ejson.Parse(text)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		// A long name is cut in the file's name, and whole inside.
		if name, ok := m.Get("collectionName").Str(); ok && name != "" {
			d.coll = name
		}
		if kind, ok := m.Get("type").Str(); ok && kind != "" {
			d.kind = kind
		}
		if !r.wanted(d) {
			continue
		}
		if d.kind == "view" { // what they show comes first
			views = append(views, d)
			continue
		}
		file := base + ".bson"
		if zipped {
			file += ".gz"
		}
		if err := r.fromFile(ctx, d, file); err != nil {
			return fmt.Errorf("%s: %w", d.ns(), r.explain(err))
		}
	}
	for _, d := range views {
		if err := r.begin(ctx, d); err != nil {
			return fmt.Errorf("%s: %w", d.ns(), r.explain(err))
		}
	}
	return nil
}

// fromFile loads one file of documents.
func (r *restoring) fromFile(ctx context.Context, d *dumped, path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	in := io.Reader(bufio.NewReaderSize(file, 1<<20))
	if strings.HasSuffix(path, ".gz") {
		if in, err = gzip.NewReader(in); err != nil {
			return err
		}
	}
	if err := r.begin(ctx, d); err != nil {
		return err
	}
	l := r.open[d.ns()]
	docs := documentReader{r: in}
	for {
		doc, err := docs.next()
		if errors.Is(err, io.EOF) {
			return r.finish(ctx, l)
		}
		if err != nil {
			return err
		}
		if err := r.add(ctx, l, doc); err != nil {
			return err
		}
	}
}

// begin makes a collection as its metadata says.
func (r *restoring) begin(ctx context.Context, d *dumped) error {
	to := *d
	if d.db == r.from {
		to.db = r.to
	}
	l := &loading{dumped: &to, source: d.ns(), skip: r.journalOpened.at(d.ns()), shows: show(r.errs, to.ns(), 0)}
	r.open[d.ns()] = l
	if r.drop {
		b := bson.NewBuilder(nil)
		b.String("drop", to.coll)
		if _, err := r.run(ctx, to.db, b.Doc()); err != nil && !isCode(err, 26) {
			return err
		}
	}
	var m bson.Raw
	if d.metadata != "" {
		var err error
		if m, err = ejson.Parse(d.metadata); err != nil {
			return fmt.Errorf("metadata: %w", err)
		}
	}
	b := bson.NewBuilder(nil)
	b.String("create", to.coll)
	options, _ := m.Get("options").Doc()
	for name, v := range options.Fields() {
		if !r.noOptions && string(name) != "autoIndexId" && string(name) != "uuid" {
			b.ValueBytes(name, v)
		}
	}
	// A collection that is there stays as it is.
	if _, err := r.run(ctx, to.db, b.Doc()); err != nil && !isCode(err, 48) {
		return err
	}
	if own, ok := m.Get("cantle").Doc(); ok && !r.noOptions {
		b := bson.NewBuilder(nil)
		b.String("shardCollection", to.ns())
		b.Value("key", own.Get("shardKey"))
		b.Value("unique", own.Get("unique"))
		// Sharded already, or an address where that is done by other commands.
		if _, err := r.run(ctx, "admin", b.Doc()); err != nil {
			fmt.Fprintf(r.errs, "%s is not sharded: %v\n", to.ns(), r.explain(err))
		}
	}
	indexes, _ := m.Get("indexes").Array()
	var first []bson.Raw
	for v := range indexes.Values() {
		x, _ := v.Doc()
		name, _ := x.Get("name").Str()
		switch {
		case r.noIndexes || name == "_id_":
		case x.Get("unique").Truthy():
			first = append(first, withoutNS(x))
		default:
			l.later = append(l.later, withoutNS(x))
		}
	}
	return r.index(ctx, l, first)
}

// withoutNS leaves out a field that servers before 4.4 wrote and later ones refuse.
func withoutNS(x bson.Raw) bson.Raw {
	b := bson.NewBuilder(nil)
	for name, v := range x.Fields() {
		if string(name) != "ns" {
			b.ValueBytes(name, v)
		}
	}
	return b.Doc()
}

func (r *restoring) index(ctx context.Context, l *loading, list []bson.Raw) error {
	if len(list) == 0 {
		return nil
	}
	b := bson.NewBuilder(nil)
	b.String("createIndexes", l.coll)
	b.BeginArray("indexes")
	for _, x := range list {
		b.Value("", x.Value())
	}
	b.End()
	_, err := r.run(ctx, l.db, b.Doc())
	return err
}

func (r *restoring) add(ctx context.Context, l *loading, doc bson.Raw) error {
	l.seen++
	if l.seen <= l.skip {
		return nil
	}
	l.shows.at(l.seen)
	if l.batch.add(doc) {
		return r.flush(ctx, l)
	}
	return nil
}

func (r *restoring) flush(ctx context.Context, l *loading) error {
	docs := l.batch.take()
	if len(docs) == 0 {
		return nil
	}
	w, err := r.write(ctx, writes{command: "insert", list: "documents", db: l.db, coll: l.coll, bypass: !r.validate}, docs)
	l.counted.add(w)
	r.total.add(w)
	if err != nil {
		return err
	}
	return r.journalOpened.set(l.source, l.seen)
}

func (r *restoring) finish(ctx context.Context, l *loading) error {
	if err := r.flush(ctx, l); err != nil {
		return err
	}
	l.shows.end()
	if err := r.index(ctx, l, l.later); err != nil {
		return err
	}
	if l.kind != "view" {
		fmt.Fprintf(r.errs, "%s: %d documents\n", l.ns(), l.counted.done)
	}
	return nil
}

// isCode reports whether the server refused a command with this code.
func isCode(err error, code int32) bool {
	var refused mongo.CommandError
	return errors.As(err, &refused) && refused.Code == code
}

// readWhole reads a small file, unpacked if its name says that it is compressed.
func readWhole(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	in := io.Reader(file)
	if strings.HasSuffix(path, ".gz") {
		if in, err = gzip.NewReader(in); err != nil {
			return "", err
		}
	}
	text, err := io.ReadAll(io.LimitReader(in, 64<<20))
	return string(text), err
}
