package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/spf13/pflag"

	"github.com/cantledb/cantle/cmd/cantle/account"
	"github.com/cantledb/cantle/cmd/cantle/columns"
	"github.com/cantledb/cantle/cmd/cantle/dumps"
	"github.com/cantledb/cantle/cmd/cantle/journal"
	"github.com/cantledb/cantle/cmd/cantle/namespaces"
	"github.com/cantledb/cantle/cmd/cantle/progress"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/backup"
)

const restoreHelp = `Loads a dump of cantle dump or mongodump: a folder ("dump" by default) or an archive.
Collections are created with their options, shard keys and indexes. With --from it
restores any moment that the backups of a server cover: the whole server into a new folder
(--data), or databases and collections into a running server, with options, indexes, shard
keys and throughput.

  cantle restore mongodb://127.0.0.1:27017/                    everything in ./dump
  cantle restore --drop --db shop URI backup                   one database, replacing existing collections
  cantle restore --rename shop=shop2 --archive a.archive URI   under another name
  cantle restore --nsInclude 'shop.*' --nsFrom 'shop.*' --nsTo 'test.old_*' URI
  cantle restore --resume restore.journal URI                  continue after an interruption
  cantle restore --shard-key shop.orders=customer URI          a mongodump of an account
  cantle restore --from /backups/shop --at 2026-11-23T12:00:00Z --data ./restored
  cantle restore --from /backups/shop --at '10 minutes ago' --ns shop.orders URI
                                                               a collection that was dropped
  cantle restore --from /backups/shop --ns shop --rename shop=shop_then URI

A document that exists already is skipped and counted; a document whose _id exists with
different content fails. A dump of mongodump has no shard keys: in an account _id is only
unique per shard key value, so a collection that was sharded there needs --shard-key.
Parts of a dump that cannot be restored, such as an index that the server refuses, are
listed; everything else is restored, and the exit status is 1.

Throttled requests are retried after the time that the server specifies. Unique indexes
are created before the documents, as Azure Cosmos DB requires; other indexes after. An
index {_ts: 1} of an account expires documents after their last write on every server.
`

// restoreArgs are the settings of a restore.
type restoreArgs struct {
	dir, archive  string
	from, data    string // a folder of backups; a new folder for a server
	at            storage.Timestamp
	db, coll      string
	names         namespaces.Chosen
	renames       []*namespaces.Renaming
	gzip, drop    bool
	dry           bool
	parallel      int // collections
	workers       int // per collection
	ordered, stop bool
	noIndexes     bool
	noOptions     bool
	validate      bool
	lastWrite     bool // all indexes {_ts: 1} of the dump that expire documents do so by the last write
	keys          account.ShardKeys
	journal       string
	journalOpened *journal.Journal
}

func restoreVerb(f *pflag.FlagSet) action {
	var a restoreArgs
	f.StringVar(&a.archive, "archive", "", "read one archive `file`, - for standard input")
	f.StringVar(&a.db, "db", "", "only this `database`, by its name in the dump")
	f.StringVar(&a.coll, "collection", "", "only this `collection` of --db")
	f.StringVar(&a.from, "from", "", "restore from this `folder` of cantle backup, or s3://bucket/path")
	at := f.String("at", "latest", "with --from, the `moment` to restore: 2026-11-23T12:00:00Z (without that second), a timestamp such as 1795435200,1 (inclusive), \"10 minutes ago\"")
	f.StringVar(&a.data, "data", "", "with --from, restore the whole server into this new `folder`")
	ns := f.String("ns", "", "only this `database` or database.collection")
	rename := f.String("rename", "", "`old=new`: restore database old as new, or database.collection as another")
	f.Func("nsInclude", "only namespaces of the dump that match this `pattern`, such as shop.*; may be given several times", namespaces.Pattern(&a.names.Include))
	f.Func("nsExclude", "no namespaces that match this `pattern`; may be given several times", namespaces.Pattern(&a.names.Exclude))
	var from, to []string
	f.Func("nsFrom", "rename namespaces that match this `pattern`, such as shop.* or $db$.orders", appended(&from))
	f.Func("nsTo", "`pattern` of the new name, with as many * and the same $variables$ as --nsFrom", appended(&to))
	f.IntVarP(&a.parallel, "numParallelCollections", "j", parallelCollections, "number of `collections` to process at a time")
	f.IntVar(&a.workers, "numInsertionWorkersPerCollection", 1, "number of concurrent `writers` per collection")
	f.BoolVar(&a.ordered, "maintainInsertionOrder", false, "insert the documents of a collection in order, and stop at the first that is refused")
	f.BoolVar(&a.stop, "stopOnError", false, "stop at the first document that is refused, also if it exists already")
	f.BoolVar(&a.dry, "dryRun", false, "read everything and print what would be restored")
	f.BoolVar(&a.gzip, "gzip", false, "the archive is compressed; not needed for folders, whose files have the ending .gz")
	f.BoolVar(&a.drop, "drop", false, "drop each collection before it is restored")
	for _, name := range []string{"no-indexes", "noIndexRestore"} {
		f.BoolVar(&a.noIndexes, name, false, "create no indexes")
	}
	for _, name := range []string{"no-options", "noOptionsRestore"} {
		f.BoolVar(&a.noOptions, name, false, "create collections without their options")
	}
	f.BoolVar(&a.validate, "validate", false, "check documents with the validators of collections")
	a.keys = account.ShardKeys{}
	f.Func("shard-key", "`[database.collection=]field` by which to shard a collection of the dump, or all of them; several fields are separated by commas; may be given several times", a.keys.Set)
	f.BoolVar(&a.lastWrite, "expireAfterLastWrite", false, "let indexes {_ts: 1} expire documents after their last write, as in an account, even if the dump does not appear to be from an account")
	f.StringVar(&a.journal, "resume", "", "record progress in this `file`, and continue from it after an interruption")
	return func(ctx context.Context, s Streams) error {
		a.dir = "dump"
		if f.NArg() == 2 {
			a.dir = f.Arg(1)
		}
		old, renamed, ok := strings.Cut(*rename, "=")
		if ok { // whose names have no wildcards
			quote, all := strings.NewReplacer(`\`, `\\`, "*", `\*`, "$", `\$`), ".*"
			if strings.Contains(old, ".") {
				all = ""
			}
			from, to = append(from, quote.Replace(old)+all), append(to, quote.Replace(renamed)+all)
		}
		err := a.backupArgs(f, *at, *ns)
		for i := range min(len(from), len(to)) {
			x, bad := namespaces.New(from[i], to[i])
			a.renames, err = append(a.renames, x), errors.Join(err, bad)
		}
		a.stop = a.stop || a.ordered
		switch {
		case err != nil:
		case a.data != "":
		case f.NArg() < 1 || f.NArg() > 2:
			err = errors.New("expected a connection string, as in\n\n  cantle restore mongodb://127.0.0.1:27017/ dump")
		case *rename != "" && (!ok || old == "" || renamed == "" || strings.Contains(old, ".") != strings.Contains(renamed, ".")):
			err = errors.New("--rename is old=new, of databases or of collections (shop.orders=shop.orders_then)")
		case len(from) != len(to):
			err = errors.New("every --nsFrom needs an --nsTo")
		case a.parallel < 1 || a.workers < 1:
			err = errors.New("--numParallelCollections and --numInsertionWorkersPerCollection are at least 1")
		case a.coll != "" && a.db == "":
			err = errors.New("--collection needs --db")
		case a.drop && a.journal != "":
			err = errors.New("--resume keeps existing documents, --drop deletes them; give one of them")
		case a.archive != "" && f.NArg() == 2:
			err = errors.New("either --archive or a folder")
		}
		if err != nil {
			return usageError{err}
		}
		if a.data != "" {
			return restoreWhole(ctx, a, s)
		}
		return restore(ctx, f.Arg(0), a, s)
	}
}

// backupArgs reads the flags of a restore that concern backups: at is --at, ns is --ns.
// Errors: flags that exclude each other.
func (a *restoreArgs) backupArgs(f *pflag.FlagSet, at, ns string) (err error) {
	if ns != "" {
		if a.db != "" {
			return errors.New("either --ns or --db")
		}
		a.db, a.coll, _ = strings.Cut(ns, ".")
	}
	a.at, err = backup.ParseMoment(at, time.Now())
	switch {
	case err != nil:
		return err
	case a.from == "" && (f.Changed("at") || a.data != ""):
		return errors.New("--at and --data need --from, a folder that cantle backup has written")
	case a.from != "" && (a.archive != "" || f.NArg() == 2 || a.journal != ""):
		return errors.New("--from goes with neither a dump nor --resume")
	case a.data != "" && (f.NArg() > 0 || a.db != "" || f.Changed("rename") || a.drop):
		return errors.New("--data restores a whole server; to restore a part of it, give a connection string instead")
	case a.from != "" && a.data == "" && f.NArg() == 0:
		return errors.New("expected --data and a new folder for the whole server, or the connection string of a running server, as in\n\n  cantle restore --from /backups/shop --data ./restored\n  cantle restore --from /backups/shop --ns shop.orders --rename shop.orders=shop.orders_then mongodb://127.0.0.1:27017/")
	}
	return nil
}

// restoring is the state of a restore.
type restoring struct {
	*transfer
	restoreArgs
	shows *progress.Shared

	account bool // the server is an account, or behaves like one

	mu          sync.Mutex
	total       written
	notRestored []string        // parts of the dump other than documents that could not be restored, as lines for the user
	keyed       map[string]bool // collections of the dump, by namespace, that --shard-key may name

	looker *looker

	making sync.Mutex
	made   map[string]bool // databases of makeDatabase

	open map[string]*loading // of an archive, by namespace in the dump
}

func restore(ctx context.Context, uri string, a restoreArgs, s Streams) error {
	errs := s.Err
	t, err := newTransfer(uri, "cantle restore")
	if err != nil {
		return err
	}
	defer t.end()
	t.waits.showOn(errs)
	if a.journalOpened, err = journal.Open(a.journal); err != nil {
		return err
	}
	defer a.journalOpened.Close()
	r := &restoring{transfer: t, restoreArgs: a, open: map[string]*loading{}, keyed: map[string]bool{}, made: map[string]bool{},
		looker: &looker{uri: uri, verb: "cantle restore", waits: t.waits}}
	defer r.looker.end()
	if !a.dry {
		if r.account, err = t.account(ctx); err != nil {
			return t.explain(err)
		}
	}
	r.shows = progress.Share(errs, "documents", 0)
	t.waits.showBy(func(format string, args ...any) { r.shows.Logf(format, args...) }) // r.shows is replaced later
	switch {
	case a.from != "":
		err = r.fromBackup(ctx, s)
	case a.archive != "":
		err = r.fromArchive(ctx, s.In, errs)
	default:
		err = r.fromFolder(ctx, errs)
	}
	r.shows.End()
	if err != nil {
		return t.explain(err)
	}
	t.waits.summary(errs)
	if a.dry {
		fmt.Fprintf(errs, "%s would be restored\n", columns.Plural(r.total.done, "document"))
		return nil
	}
	fmt.Fprintf(errs, "%s restored, %d there already, %d failed\n", columns.Plural(r.total.done, "document"), r.total.duplicates, r.total.failed)
	return r.verdict()
}

// recordLost prints and records a part of the dump other than documents that could not be restored. The exit status
// of the restore is then 1.
func (r *restoring) recordLost(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	r.shows.Logf("%s", text)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.notRestored = append(r.notRestored, text)
}

// verdict returns the error of a restore that is not complete: failed documents, other parts that failed, or a
// collection of --shard-key that the dump does not have; nil for a complete one.
func (r *restoring) verdict() error {
	for ns := range r.keys {
		if ns != "" && !r.keyed[ns] {
			r.notRestored = append(r.notRestored, fmt.Sprintf("--shard-key %s: the dump has no such collection", ns))
		}
	}
	var errs []error
	if r.total.failed > 0 {
		errs = append(errs, fmt.Errorf("%s failed, the first: %s", columns.Plural(r.total.failed, "document"), r.total.first))
	}
	if n := len(r.notRestored); n > 0 {
		errs = append(errs, fmt.Errorf("%s of the dump failed beside documents:\n  %s", columns.Plural(n, "part"), strings.Join(r.notRestored, "\n  ")))
	}
	return errors.Join(errs...)
}

func (r *restoring) selects(d *dumps.Collection) bool {
	if !r.names.Holds(d.NS()) {
		return false
	}
	if r.db != "" {
		return d.DB == r.db && (r.coll == "" || d.Coll == r.coll)
	}
	return !collection.IsInternal(d.DB) && !strings.HasPrefix(d.Coll, "system.")
}

// passing is a reader that reports the bytes read as progress.
type passing struct {
	io.Reader
	shows *progress.Shared
}

func (p *passing) Read(b []byte) (int, error) {
	n, err := p.Reader.Read(b)
	p.shows.Add(int64(n))
	return n, err
}
