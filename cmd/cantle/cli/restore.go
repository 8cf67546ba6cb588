package cli

import (
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/ejson"
	"github.com/cantledb/cantle/cmd/cantle/flags"
)

const restoreHelp = `Usage: cantle restore [flags] URI [folder]

Loads what cantle dump or mongodump has written: a folder ("dump" unless named), or an
archive. Collections are made with their options, shard keys and indexes.

  cantle restore mongodb://127.0.0.1:27017/                    everything in ./dump
  cantle restore --drop --db shop URI backup                   one database, replacing what is there
  cantle restore --rename shop=shop2 --archive a.archive URI   under another name
  cantle restore --nsInclude 'shop.*' --nsFrom 'shop.*' --nsTo 'test.old_*' URI
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
	names         namespaces
	renames       []*renaming
	gzip, drop    bool
	dry           bool
	parallel      int // collections
	workers       int // per collection
	ordered, stop bool
	noIndexes     bool
	noOptions     bool
	validate      bool
	journal       string
	journalOpened *journal
}

func restoreVerb(ctx context.Context, args []string, s Streams) error {
	f := flags.New("cantle restore")
	var a restoreArgs
	f.StringVar(&a.archive, "archive", "", "read one archive `file`, - for standard input")
	f.StringVar(&a.db, "db", "", "only this `database`, by its name in the dump")
	f.StringVar(&a.coll, "collection", "", "only this `collection` of --db")
	rename := f.String("rename", "", "`old=new`: restore database old as new")
	f.Func("nsInclude", "only namespaces like this `pattern` of the dump, such as shop.*; may be given several times", pattern(&a.names.include))
	f.Func("nsExclude", "no namespaces like this `pattern`; may be given several times", pattern(&a.names.exclude))
	var from, to []string
	f.Func("nsFrom", "restore namespaces like this `pattern`, such as shop.* or $db$.orders, under another name", appended(&from))
	f.Func("nsTo", "the `pattern` of that name, with as many * and the same $variables$", appended(&to))
	for _, name := range []string{"numParallelCollections", "j"} {
		f.IntVar(&a.parallel, name, parallelCollections, "so many `collections` at a time")
	}
	f.IntVar(&a.workers, "numInsertionWorkersPerCollection", 1, "so many `writers` for each of them")
	f.BoolVar(&a.ordered, "maintainInsertionOrder", false, "insert the documents of a collection one after the other, and stop at the first that is refused")
	f.BoolVar(&a.stop, "stopOnError", false, "stop at the first document that is refused, also for being there already")
	f.BoolVar(&a.dry, "dryRun", false, "read everything and say what would be restored")
	f.BoolVar(&a.gzip, "gzip", false, "the archive is compressed; files in folders say so by their names")
	f.BoolVar(&a.drop, "drop", false, "drop each collection before it is restored")
	for _, name := range []string{"no-indexes", "noIndexRestore"} {
		f.BoolVar(&a.noIndexes, name, false, "make no indexes")
	}
	for _, name := range []string{"no-options", "noOptionsRestore"} {
		f.BoolVar(&a.noOptions, name, false, "make collections without their options")
	}
	f.BoolVar(&a.validate, "validate", false, "let validators refuse documents")
	f.StringVar(&a.journal, "resume", "", "write down in this `file` what is done, and begin behind what it says is")
	if err := parse(f, args, restoreHelp, s); err != nil {
		return err
	}
	a.dir = "dump"
	if f.NArg() == 2 {
		a.dir = f.Arg(1)
	}
	old, renamed, ok := strings.Cut(*rename, "=")
	if ok { // whose names have no wildcards
		quote := strings.NewReplacer(`\`, `\\`, "*", `\*`, "$", `\$`)
		from, to = append(from, quote.Replace(old)+".*"), append(to, quote.Replace(renamed)+".*")
	}
	var err error
	for i := range min(len(from), len(to)) {
		x, bad := newRenaming(from[i], to[i])
		a.renames, err = append(a.renames, x), errors.Join(err, bad)
	}
	a.stop = a.stop || a.ordered
	switch {
	case err != nil:
	case f.NArg() < 1 || f.NArg() > 2:
		err = errors.New("expected a connection string, as in\n\n  cantle restore mongodb://127.0.0.1:27017/ dump")
	case *rename != "" && (!ok || old == "" || renamed == ""):
		err = errors.New("--rename is old=new")
	case len(from) != len(to):
		err = errors.New("every --nsFrom has its --nsTo")
	case a.parallel < 1 || a.workers < 1:
		err = errors.New("--numParallelCollections and --numInsertionWorkersPerCollection are at least 1")
	case a.coll != "" && a.db == "":
		err = errors.New("--collection needs --db")
	case a.drop && a.journal != "":
		err = errors.New("--resume keeps what is there, --drop does not")
	case a.archive != "" && f.NArg() == 2:
		err = errors.New("either --archive or a folder")
	}
	if err != nil {
		return usageError{err}
	}
	return restore(ctx, f.Arg(0), a, s.In, s.Err)
}

// restoring is a restore on its way.
type restoring struct {
	*transfer
	restoreArgs
	shows *shared

	mu    sync.Mutex
	total written

	open map[string]*loading // of an archive, by namespace in the dump
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
	r := &restoring{transfer: t, restoreArgs: a, open: map[string]*loading{}}
	if a.archive != "" {
		err = r.fromArchive(ctx, in, errs)
	} else {
		err = r.fromFolder(ctx, errs)
	}
	r.shows.end()
	if err != nil {
		return t.explain(err)
	}
	t.summary(errs)
	if a.dry {
		fmt.Fprintf(errs, "%d documents would be restored\n", r.total.done)
		return nil
	}
	fmt.Fprintf(errs, "%d documents restored, %d there already, %d failed\n", r.total.done, r.total.duplicates, r.total.failed)
	if r.total.failed > 0 {
		return fmt.Errorf("%d documents failed, the first: %s", r.total.failed, r.total.first)
	}
	return nil
}

// wanted reports whether a collection of the dump is asked for.
func (r *restoring) wanted(d *dumped) bool {
	if !r.names.holds(d.ns()) {
		return false
	}
	if r.db != "" {
		return d.db == r.db && (r.coll == "" || d.coll == r.coll)
	}
	return d.db != "admin" && d.db != "config" && d.db != "local" && !strings.HasPrefix(d.coll, "system.")
}

func (r *restoring) fromArchive(ctx context.Context, in io.Reader, errs io.Writer) error {
	size := int64(0)
	if r.archive != "-" {
		file, err := os.Open(r.archive)
		if err != nil {
			return err
		}
		defer file.Close()
		if info, err := file.Stat(); err == nil {
			size = info.Size()
		}
		in = file
	}
	r.shows = share(errs, "bytes", size)
	a, err := newArchiveReader(&passing{in, r.shows}, r.gzip)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer func() {
		for _, l := range r.open {
			l.abandon()
		}
	}()
	for _, d := range a.list {
		if !r.wanted(d) {
			continue
		}
		l, err := r.begin(ctx, r.transfer, d, cancel)
		if err != nil {
			return fmt.Errorf("%s: %w", d.ns(), r.explain(err))
		}
		r.open[d.ns()] = l
	}
	// Indexes are made beside the reading, of so many collections at a time.
	var finishing sync.WaitGroup
	free := make(chan struct{}, r.parallel)
	err = a.each(func(db, coll string, doc bson.Raw) error {
		name, packed := strings.CutPrefix(coll, bucketsPrefix)
		if l := r.open[db+"."+name]; l != nil {
			return l.add(ctx, doc, packed)
		}
		return nil
	}, func(db, coll string) error {
		ns := db + "." + strings.TrimPrefix(coll, bucketsPrefix)
		l := r.open[ns]
		if l == nil {
			return nil
		}
		delete(r.open, ns)
		finishing.Go(func() {
			free <- struct{}{}
			defer func() { <-free }()
			t, err := r.worker()
			if err == nil {
				defer t.rest()
				err = r.finish(ctx, t, l)
			}
			if err != nil {
				cancel(fmt.Errorf("%s: %w", l.ns(), r.explain(err)))
			}
		})
		return nil
	})
	finishing.Wait()
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	if err != nil {
		return err
	}
	for ns, l := range r.open { // views have no block in some archives
		if l.kind != "view" && l.seen > 0 {
			return fmt.Errorf("%s: the archive ends early", ns)
		}
		delete(r.open, ns)
		if err := r.finish(ctx, r.transfer, l); err != nil {
			return err
		}
	}
	return context.Cause(ctx)
}

// dumpedFile is a file of documents in a folder.
type dumpedFile struct {
	*dumped
	path string
}

func (r *restoring) fromFolder(ctx context.Context, errs io.Writer) error {
	r.shows = share(errs, "bytes", 0)
	found, err := filepath.Glob(filepath.Join(r.dir, "*", "*.metadata.json*"))
	if err != nil {
		return err
	}
	if len(found) == 0 {
		return fmt.Errorf("%s has no folders with .metadata.json files: it is no dump", r.dir)
	}
	var files []dumpedFile
	var views []*dumped
	size := int64(0)
	for _, path := range found {
		d, base, err := describe(path)
		if err != nil {
			return err
		}
		if !r.wanted(d) {
			continue
		}
		if d.kind == "view" { // what they show comes first
			views = append(views, d)
			continue
		}
		file := dumpedFile{d, base + ".bson" + zipSuffix(path)}
		if buckets := filepath.Join(filepath.Dir(base), bucketsPrefix+filepath.Base(base)+".bson"+zipSuffix(path)); d.kind == "timeseries" && exists(buckets) {
			file.path, d.data = buckets, bucketsPrefix+d.coll
		}
		if info, err := os.Stat(file.path); err == nil {
			size += info.Size()
		}
		files = append(files, file)
	}
	r.shows = share(errs, "bytes", size)
	err = each(ctx, r.transfer, r.parallel, files, func(ctx context.Context, t *transfer, f dumpedFile) error {
		if err := r.fromFile(ctx, t, f); err != nil {
			return fmt.Errorf("%s: %w", f.ns(), r.explain(err))
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, d := range views {
		if _, err := r.begin(ctx, r.transfer, d, nil); err != nil {
			return fmt.Errorf("%s: %w", d.ns(), r.explain(err))
		}
	}
	return nil
}

// describe reads a file of metadata; base is its path without suffixes.
func describe(path string) (d *dumped, base string, err error) {
	text, err := readWhole(path)
	if err != nil {
		return nil, "", err
	}
	base = strings.TrimSuffix(strings.TrimSuffix(path, zipSuffix(path)), ".metadata.json")
	d = &dumped{metadata: text, kind: "collection"}
	if d.db, err = url.PathUnescape(filepath.Base(filepath.Dir(path))); err != nil {
		return nil, "", err
	}
	if d.coll, err = url.PathUnescape(filepath.Base(base)); err != nil {
		return nil, "", err
	}
	m, err := ejson.Parse(text)
	if err != nil {
		return nil, "", fmt.Errorf("%s: %w", path, err)
	}
	// A long name is cut in the file's name, and whole inside.
	if name, ok := m.Get("collectionName").Str(); ok && name != "" {
		d.coll = name
	}
	if kind, ok := m.Get("type").Str(); ok && kind != "" {
		d.kind = kind
	}
	d.data = d.coll
	return d, base, nil
}

// zipSuffix is ".gz" for what is compressed by its name.
func zipSuffix(path string) string {
	if strings.HasSuffix(path, ".gz") {
		return ".gz"
	}
	return ""
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// passing is a reader that tells how much was read.
type passing struct {
	io.Reader
	shows *shared
}

func (p *passing) Read(b []byte) (int, error) {
	n, err := p.Reader.Read(b)
	p.shows.add(int64(n))
	return n, err
}

// fromFile loads one file of documents.
func (r *restoring) fromFile(ctx context.Context, t *transfer, f dumpedFile) error {
	file, err := os.Open(f.path)
	if err != nil {
		return err
	}
	defer file.Close()
	in := io.Reader(bufio.NewReaderSize(&passing{file, r.shows}, 1<<20))
	if zipSuffix(f.path) != "" {
		if in, err = gzip.NewReader(in); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	l, err := r.begin(ctx, t, f.dumped, cancel)
	if err != nil {
		return err
	}
	defer l.abandon()
	docs := documentReader{r: in}
	for {
		doc, err := docs.next()
		if errors.Is(err, io.EOF) {
			return r.finish(ctx, t, l)
		}
		if err != nil {
			return err
		}
		if err := l.add(ctx, doc, f.data != f.coll); err != nil {
			return err
		}
	}
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
