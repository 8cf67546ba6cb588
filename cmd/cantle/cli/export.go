package cli

import (
	"bufio"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/ejson"
	"github.com/cantledb/cantle/cmd/cantle/columns"
	"github.com/cantledb/cantle/cmd/cantle/progress"
	"github.com/cantledb/cantle/serve/flags"
)

const exportHelp = `Prints documents as Extended JSON, one per line, or as CSV.

  cantle export URI shop.orders > orders.json
  cantle export --query '{total: {$gt: 100}}' --sort '{_id: 1}' --limit 10 URI shop.orders
  cantle export --fields _id,customer,items.0.sku --out orders.csv URI shop.orders

The ending of --out gives the type unless --type does: .json, .jsonl and .ndjson, or .csv,
each also compressed (.gz).
Throttled requests are retried after the time that the server specifies.
`

// exportArgs are the settings of an export.
type exportArgs struct {
	kind, format string
	fields       []string
	query, sort  string // documents as text
	limit, skip  int64
	array, bare  bool
}

func exportVerb(f *pflag.FlagSet) action {
	var a exportArgs
	f.StringVar(&a.kind, "type", "", "`kind` of the output: json or csv; by default that of the ending of --out, otherwise json")
	f.StringVar(&a.format, "jsonFormat", "relaxed", "`style` of the JSON: relaxed, or canonical, which also contains the types of numbers")
	fields := f.String("fields", "", "comma-separated `fields` to export; the columns of CSV")
	fieldFile := f.String("fieldFile", "", "`file` with the fields, one per line")
	f.StringVar(&a.query, "query", "", "only documents that match this `filter`")
	queryFile := f.String("queryFile", "", "the filter from a `file`")
	f.StringVar(&a.sort, "sort", "", "sort `order`, as in {_id: 1}")
	f.Int64Var(&a.limit, "limit", 0, "maximum `number` of documents")
	f.Int64Var(&a.skip, "skip", 0, "`number` of documents to skip at the beginning")
	f.BoolVar(&a.array, "jsonArray", false, "one JSON array")
	f.BoolVar(&a.bare, "noHeaderLine", false, "CSV without a header line")
	file := f.String("out", "-", "`file` to write, - for standard output")
	flags.Choose(f, "type", "json", "csv")
	flags.Choose(f, "jsonFormat", "relaxed", "canonical")
	return func(ctx context.Context, s Streams) error {
		var err error
		if *fieldFile != "" && *fields == "" {
			*fields, err = fieldsIn(*fieldFile)
		}
		if *queryFile != "" && a.query == "" {
			text, bad := os.ReadFile(*queryFile)
			a.query, err = string(text), errors.Join(err, bad)
		}
		if *fields != "" {
			a.fields = strings.Split(*fields, ",")
		}
		if a.kind == "" {
			a.kind = cmp.Or(kindOfFile(*file), "json")
		}
		db, coll, ok := namespaceOf(f.Arg(1))
		switch {
		case err != nil:
		case f.NArg() != 2 || !ok:
			err = errors.New("expected a connection string and database.collection, as in\n\n  cantle export mongodb://127.0.0.1:27017/ shop.orders")
		default:
			err = a.check()
		}
		var find bson.Raw
		if err == nil {
			find, err = a.find(coll)
		}
		if err != nil {
			return usageError{err}
		}
		if *file == "-" {
			return export(ctx, f.Arg(0), db, coll, a, find, columns.Raw(s.Out), s.Err)
		}
		out, err := os.Create(*file)
		if err != nil {
			return err
		}
		if !strings.HasSuffix(*file, ".gz") {
			return errors.Join(export(ctx, f.Arg(0), db, coll, a, find, out, s.Err), out.Close())
		}
		z := gzip.NewWriter(out)
		return errors.Join(export(ctx, f.Arg(0), db, coll, a, find, z, s.Err), z.Close(), out.Close())
	}
}

// check returns an error if options exclude each other.
func (a *exportArgs) check() error {
	switch {
	case a.kind != "json" && a.kind != "csv":
		return fmt.Errorf("cantle export writes json or csv, not %s", a.kind)
	case a.kind == "csv" && a.fields == nil:
		return errors.New("CSV needs --fields")
	case a.limit < 0 || a.skip < 0:
		return errors.New("--limit and --skip are not negative")
	}
	return nil
}

// find returns the find command that reads the exported documents of a collection.
// Errors: a filter or sort that is not a document.
func (a *exportArgs) find(coll string) (bson.Raw, error) {
	find := bson.D{{"find", coll}}
	for _, part := range []struct{ name, flag, text string }{{"filter", "query", a.query}, {"sort", "sort", a.sort}} {
		if part.text == "" {
			continue
		}
		d, err := ejson.Parse(part.text)
		if err != nil {
			return nil, fmt.Errorf("--%s: %w", part.flag, err)
		}
		find = append(find, bson.E{part.name, d})
	}
	if a.fields != nil {
		projection := bson.D{}
		id := false
		for _, name := range a.fields {
			projection = append(projection, bson.E{projected(name), 1})
			id = id || name == "_id"
		}
		if !id && a.kind == "csv" {
			projection = append(projection, bson.E{"_id", 0})
		}
		find = append(find, bson.E{"projection", projection})
	}
	if a.limit > 0 {
		find = append(find, bson.E{"limit", a.limit})
	}
	if a.skip > 0 {
		find = append(find, bson.E{"skip", a.skip})
	}
	return find.Doc(), nil
}

// projected returns the path of a field up to its first array position, because projections do not support positions.
func projected(name string) string {
	parts := strings.Split(name, ".")
	for i, p := range parts {
		if _, err := strconv.Atoi(p); err == nil && i > 0 {
			return strings.Join(parts[:i], ".")
		}
	}
	return name
}

func export(ctx context.Context, uri, db, coll string, a exportArgs, find bson.Raw, out, errs io.Writer) error {
	t, err := newTransfer(uri, "cantle export", onOne)
	if err != nil {
		return err
	}
	defer t.end()
	t.waits.showOn(errs)
	w := bufio.NewWriterSize(out, 1<<20)
	table := csv.NewWriter(w)
	if a.kind == "csv" && !a.bare {
		if err := table.Write(a.fields); err != nil {
			return err
		}
	}
	if a.array && a.kind == "json" {
		w.WriteString("[")
	}
	n := int64(0)
	p := progress.Show(errs, "documents", t.count(ctx, db, coll))
	t.waits.showBy(p.Logf)
	err = t.scan(ctx, db, find, func(doc bson.Raw) error {
		n++
		p.At(n)
		if a.kind == "csv" {
			cells := make([]string, len(a.fields))
			for i, path := range a.fields {
				cells[i] = text(within(doc.Value(), path))
			}
			return table.Write(cells)
		}
		if a.array && n > 1 {
			w.WriteString(",")
		}
		if a.format == "canonical" {
			w.WriteString(ejson.Canonical(doc))
		} else {
			w.WriteString(ejson.String(doc))
		}
		if !a.array {
			w.WriteString("\n")
		}
		return nil
	})
	p.End()
	if err != nil {
		return t.explain(err)
	}
	if a.array && a.kind == "json" {
		w.WriteString("]\n")
	}
	table.Flush()
	if err := errors.Join(table.Error(), w.Flush()); err != nil {
		return err
	}
	t.waits.summary(errs)
	fmt.Fprintf(errs, "%s exported\n", columns.Plural(n, "document"))
	return nil
}

// within follows a dotted path through documents and positions of arrays.
func within(v bson.Value, path string) bson.Value {
	for rest := true; rest; {
		var name string
		name, path, rest = strings.Cut(path, ".")
		if d, ok := v.Doc(); ok {
			v = d.Get(name)
			continue
		}
		list, ok := v.Array()
		i, err := strconv.Atoi(name)
		if !ok || err != nil {
			return bson.Value{}
		}
		v, _ = list.Index(i)
	}
	return v
}

// text formats a value for a cell of a CSV or TSV table, readable for users; documents and arrays become JSON.
func text(v bson.Value) string {
	if v.IsMissing() {
		return ""
	}
	if s, ok := v.Str(); ok {
		return s
	}
	if id, ok := v.ObjectID(); ok {
		return fmt.Sprintf("ObjectId(%x)", id)
	}
	if ms, ok := v.DateTime(); ok {
		return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z")
	}
	if d, ok := v.Decimal(); ok {
		return d.String()
	}
	return ejson.ValueString(v)
}
