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

	"github.com/cantledb/cantle/bson/ejson"
	"github.com/cantledb/cantle/cmd/cantle/dumps"
	"github.com/cantledb/cantle/cmd/cantle/progress"
)

// dumpedFile is a file of documents in a folder.
type dumpedFile struct {
	*dumps.Collection
	path string
}

func (r *restoring) fromFolder(ctx context.Context, errs io.Writer) error {
	r.shows = progress.Share(errs, "bytes", 0)
	found, err := filepath.Glob(filepath.Join(r.dir, "*", "*.metadata.json*"))
	if err != nil {
		return err
	}
	if len(found) == 0 {
		return fmt.Errorf("%s has no folders with .metadata.json files: it is not a dump", r.dir)
	}
	var files []dumpedFile
	var views []*dumps.Collection
	size := int64(0)
	for _, path := range found {
		d, base, err := describe(path)
		if err != nil {
			return err
		}
		if !r.selects(d) {
			continue
		}
		if d.Kind == "view" { // what they show comes first
			views = append(views, d)
			continue
		}
		file := dumpedFile{d, base + ".bson" + zipSuffix(path)}
		if buckets := filepath.Join(filepath.Dir(base), dumps.BucketsPrefix+filepath.Base(base)+".bson"+zipSuffix(path)); d.Kind == "timeseries" && exists(buckets) {
			file.path, d.Data = buckets, dumps.BucketsPrefix+d.Coll
		}
		if info, err := os.Stat(file.path); err == nil {
			size += info.Size()
		}
		files = append(files, file)
	}
	r.shows = progress.Share(errs, "bytes", size)
	err = each(ctx, r.transfer, r.parallel, files, func(ctx context.Context, t *transfer, f dumpedFile) error {
		if err := r.fromFile(ctx, t, f); err != nil {
			return fmt.Errorf("%s: %w", f.NS(), r.explain(err))
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, d := range views {
		if _, err := r.begin(ctx, r.transfer, d, nil); err != nil {
			return fmt.Errorf("%s: %w", d.NS(), r.explain(err))
		}
	}
	return nil
}

// describe reads the metadata file of a collection in a dump, at path. It returns the collection, and base, the path
// without its suffixes, to which the file of documents belongs.
func describe(path string) (d *dumps.Collection, base string, err error) {
	text, err := readWhole(path)
	if err != nil {
		return nil, "", err
	}
	base = strings.TrimSuffix(strings.TrimSuffix(path, zipSuffix(path)), ".metadata.json")
	d = &dumps.Collection{Metadata: text, Kind: "collection"}
	if d.DB, err = url.PathUnescape(filepath.Base(filepath.Dir(path))); err != nil {
		return nil, "", err
	}
	if d.Coll, err = url.PathUnescape(filepath.Base(base)); err != nil {
		return nil, "", err
	}
	m, err := ejson.Parse(text)
	if err != nil {
		return nil, "", fmt.Errorf("%s: %w", path, err)
	}
	// mongodump shortens a long name in the file's name; the complete name is in the file.
	if name, ok := m.Get("collectionName").Str(); ok && name != "" {
		d.Coll = name
	}
	if kind, ok := m.Get("type").Str(); ok && kind != "" {
		d.Kind = kind
	}
	d.Data = d.Coll
	return d, base, nil
}

// zipSuffix returns ".gz" if a file's name shows that the file is compressed, otherwise "".
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
	l, err := r.begin(ctx, t, f.Collection, cancel)
	if l == nil || err != nil {
		return err
	}
	defer l.abandon()
	docs := dumps.NewDocuments(in)
	for {
		doc, err := docs.Next()
		if errors.Is(err, io.EOF) {
			return r.finish(ctx, t, l)
		}
		if err != nil {
			return err
		}
		if err := l.add(ctx, doc, f.Data != f.Coll); err != nil {
			return err
		}
	}
}

// readWhole returns the text of a small file, decompressed if its name ends in ".gz".
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
