package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"time"

	"github.com/spf13/pflag"

	"github.com/cantledb/cantle/cmd/cantle/address"
	"github.com/cantledb/cantle/cmd/cantle/bundle"
	"github.com/cantledb/cantle/cmd/cantle/columns"
	"github.com/cantledb/cantle/cmd/cantle/top"
)

const debugHelp = `Collects the state of a server into one file for a bug report: version, settings, status,
running operations, the cost of commands by shape, collections with their indexes and
partitions, history, findings of cantle doctor, and the last lines of the log.

  cantle debug zip mongodb://127.0.0.1:27017/
  cantle debug zip --out report.zip mongodb://root@db.example.com/

The file has names of databases, collections, fields and indexes, of applications and
machines. It has no values of documents, filters or shard keys, no users and no passwords.
MANIFEST.txt in it lists its contents. Nothing is sent anywhere: read the file, and attach
it to your report yourself.

What the user may not read, or the server does not answer within --timeout, is listed as
missing, and the rest is collected. The roles clusterMonitor and readAnyDatabase may read
most of it.
`

// debugSizeMax is the maximum of --max-size, in MB.
const debugSizeMax = 1024

// debugCollectionsMax is the maximum number of collections of which a bundle has a description.
const debugCollectionsMax = 500

// debugMetricsMax is the maximum size of the metrics, in bytes.
const debugMetricsMax = 16 << 20

func debugVerb(f *pflag.FlagSet) action {
	out := f.String("out", "", "`file` to write; the default is cantle-debug-TIME.zip in this folder. A file that exists is not overwritten")
	limit := f.Duration("timeout", 10*time.Second, "maximum time for each part")
	size := f.Int("max-size", 64, fmt.Sprintf("maximum `MB` of all parts together, before compression, at most %d", debugSizeMax))
	return func(ctx context.Context, s Streams) error {
		switch {
		case f.NArg() != 2 || f.Arg(0) != "zip":
			return usageErrorf("expected zip and a connection string, as in\n\n  cantle debug zip mongodb://127.0.0.1:27017/")
		case *size < 1 || *size > debugSizeMax:
			return usageErrorf("--max-size is from 1 to %d", debugSizeMax)
		}
		uri := f.Arg(1)
		srv, err := connect(uri, "cantle debug", onOne)
		if err != nil {
			return err
		}
		defer srv.close()
		name := *out
		if name == "" {
			name = time.Now().UTC().Format("cantle-debug-20060102-150405.zip")
		}
		var page *top.Client // of the console; made by the first part that needs it
		b := bundle.Bundle{Run: srv.remoteRun, Server: address.Redact(uri), Limit: *limit, Size: int64(*size) << 20, Collections: debugCollectionsMax,
			Doctor:  func(ctx context.Context) (any, error) { return examine(ctx, uri, *limit), nil },
			Metrics: func(ctx context.Context) ([]byte, error) { return top.Metrics(ctx, uri, debugMetricsMax) },
			Console: func(ctx context.Context, path string, args url.Values) (json.RawMessage, error) {
				if page == nil {
					var err error
					if page, err = top.Connect(ctx, uri); err != nil {
						return nil, err
					}
				}
				return page.Fetch(ctx, path, args)
			}}
		return writeBundle(ctx, &b, name, s.Out)
	}
}

// writeBundle writes a bundle into a new file, and prints what the file holds. The file stays if a part is missing.
// Errors: errors of the file; the error of the server if no part of it could be read.
func writeBundle(ctx context.Context, b *bundle.Bundle, name string, out io.Writer) error {
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return fmt.Errorf("%s exists; give another name with --out", name)
	}
	if err != nil {
		return err
	}
	files, err := b.Write(ctx, file)
	stat, _ := file.Stat()
	if closeErr := file.Close(); err == nil {
		err = closeErr
	}
	if ctx.Err() != nil || stat == nil {
		_ = os.Remove(name) // it is incomplete
		return err
	}
	bundle.Print(out, files)
	fmt.Fprintf(out, "\n%s (%s) is written. It has names, and no values of documents. Nothing was sent anywhere:\nread it, and attach it to your report yourself.\n", name, columns.Size(stat.Size()))
	return err
}
