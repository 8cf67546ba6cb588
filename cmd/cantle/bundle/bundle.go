package bundle

import (
	"archive/zip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/cmd/cantle/columns"
	"github.com/cantledb/cantle/cmd/cantle/remote"
)

// Bundle is a zip file that is being made. Its exported fields are set before Write.
type Bundle struct {
	Run     remote.Run
	Console func(ctx context.Context, path string, args url.Values) (json.RawMessage, error) // a request to the server's console
	Doctor  func(ctx context.Context) (any, error)                                           // the findings of cantle doctor
	Metrics func(ctx context.Context) ([]byte, error)                                        // the metrics for Prometheus
	Server  string                                                                           // the connection string without its password, for the manifest
	Limit   time.Duration                                                                    // of each part
	// Collections is the maximum number of collections of which the bundle has a description.
	Collections int
	Size        int64 // of all files together, in bytes, before compression

	zip   *zip.Writer
	left  int64 // bytes
	files []File
}

// File is an entry of the manifest.
type File struct {
	Name, Holds string
	Bytes       int64
	Err         error // why the part is missing or incomplete
}

// errSize: the files have reached the size of the bundle.
var errSize = errors.New("left out: the files have reached --max-size")

// Write collects all parts into a zip file. A part that fails is noted in the manifest, and the others are written. It
// returns the files, also the failed ones.
// Errors: errors of out; the error of the server if no part of it could be read.
func (b *Bundle) Write(ctx context.Context, out io.Writer) ([]File, error) {
	b.zip, b.left = zip.NewWriter(out), b.Size
	answered := 0
	var failed, dead error // dead: the server has stopped to answer, so that further parts would only wait for it
	for _, p := range parts {
		if dead != nil && !p.alone {
			b.files = append(b.files, File{p.name, p.holds, 0, dead})
			continue
		}
		err := b.part(ctx, &p)
		switch {
		case p.local:
		case err == nil:
			answered++
		case failed == nil:
			failed = err
		}
		if err != nil && !p.local && b.silent(ctx, err, answered > 0) {
			dead = err
		}
		if ctx.Err() != nil {
			return b.files, ctx.Err()
		}
	}
	if err := b.manifest(); err != nil {
		return b.files, err
	}
	if err := b.zip.Close(); err != nil {
		return b.files, err
	}
	if answered == 0 {
		return b.files, failed
	}
	return b.files, nil
}

// silent reports whether the server does not answer any more. err is the error of a part; answered is set if an earlier
// part was read, and then a ping decides, because some parts only take long.
func (b *Bundle) silent(ctx context.Context, err error, answered bool) bool {
	if remote.Code(err) != 0 {
		return false // the server has refused it
	}
	if !answered {
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, b.Limit)
	defer cancel()
	_, err = b.Run(ctx, "admin", bson.D{{"ping", 1}}.Doc())
	return err != nil && remote.Code(err) == 0
}

// part collects one part within its time.
func (b *Bundle) part(ctx context.Context, p *part) error {
	ctx, cancel := context.WithTimeout(ctx, b.Limit)
	defer cancel()
	text, err := p.collect(ctx, b)
	if errors.Is(err, context.DeadlineExceeded) || err != nil && ctx.Err() != nil {
		err = fmt.Errorf("no answer within %s", b.Limit)
	}
	if err != nil && len(text) == 0 {
		b.files = append(b.files, File{p.name, p.holds, 0, err})
		return err
	}
	if int64(len(text)) > b.left {
		b.files = append(b.files, File{p.name, p.holds, 0, errSize})
		return nil
	}
	if writeErr := b.write(p.name, text); writeErr != nil {
		err = writeErr
	}
	b.files = append(b.files, File{p.name, p.holds, int64(len(text)), err})
	return err
}

// write adds a file to the zip.
func (b *Bundle) write(name string, text []byte) error {
	w, err := b.zip.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate, Modified: time.Now()})
	if err == nil {
		_, err = w.Write(text)
	}
	b.left -= int64(len(text))
	return err
}

// manifest writes the list of the files.
func (b *Bundle) manifest() error {
	var text strings.Builder
	fmt.Fprintf(&text, `cantle debug zip of %s at %s

The files have names of databases, collections, fields, indexes, applications and
machines. They have no values of documents, filters or shard keys, no users, no passwords.

`, b.Server, time.Now().UTC().Format(time.RFC3339))
	Print(&text, b.files)
	return b.write("MANIFEST.txt", []byte(text.String()))
}

// Print prints the files as a table, and why some are missing.
func Print(out io.Writer, files []File) {
	t := columns.Table{}
	t.Row("file", " bytes", "contents")
	for _, f := range files {
		size := fmt.Sprint(f.Bytes)
		if f.Bytes == 0 {
			size = "-"
		}
		t.Row(f.Name, size, f.Holds)
	}
	t.Print(out)
	for _, f := range files {
		if f.Err == nil {
			continue
		}
		state := "missing"
		if f.Bytes > 0 {
			state = "incomplete"
		}
		fmt.Fprintf(out, "\n%s: %s: %s", state, f.Name, sentence(f.Err.Error()))
	}
	fmt.Fprintln(out)
}
