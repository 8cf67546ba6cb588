package daemon

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/cantledb/cantle/serve/flags"
)

// begun starts a server on a folder and returns it with the log of its start.
func begun(t *testing.T, data string, args ...string) (d *Daemon, log string, err error) {
	t.Helper()
	var c Config
	f := flags.New("serve")
	c.Flags(f)
	if err := flags.Parse(f, append([]string{"--data", data, "--listen", "127.0.0.1:0", "--drain", "1s"}, args...)); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	d, err = Start(t.Context(), c, &out)
	return d, out.String(), err
}

// documents returns the number of documents in the collection test.c, and then inserts one, so that the next start
// can check that the database is the same.
func documents(t *testing.T, d *Daemon) int64 {
	t.Helper()
	client, err := mongo.Connect(options.Client().ApplyURI(d.URI()))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Disconnect(t.Context())
	c := client.Database("test").Collection("c")
	n, err := c.CountDocuments(t.Context(), bson.D{})
	if err == nil {
		_, err = c.InsertOne(t.Context(), bson.D{})
	}
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// If the --data folder has no trace of a database, the server begins one and logs a warning. If the folder has traces
// of one that is gone, the server does not start, unless --new is given.
func TestBegin(t *testing.T) {
	const warning = "created a new, empty database"
	store := func(data string) string { return filepath.Join(data, "store") }
	empty := func(t *testing.T, data string, keep ...string) { // removes all of the store but keep
		list, err := os.ReadDir(store(data))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range list {
			if !strings.Contains(strings.Join(keep, " "), e.Name()) {
				if err := os.RemoveAll(filepath.Join(store(data), e.Name())); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	remove := func(t *testing.T, paths ...string) {
		for _, p := range paths {
			if err := os.RemoveAll(p); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, c := range map[string]struct {
		lose    func(t *testing.T, data string)
		refused string // "" if a new database begins
	}{
		"all of the folder":    {func(t *testing.T, data string) { remove(t, data) }, ""},
		"all in the folder":    {func(t *testing.T, data string) { remove(t, store(data), filepath.Join(data, "scratch")) }, ""},
		"store":                {func(t *testing.T, data string) { remove(t, store(data)) }, "scratch is there and store is empty or gone"},
		"all in store":         {func(t *testing.T, data string) { empty(t, data) }, "scratch is there and store is empty or gone"},
		"all but LOCK":         {func(t *testing.T, data string) { empty(t, data, "LOCK"); remove(t, filepath.Join(data, "scratch")) }, "store has some of its files and no data"},
		"all but LOCK, SYNCED": {func(t *testing.T, data string) { empty(t, data, "LOCK SYNCED") }, "store has some of its files and no data"},
		"a restore that is cut": {func(t *testing.T, data string) {
			remove(t, filepath.Join(data, "scratch"))
			if err := os.Rename(store(data), filepath.Join(data, UnfinishedName)); err != nil {
				t.Fatal(err)
			}
		}, "has an unfinished or running restore"},
	} {
		t.Run(name, func(t *testing.T) {
			data := filepath.Join(t.TempDir(), "data")
			life := func(want int64, warned bool, args ...string) {
				t.Helper()
				d, log, err := begun(t, data, args...)
				if err != nil {
					t.Fatal(err)
				}
				if n := documents(t, d); n != want {
					t.Errorf("%d documents, want %d", n, want)
				}
				if strings.Contains(log, warning) != warned || warned && !strings.Contains(log, data) {
					t.Errorf("logged %s", log)
				}
				if err := d.Stop(); err != nil {
					t.Error(err)
				}
			}
			life(0, true)
			life(1, false)
			life(2, false, "--must-exist")
			c.lose(t, data)
			for _, args := range [][]string{{"--must-exist"}, {"--serve-damaged"}} {
				if d, log, err := begun(t, data, args...); err == nil {
					d.Stop()
					t.Errorf("%v: %s", args, log)
				}
			}
			if c.refused != "" {
				d, log, err := begun(t, data)
				if err == nil {
					d.Stop()
					t.Fatalf("it was started: %s", log)
				}
				var lost *LostError
				if !errors.As(err, &lost) || !strings.Contains(err.Error(), c.refused) || !strings.Contains(err.Error(), "--new") || !strings.Contains(err.Error(), data) {
					t.Errorf("refused with %v", err)
				}
				life(0, true, "--new")
			} else {
				life(0, true)
			}
			life(1, false, "--new")
		})
	}
}

// A server does not create the parent folder of --backup-to: if that is a network share that is not mounted, backups
// would go to the local disk.
func TestBackupDisk(t *testing.T) {
	share := filepath.Join(t.TempDir(), "share")
	_, _, err := begun(t, t.TempDir(), "--backup-to", filepath.Join(share, "x"))
	if err == nil || !strings.Contains(err.Error(), "--backup-to") || !strings.Contains(err.Error(), "its parent folder does not exist") {
		t.Errorf("without the folder above: %v", err)
	}
	if _, err := os.Stat(share); err == nil {
		t.Error("it was made")
	}
}
