// Package firstscripts runs the scripts of the first start of a database, as MongoDB's container image does: files of
// JavaScript, and of JSON documents.
package firstscripts

import (
	"bufio"
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/cmd/cantle/columns"
	"github.com/cantledb/cantle/cmd/cantle/records"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/serve/console"
	"github.com/cantledb/cantle/serve/daemon"
)

// Limits of one insert command.
const (
	batchDocuments = 1000
	batchBytes     = 8 << 20
	// scriptMax is the maximum length of a script in bytes.
	scriptMax = 64 << 10
)

// Run runs the files of the folder --initdb-folder in the order of their names. run runs commands; log receives what
// was done, and what scripts print.
// Errors: the error of a file, after which no further file runs.
func Run(ctx context.Context, cfg *daemon.Config, run console.RunCommand, log func(file, text string)) error {
	entries, err := os.ReadDir(cfg.InitFolder) // by name
	if err != nil {
		return err
	}
	database := cmp.Or(cfg.InitDatabase, "test")
	for _, e := range entries {
		name, path := e.Name(), filepath.Join(cfg.InitFolder, e.Name())
		lower := strings.ToLower(name)
		switch ext := filepath.Ext(strings.TrimSuffix(lower, ".gz")); {
		case e.IsDir():
			log(name, "ignored: it is a folder")
		case ext == ".js" && ext == filepath.Ext(lower):
			err = script(ctx, path, database, run, func(text string) { log(name, text) })
		case ext == ".json" || ext == ".jsonl" || ext == ".ndjson":
			err = documents(ctx, path, database, run, func(text string) { log(name, text) })
		case ext == ".sh":
			log(name, "shell scripts are not run: use .js, or .json for documents")
		default:
			log(name, "ignored: files with the endings .js, .json, .jsonl and .ndjson are used, the last three also compressed (.gz)")
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// script runs a file of JavaScript.
func script(ctx context.Context, path, database string, run console.RunCommand, print func(string)) error {
	source, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if len(source) > scriptMax {
		return fmt.Errorf("a script has at most %d KB; put documents into a .json file", scriptMax>>10)
	}
	environ := map[string]string{}
	for _, x := range os.Environ() {
		name, value, _ := strings.Cut(x, "=")
		environ[name] = value
	}
	err = expr.RunShell(ctx, time.Now, string(source), &expr.Shell{
		Database: database, Print: print, Environ: environ,
		Run: func(db string, command bson.Raw) (bson.Raw, error) {
			reply, err := run(ctx, db, command)
			return bson.Raw(reply), err
		},
	})
	if err == nil {
		print("the script has run")
		return nil
	}
	if text, _, quoted := strings.Cut(err.Error(), " dup key:"); quoted { // behind it are values of a document
		return errors.New(text)
	}
	return err
}

// withoutValues returns the text of an error up to the first quotation or document in it, which can be a value of a
// document that an init file contains.
func withoutValues(text string) string {
	text, _, _ = strings.Cut(text, " dup key:")
	if i := strings.IndexAny(text, "{[\"'`"); i >= 0 {
		text = text[:i] + "…"
	}
	return text
}

// readFailure remembers the error of reading a file, which an error of the file's text must not hide.
type readFailure struct {
	io.Reader
	err error // nil = none, or the end of the file
}

func (r *readFailure) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		r.err = err
	}
	return n, err
}

// order is a prefix of a file's name that only determines its place: 01-orders.json.
var order = regexp.MustCompile(`^[0-9]+[-_.]`)

// isCompressed reports whether the ending of a file's name is that of gzip.
func isCompressed(name string) bool { return strings.EqualFold(filepath.Ext(name), ".gz") }

// namespaceOf returns the collection whose documents a file has, by the file's name: orders.json or shop.orders.json.gz,
// with or without a number before it.
func namespaceOf(path, database string) (db, coll string) {
	name := filepath.Base(path)
	if isCompressed(name) {
		name = strings.TrimSuffix(name, filepath.Ext(name))
	}
	name = order.ReplaceAllString(strings.TrimSuffix(name, filepath.Ext(name)), "")
	if db, coll, ok := strings.Cut(name, "."); ok {
		return db, coll
	}
	return database, name
}

// documents inserts the documents of a file.
func documents(ctx context.Context, path, database string, run console.RunCommand, print func(string)) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	in := bufio.NewReader(file)
	if isCompressed(path) {
		z, err := gzip.NewReader(in)
		if err != nil {
			return err
		}
		in = bufio.NewReader(z)
	}
	db, coll := namespaceOf(path, database)
	failure := &readFailure{Reader: in}
	source := records.NewJSON(bufio.NewReader(failure))
	var batch []bson.Raw
	n, size := 0, 0
	flush := func() error {
		if len(batch) == 0 {
			return nil
		}
		raw, err := run(ctx, db, bson.D{{"insert", coll}, {"documents", bson.Docs(batch)}}.Doc())
		if err != nil {
			return errors.New(withoutValues(err.Error()))
		}
		if failed, ok := bson.Raw(raw).Get("writeErrors").Array(); ok {
			first, _ := failed.Index(0)
			d, _ := first.Doc()
			text, _ := d.Get("errmsg").Str()
			at, _ := d.Get("index").AsInt64()
			return fmt.Errorf("document %d: %s", n+int(at)+1, withoutValues(text))
		}
		n, batch, size = n+len(batch), nil, 0
		return nil
	}
	for {
		doc, err := source.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if failure.err != nil {
			return fmt.Errorf("document %d: %w", n+len(batch)+1, failure.err)
		}
		if err != nil { // its text quotes the file
			return fmt.Errorf("document %d: the text is not a document in Extended JSON, or does not end; cantle import of this file shows the place", n+len(batch)+1)
		}
		batch = append(batch, doc.Clone())
		if size += len(doc); len(batch) == batchDocuments || size >= batchBytes {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	if err := flush(); err != nil {
		return err
	}
	print(fmt.Sprintf("%s.%s: %s", db, coll, columns.Plural(n, "document")))
	return nil
}
