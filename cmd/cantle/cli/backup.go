package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/cmd/cantle/columns"
	"github.com/cantledb/cantle/cmd/cantle/progress"
	"github.com/cantledb/cantle/cmd/cantle/s3archive"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/backup"
)

const backupHelp = `Makes a running server copy its files into its backup folder (--backup-to), or into a
folder in it, without interrupting its clients. The first backup copies all files, each
further one only new files. Between two backups into the same folder the server keeps a
log of all writes (at most 8 GB, and two days), so that every moment from the first to the
last can be restored.

  cantle backup mongodb://127.0.0.1:27017/
  cantle backup --to weekly mongodb://127.0.0.1:27017/
  cantle backup list /backups/shop                   list backups and restorable moments
  cantle backup verify /backups/shop                 read all files, compare checksums
  cantle backup list 's3://bucket/shop?endpoint=https://minio.example.com:9000'
  cantle restore --from /backups/shop --at '10 minutes ago' --data ./restored

An interrupted backup does not affect earlier ones; the next backup removes it. A server
with --backup-to makes backups automatically, unless it has --backup-interval 0. The user
needs the role backup, clusterManager or clusterAdmin. Exit status of verify: 0: no
findings; 1: files are missing or damaged, or no moment can be restored; 2: the folder
cannot be read.
`

func backupVerb(f *pflag.FlagSet) action {
	to := f.String("to", "", "`folder` to copy into: the name of a folder in the server's --backup-to, or its path on the server's machine; the default is --backup-to itself")
	asJSON := f.Bool("json", false, "print list and verify as a JSON document")
	return func(ctx context.Context, s Streams) error {
		if verb := f.Arg(0); verb == "list" || verb == "verify" {
			if f.NArg() != 2 || *to != "" {
				return usageErrorf("expected a folder of backups, as in\n\n  cantle backup %s /backups/shop", verb)
			}
			folder, err := openBackups(ctx, f.Arg(1))
			if err != nil {
				return usageError{err}
			}
			switch {
			case verb == "verify":
				return verifyBackups(ctx, s, folder, *asJSON)
			case *asJSON:
				doc, _ := backupsJSON(folder, false, nil)
				printJSON(s.Out, doc)
			default:
				printBackups(s, folder, "")
			}
			return nil
		}
		if f.NArg() != 1 {
			return usageErrorf("expected a connection string, as in\n\n  cantle backup mongodb://127.0.0.1:27017/")
		}
		dir := *to
		if !strings.HasPrefix(dir, s3archive.Scheme) && strings.ContainsAny(dir, `/\`) || dir == "." || dir == ".." { // a path on this machine, which may be the server's
			var err error
			if dir, err = filepath.Abs(dir); err != nil {
				return err
			}
		}
		return requestBackup(ctx, f.Arg(0), dir, s)
	}
}

// openArchive returns the archive in a folder of this machine, or in an object store.
func openArchive(location string) (backup.Archive, error) {
	if strings.Contains(location, "://") {
		return s3archive.Open(location)
	}
	return backup.InFolder(location), nil
}

// openBackups reads the lists of a folder of backups.
func openBackups(ctx context.Context, location string) (*backup.Folder, error) {
	a, err := openArchive(location)
	if err != nil {
		return nil, err
	}
	return backup.Open(ctx, a)
}

// requestBackup makes a server back up its data into a folder, and shows the progress of the backup.
func requestBackup(ctx context.Context, uri, dir string, s Streams) error {
	server, err := connect(uri, "cantle backup", func(o *options.ClientOptions) error {
		o.SetTimeout(0)
		return nil
	})
	if err != nil {
		return err
	}
	defer server.close()
	command := bson.D{{"customAction", "Backup"}}
	if dir != "" {
		command = append(command, bson.E{"to", dir})
	}
	reply, err := runWithProgress(ctx, server, "admin", command.Doc(), backingUp, s.Err)
	var refused mongo.CommandError
	if errors.As(err, &refused) && refused.Code == 2 {
		return usageErrorf("%s", refused.Message)
	}
	if err != nil {
		return err
	}
	where, _ := reply.Get("to").Str()
	t, i, _ := reply.Get("time").Timestamp()
	took := time.Duration(whole(reply, "millis")) * time.Millisecond
	fmt.Fprintf(s.Out, "%s: backup %d, %s with %s, of which %s were new, in %s\nit has the state at %s; to list the moments that can be restored: cantle backup list %s\n", where, whole(reply, "number"),
		columns.Plural(whole(reply, "files"), "file"), columns.Size(whole(reply, "bytes")), columns.Size(whole(reply, "copied")), took.Round(time.Millisecond), backup.MomentText(storage.MakeTimestamp(t, i)), where)
	return nil
}

// backingUp reads the progress of a backup at a server.
var backingUp = progressReader{command("serverStatus"), func(answer bson.Raw) (what string, done, total int64) {
	status, _ := answer.Get("backup").Doc()
	if what, _ = status.Get("unit").Str(); what != "" {
		phase, _ := status.Get("phase").Str()
		what += ", " + phase
	}
	return what, whole(status, "done"), whole(status, "total")
}}

// printBackups prints the backups in a folder and the moments that can be restored from them, and reports whether any
// moment can be restored. still is "still " if files are damaged, otherwise "".
func printBackups(s Streams, folder *backup.Folder, still string) (any bool) {
	t := &columns.Table{}
	t.Row("Timeline", " Backup", "Made", " Files", " Size", " New", "By")
	n := 0
	for _, line := range folder.Timelines {
		for _, b := range line.Bases {
			t.Row(line.ID, fmt.Sprint(b.Number), b.Ended.Format(time.RFC3339), fmt.Sprint(len(b.Files)), columns.Size(b.Bytes()), columns.Size(b.Copied), b.Program)
			n++
		}
	}
	if n > 0 {
		t.Print(s.Out)
		fmt.Fprintln(s.Out)
	}
	for _, line := range folder.Timelines {
		for _, span := range line.Covered() {
			any = true
			fmt.Fprintf(s.Out, "%s: every moment from %s to %s can "+still+"be restored\n", line.ID, backup.MomentText(span.From), backup.MomentText(span.To))
		}
	}
	if !any {
		fmt.Fprintln(s.Out, "no moment can be restored: there is no complete, undamaged backup")
	}
	return any
}

// verifyBackups reads all files and prints what is damaged.
func verifyBackups(ctx context.Context, s Streams, folder *backup.Folder, asJSON bool) error {
	var m meters
	findings, err := folder.Verify(ctx, m.report(s))
	m.end()
	if err != nil {
		return err
	}
	harmful := 0
	for _, x := range findings {
		if !x.Harmless() {
			harmful++
		}
	}
	if asJSON {
		doc, covered := backupsJSON(folder, true, findings)
		printJSON(s.Out, doc)
		return verdictOf(harmful, covered)
	}
	if len(findings) > 0 {
		t := &columns.Table{}
		t.Row("What", "File", "Finding")
		for _, x := range findings {
			t.Row(x.Kind, x.Where, x.What)
		}
		t.Print(s.Out)
		fmt.Fprintln(s.Out)
	}
	still := ""
	if harmful > 0 {
		still = "still "
	}
	if err := verdictOf(harmful, printBackups(s, folder, still)); err != nil {
		return err
	}
	if len(findings) > 0 {
		fmt.Fprintln(s.Out, "incomplete files are not needed by any complete backup: a backup is running or unfinished, and the next one removes them")
	}
	fmt.Fprintln(s.Out, "all files of complete backups are intact")
	return nil
}

// verdictOf returns the error of verify: for findings that are not harmless, or if no moment can be restored.
func verdictOf(harmful int, covered bool) error {
	switch {
	case harmful > 0:
		return fmt.Errorf("%s: moments that need one of these files cannot be restored; make a new backup", columns.Plural(harmful, "finding"))
	case !covered:
		return errors.New("there is no complete backup")
	}
	return nil
}

// meters shows the progress of a backup or a restore, phase by phase, each with a bar of its own.
type meters struct{ p *progress.Bar }

func (m *meters) report(s Streams) backup.Report {
	return func(p backup.Progress) {
		what := p.Unit + ", " + p.Phase
		if m.p == nil || m.p.What() != what {
			m.end()
			m.p = progress.Show(s.Err, what, p.Total)
		}
		m.p.At(p.Done)
	}
}

func (m *meters) end() {
	if m.p != nil {
		m.p.End()
	}
}
