package cli

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/cmd/cantle/columns"
	"github.com/cantledb/cantle/cmd/cantle/journal"
	"github.com/cantledb/cantle/cmd/cantle/progress"
	"github.com/cantledb/cantle/cmd/cantle/records"
	"github.com/cantledb/cantle/serve/flags"
)

const importHelp = `Loads JSON, CSV or TSV: a file, or standard input.

  cantle import URI shop.orders orders.json                 documents one after the other, or one array
  cantle import --headerline URI shop.items items.csv
  cantle import --type tsv --fields 'sku.string(),stock.int32(),seen.date(2006-01-02)' --columnsHaveTypes URI shop.items items.tsv
  cantle import --mode upsert --upsertFields sku --headerline URI shop.items items.csv

The ending of the file gives its type unless --type does: .json, .jsonl and .ndjson, .csv,
.tsv, each also compressed (.gz). JSON is Extended JSON of version 1 or 2, or in the syntax
of mongosh: unquoted names, ISODate("2020-01-31"), NumberLong(5), NaN. Values of CSV and
TSV are numbers if they look like numbers, else strings, unless --columnsHaveTypes gives
every field a type:

  auto()  string()  int32()  int64()  double()  decimal()  boolean()
  binary(hex), binary(base32), binary(base64)
  date(layout), date_go(layout)   a layout of Go's time package, such as 2006-01-02 15:04:05

A dot in a field's name creates an embedded document. Throttled requests are retried after
the time that the server specifies.

A document that exists already with the same content is skipped and counted: an import can
be repeated. A document fails if another one, also of the same file, has its _id or unique
value; all others are imported, and the exit status is 1.
`

// importArgs are the settings of an import.
type importArgs struct {
	kind         string // json, csv, tsv
	mode         string // insert, upsert, merge
	upsertFields []string
	table        records.Table
	legacy       bool
	drop         bool
	stopOnError  bool
	journalFile  string
}

func importVerb(f *pflag.FlagSet) action {
	var a importArgs
	f.StringVar(&a.kind, "type", "", "`kind` of the input: json, csv or tsv; by default that of the file's ending, otherwise json")
	f.StringVar(&a.mode, "mode", "insert", "`mode` of writing: insert; upsert replaces, merge changes and delete deletes documents with the same --upsertFields")
	upsert := f.String("upsertFields", "_id", "comma-separated `fields` by which upsert, merge and delete find documents")
	f.BoolVar(&a.legacy, "legacy", false, "the input was written by an older mongoexport, in Extended JSON of version 1: {\"$regex\": …, \"$options\": …} is a regular expression. The other forms of version 1 are read without this flag, too")
	f.Bool("jsonArray", false, "the input is one JSON array; not needed, because arrays are detected")
	fieldFile := f.String("fieldFile", "", "`file` with the names of the CSV or TSV columns, one per line")
	fields := f.String("fields", "", "comma-separated `names` of the CSV or TSV columns")
	f.BoolVar(&a.table.Header, "headerline", false, "the first line has the names of the columns")
	f.BoolVar(&a.table.Typed, "columnsHaveTypes", false, "the names of the columns have types, as in stock.int32()")
	f.BoolVar(&a.table.IgnoreBlanks, "ignoreBlanks", false, "leave out fields of empty columns")
	grace := f.String("parseGrace", "stop", "`reaction` to values that do not have their column's type: stop, autoCast, skipField or skipRow")
	f.BoolVar(&a.drop, "drop", false, "drop the collection first")
	f.BoolVar(&a.stopOnError, "stopOnError", false, "stop at the first document that is refused, also if it exists already")
	f.StringVar(&a.journalFile, "resume", "", "record progress in this `file`, and continue from it after an interruption")
	flags.Choose(f, "type", "json", "csv", "tsv")
	flags.Choose(f, "mode", "insert", "upsert", "merge", "delete")
	flags.Choose(f, "parseGrace", "stop", "autoCast", "skipField", "skipRow")
	return func(ctx context.Context, s Streams) error {
		a.table.Grace = *grace
		var err error
		if *fieldFile != "" && *fields == "" {
			*fields, err = fieldsIn(*fieldFile)
		}
		a.upsertFields = strings.Split(*upsert, ",")
		if a.kind == "" {
			a.kind = cmp.Or(kindOfFile(f.Arg(2)), "json")
		}
		db, coll, ok := namespaceOf(f.Arg(1))
		switch {
		case err != nil:
		case f.NArg() < 2 || f.NArg() > 3 || !ok:
			err = errors.New("expected a connection string, database.collection and a file, as in\n\n  cantle import mongodb://127.0.0.1:27017/ shop.orders orders.json")
		case a.kind != "json" && a.legacy:
			err = errors.New("--legacy is for --type json")
		case a.kind == "json" && (*fields != "" || a.table.Header || a.table.Typed):
			err = errors.New("--fields, --headerline and --columnsHaveTypes are for --type csv and tsv")
		case a.kind != "json" && (*fields == "") != a.table.Header:
			err = errors.New("CSV and TSV need either --headerline, if the first line has the names of the columns, or --fields with these names")
		case a.drop && a.journalFile != "":
			err = errors.New("--resume keeps existing documents, --drop deletes them; give one of them")
		}
		if err == nil && *fields != "" {
			err = a.table.ColumnsOf(strings.Split(*fields, ","))
		}
		if err != nil {
			return usageError{err}
		}
		in, size := s.In, int64(0)
		if f.NArg() == 3 {
			file, err := os.Open(f.Arg(2))
			if err != nil {
				return err
			}
			defer file.Close()
			if info, err := file.Stat(); err == nil {
				size = info.Size()
			}
			in = file
		}
		return load(ctx, f.Arg(0), db, coll, a, in, size, s.Err)
	}
}

// fieldsIn reads a file of field names, one per line, and returns the names separated by commas, as the flag --fields
// has them.
func fieldsIn(path string) (string, error) {
	text, err := os.ReadFile(path)
	return strings.Join(strings.Fields(string(text)), ","), err
}

// counted is a reader that counts the bytes read.
type counted struct {
	io.Reader
	n int64
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.n += int64(n)
	return n, err
}

// importing is the state of an import.
type importing struct {
	*transfer
	importArgs
	ns         string
	statements writes
	journal    *journal.Journal
	looker     *looker
	pending    batch
	seen       int64 // documents of the input
	skipped    int64
	total      written
}

// load imports the documents that in contains into a collection. size is the length of in in bytes, 0 if it is
// unknown.
func load(ctx context.Context, uri, db, coll string, a importArgs, in io.Reader, size int64, errs io.Writer) error {
	t, err := newTransfer(uri, "cantle import")
	if err != nil {
		return err
	}
	defer t.end()
	t.waits.showOn(errs)
	j, err := journal.Open(a.journalFile)
	if err != nil {
		return err
	}
	defer j.Close()
	m := &importing{transfer: t, importArgs: a, ns: db + "." + coll, statements: writesOf(a.mode), journal: j,
		looker: &looker{uri: uri, verb: "cantle import", waits: t.waits}}
	defer m.looker.end()
	m.statements.db, m.statements.coll = db, coll
	m.statements.ordered, m.statements.stop = a.stopOnError, a.stopOnError
	if a.drop {
		if _, err := t.run(ctx, db, bson.D{{"drop", coll}}.Doc()); err != nil && !isCode(err, 26) {
			return t.explain(err)
		}
	}
	read := &counted{Reader: in}
	plain, err := decompressed(bufio.NewReaderSize(read, 1<<20))
	if err != nil {
		return err
	}
	source, err := a.open(plain)
	if err != nil {
		return err
	}
	p := progress.Show(errs, "bytes", size)
	t.waits.showBy(p.Logf)
	err = m.all(ctx, source, func() { p.At(read.n) })
	p.End()
	t.waits.summary(errs)
	done := "imported"
	if a.mode == "delete" {
		done = "searched and deleted"
	}
	fmt.Fprintf(errs, "%s %s, %d there already, %d failed, %d skipped\n", columns.Plural(m.total.done, "document"), done, m.total.duplicates, m.total.failed, m.skipped)
	if err != nil {
		return err
	}
	if m.total.failed > 0 {
		return fmt.Errorf("%s failed, the first: %s", columns.Plural(m.total.failed, "document"), m.total.first)
	}
	return nil
}

// open returns a reader of records of the requested kind.
func (a *importArgs) open(in *bufio.Reader) (records.Reader, error) {
	switch a.kind {
	case "csv":
		return records.NewTable(in, ',', &a.table)
	case "tsv":
		return records.NewTable(in, '\t', &a.table)
	}
	if a.legacy {
		return records.NewLegacyJSON(in), nil
	}
	return records.NewJSON(in), nil
}

// writesOf returns the write command of a mode.
func writesOf(mode string) writes {
	switch mode {
	case "upsert", "merge":
		return writes{command: "update", list: "updates"}
	case "delete":
		return writes{command: "delete", list: "deletes"}
	}
	return writes{command: "insert", list: "documents"}
}

// all writes every document of the source into the collection, except those that the journal of an earlier run has
// recorded as done. It calls progress before it writes each.
func (m *importing) all(ctx context.Context, source records.Reader, progress func()) error {
	behind := m.journal.At(m.ns)
	for {
		doc, err := source.Next()
		if errors.Is(err, io.EOF) {
			return m.flush(ctx)
		}
		m.seen++
		if errors.Is(err, records.ErrSkipped) {
			m.skipped++
			continue
		}
		if err != nil {
			return errors.Join(m.flush(ctx), fmt.Errorf("document %d: %w", m.seen, err))
		}
		if m.seen <= behind {
			continue
		}
		if m.mode != "insert" {
			doc = statement(doc, m.mode, m.upsertFields)
		}
		progress()
		if m.pending.add(doc) {
			if err := m.flush(ctx); err != nil {
				return err
			}
		}
	}
}

// flush writes the pending documents, and records them in the journal.
func (m *importing) flush(ctx context.Context) error {
	docs := m.pending.take()
	if len(docs) == 0 {
		return nil
	}
	var taken duplicateRefusals
	how := m.statements
	if m.mode == "insert" {
		how.taken = taken.add
	}
	w, err := m.write(ctx, how, docs)
	err = errors.Join(err, taken.judge(ctx, m.looker, how.db, how.coll, "", &w))
	m.total.add(w)
	if err != nil {
		return m.explain(err)
	}
	return m.journal.Set(m.ns, m.seen)
}

// statement returns the statement of an import for one document, in a mode other than insert: it replaces, modifies
// or deletes the document on the server that has the same values in the fields by. If the document lacks one of these
// fields, no document matches, and an update inserts it.
func statement(doc bson.Raw, mode string, by []string) bson.Raw {
	b := bson.NewBuilder(nil)
	complete := true
	b.BeginDoc("q")
	for _, name := range by {
		v := lookup(doc, name)
		complete = complete && !v.IsMissing()
		if !v.IsMissing() {
			b.BeginDoc(name)
			b.Value("$eq", v)
			b.End()
		}
	}
	b.End()
	if !complete { // no filter can match it
		b = bson.NewBuilder(nil)
		b.BeginDoc("q")
		b.Int32("$alwaysFalse", 1)
		b.End()
	}
	if mode == "delete" {
		b.Int32("limit", 1)
		return b.Doc()
	}
	if mode == "merge" && complete {
		b.BeginDoc("u")
		b.BeginDoc("$set")
		for name, v := range doc.Fields() {
			if string(name) != "_id" {
				b.ValueBytes(name, v)
			}
		}
		b.End()
		b.End()
	} else {
		b.Raw("u", doc)
	}
	b.Bool("upsert", true)
	return b.Doc()
}

// lookup follows a dotted path through documents.
func lookup(doc bson.Raw, path string) bson.Value {
	for {
		name, rest, more := strings.Cut(path, ".")
		v := doc.Get(name)
		if !more {
			return v
		}
		inner, ok := v.Doc()
		if !ok {
			return bson.Value{}
		}
		doc, path = inner, rest
	}
}
