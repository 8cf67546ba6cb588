package cli

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/pflag"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/cmd/cantle/columns"
)

const compactHelp = `Makes a running server free the disk space of deleted or overwritten documents and index
entries: of one collection, of a database, or of all. The server does this automatically
where it pays off; use this after a large delete. It works in pieces with pauses. After
Ctrl-C the server still finishes the current collection; killOp stops that, too. Space
that has been freed stays free.

  cantle compact mongodb://127.0.0.1:27017/
  cantle compact --dry-run mongodb://127.0.0.1:27017/ shop
  cantle compact mongodb://127.0.0.1:27017/ shop.orders

The change log also keeps deletes for its retention (--log-retention, --log-size), which
this command does not shorten. With a TiKV cluster there is nothing to do: its stores free
space automatically. The user needs the role dbAdmin, or hostManager.
`

func compactVerb(f *pflag.FlagSet) action {
	dry := f.Bool("dry-run", false, "only estimate the space that would become free")
	least := f.Int64("free-space-target", 0, "skip collections of which less than this many `MB` would become free; 20 by default")
	asJSON := jsonFlag(f)
	return func(ctx context.Context, s Streams) error {
		db, coll, _ := strings.Cut(f.Arg(1), ".")
		if f.NArg() < 1 || f.NArg() > 2 || f.NArg() == 2 && db == "" {
			return usageErrorf("expected a connection string, and perhaps a database or a collection, as in\n\n  cantle compact mongodb://127.0.0.1:27017/ shop.orders")
		}
		if *least < 0 {
			return usageErrorf("--free-space-target is not negative")
		}
		server, err := connect(f.Arg(0), "cantle compact", func(o *options.ClientOptions) error {
			o.SetTimeout(0)
			return nil
		})
		if err != nil {
			return err
		}
		defer server.close()
		list := []string{f.Arg(1)}
		if coll == "" {
			if list, err = collectionsOf(ctx, server, db); err != nil {
				return err
			}
		}
		if len(list) == 0 && db != "" {
			return fmt.Errorf("the database %s does not exist, or has no collections", db)
		}
		freed, err := compactAll(ctx, server, s, list, *dry, *least)
		switch {
		case err != nil:
			return err
		case *asJSON:
			printJSON(s.Out, freedJSON(freed, *dry))
		default:
			printFreed(s.Out, freed, *dry)
		}
		return nil
	}
}

// collectionsOf returns the full names of the collections of a database, or of all databases except config and local
// if db is "", without views and system collections.
func collectionsOf(ctx context.Context, server *server, db string) (list []string, err error) {
	dbs := []string{db}
	if db == "" {
		reply, err := server.runCommand(ctx, "admin", bson.D{{"listDatabases", 1}, {"nameOnly", true}}.Doc())
		if err != nil {
			return nil, err
		}
		dbs = nil
		found, _ := reply.Get("databases").Array()
		for v := range found.Values() {
			d, _ := v.Doc()
			if name, _ := d.Get("name").Str(); name != "config" && name != "local" {
				dbs = append(dbs, name)
			}
		}
	}
	for _, db := range dbs {
		specs, err := server.client.Database(db).ListCollectionSpecifications(ctx, []byte(bson.NewBuilder(nil).Doc()), options.ListCollections().SetNameOnly(true))
		if err != nil {
			return nil, server.explain(err)
		}
		for _, spec := range specs {
			if spec.Type != "view" && !strings.HasPrefix(spec.Name, "system.") {
				list = append(list, db+"."+spec.Name)
			}
		}
	}
	return list, nil
}

// freed is the number of bytes that a collection gave back, or would give back.
type freed struct {
	name  string
	bytes int64
}

// compactAll runs the command compact on one collection after the other, and returns the bytes freed; with dry, only
// the estimate.
func compactAll(ctx context.Context, server *server, s Streams, list []string, dry bool, least int64) (out []freed, err error) {
	field := "bytesFreed"
	if dry {
		field = "estimatedBytesFreed"
	}
	for _, name := range list {
		db, coll, _ := strings.Cut(name, ".")
		command := bson.D{{"compact", coll}}
		if dry {
			command = append(command, bson.E{"dryRun", true})
		}
		if least > 0 {
			command = append(command, bson.E{"freeSpaceTargetMB", least})
		}
		reply, err := runWithProgress(ctx, server, db, command.Doc(), compaction(name), s.Err)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		out = append(out, freed{name, whole(reply, field)})
	}
	return out, nil
}

// freedJSON returns the freed bytes for programs.
func freedJSON(list []freed, dry bool) bson.Raw {
	total, all := int64(0), bson.A{}
	for _, x := range list {
		all = append(all, bson.D{{"collection", x.name}, {"bytes", x.bytes}})
		total += x.bytes
	}
	return bson.D{{"dryRun", dry}, {"bytes", total}, {"collections", all}}.Doc()
}

// printFreed prints the freed bytes of the collections that had any.
func printFreed(out io.Writer, list []freed, dry bool) {
	t := &columns.Table{}
	title := " Freed"
	if dry {
		title = " Would become free"
	}
	t.Row("Collection", title)
	total, rows := int64(0), 0
	for _, x := range list {
		if x.bytes > 0 {
			t.Row(x.name, columns.Size(x.bytes))
			total += x.bytes
			rows++
		}
	}
	if rows > 0 {
		t.Print(out)
		fmt.Fprintln(out)
	}
	verb := "became free"
	if dry {
		verb = "would become free"
	}
	fmt.Fprintf(out, "%s of %s %s\n", columns.Size(total), columns.Plural(len(list), "collection"), verb)
}

// compaction returns the reader of the progress of a collection's compaction.
func compaction(name string) progressReader {
	return progressReader{bson.D{{"currentOp", 1}, {"desc", "Compact"}, {"ns", name}}.Doc(), func(answer bson.Raw) (what string, done, total int64) {
		list, _ := answer.Get("inprog").Array()
		for v := range list.Values() {
			op, _ := v.Doc()
			at, _ := op.Get("progress").Doc()
			what, done, total = "bytes of "+name, whole(at, "done"), whole(at, "total")
		}
		return what, done, total
	}}
}
