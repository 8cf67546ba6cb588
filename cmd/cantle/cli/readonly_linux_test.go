package cli

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/cantledb/cantle/serve/daemon"
	"github.com/cantledb/cantle/serve/flags"
)

// served starts a server with the given flags, calls fn with a client's collection, and stops the server.
func served(t *testing.T, fn func(c *mongo.Collection) error, args ...string) {
	t.Helper()
	var c daemon.Config
	f := flags.New("serve")
	c.Flags(f)
	if err := flags.Parse(f, append([]string{"--listen", "127.0.0.1:0", "--drain", "1s"}, args...)); err != nil {
		t.Fatal(err)
	}
	d, err := daemon.Start(t.Context(), c, io.Discard)
	if err != nil {
		t.Errorf("%v: %v", args, err)
		return
	}
	client, err := mongo.Connect(options.Client().ApplyURI(d.URI()))
	if err == nil {
		err = fn(client.Database("test").Collection("c"))
		_ = client.Disconnect(t.Context())
	}
	if err != nil {
		t.Errorf("%v: %v", args, err)
	}
	if err := d.Stop(); err != nil {
		t.Error(err)
	}
}

// On a read-only file system (here a tmpfs that is mounted anew; ext4 becomes one after disk errors) all recovery tools
// work: check, salvage, doctor, a read-only server, and restoring from backups that lie there.
func TestReadOnlyFileSystem(t *testing.T) {
	disk := t.TempDir()
	if err := syscall.Mount("none", disk, "tmpfs", 0, "size=128m"); err != nil {
		t.Skipf("no file system can be mounted here: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(disk, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	data, backups := filepath.Join(disk, "data"), filepath.Join(disk, "backups")
	served(t, func(c *mongo.Collection) error {
		_, err := c.InsertMany(t.Context(), []any{bson.D{{Key: "_id", Value: 1}}, bson.D{{Key: "_id", Value: 2}}})
		if err == nil {
			err = c.Database().Client().Database("admin").RunCommand(t.Context(), bson.D{{Key: "customAction", Value: "Backup"}}).Err()
		}
		return err
	}, "--data", data, "--backup-to", backups, "--backup-interval", "0")
	// The file of an interrupted copy is only a remark.
	line, _ := filepath.Glob(filepath.Join(backups, "*", "log"))
	if err := os.WriteFile(filepath.Join(line[0], "x.part"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("none", disk, "tmpfs", syscall.MS_REMOUNT|syscall.MS_RDONLY, "size=128m"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(disk, "x"), nil, 0o600); err == nil {
		t.Fatal("it can be written to")
	}
	verb := func(want string, status int, name string, args ...string) {
		t.Helper()
		var out bytes.Buffer
		got := Run(context.Background(), append([]string{name}, args...), Streams{Out: &out, Err: &out}, nil)
		if got != status || !strings.Contains(out.String(), want) {
			t.Errorf("%s %v: %d %s", name, args, got, out.String())
		}
	}
	verb("0 findings", 0, "check", "--data", data)
	verb("Nothing was lost", 0, "salvage", "--data", data, "--out", filepath.Join(t.TempDir(), "saved"))
	verb("version 1", 1, "doctor", "--data", data)
	verb("incomplete files are not needed by any complete backup", 0, "backup", "verify", backups)
	served(t, func(c *mongo.Collection) error {
		if n, err := c.CountDocuments(t.Context(), bson.D{}); n != 2 || err != nil {
			t.Errorf("%d documents: %v", n, err)
		}
		if _, err := c.InsertOne(t.Context(), bson.D{}); err == nil {
			t.Error("a write is taken")
		}
		cur, err := c.Aggregate(t.Context(), bson.A{bson.D{{Key: "$sort", Value: bson.D{{Key: "x", Value: 1}}}}}, options.Aggregate().SetAllowDiskUse(true))
		if err == nil {
			err = cur.Close(t.Context())
		}
		return err
	}, "--data", data, "--serve-damaged")
	elsewhere := filepath.Join(t.TempDir(), "data")
	verb("start it with", 0, "restore", "--from", backups, "--data", elsewhere)
	served(t, func(c *mongo.Collection) error {
		if n, err := c.CountDocuments(t.Context(), bson.D{}); n != 2 || err != nil {
			t.Errorf("%d documents: %v", n, err)
		}
		return nil
	}, "--data", elsewhere)
}
