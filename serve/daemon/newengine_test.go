package daemon

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/cantledb/cantle/serve/flags"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/memkv"
)

// newEngines returns a copy of the table of engines with three more rows: an engine with a folder, one with a
// location and one with neither. Each opens a store in memory and appends the folder or location to opened.
func newEngines(opened *[]string) []engine {
	open := func(dir string, _ storeSettings) (storage.Store, error) {
		*opened = append(*opened, dir)
		return memkv.Open(memkv.Options{}), nil
	}
	return append(slices.Clone(engines), engine{"reel", "on tape", inFolder, open, nil}, engine{"sky", "in the sky", atRemote, open, nil}, engine{"wire", "in the cloud", nowhere, open, nil})
}

// A new storage engine needs only its package and one row of the table. For rows added to a copy of the table:
// --storage accepts the engines, the help and the error for a wrong name list them, they pass the tests of the
// storage contract, they are opened with a folder, a location or neither, and a server runs on each.
func TestEngineIsOneRow(t *testing.T) {
	var opened []string
	list := newEngines(&opened)
	testEngines(t, list[len(engines):])
	for _, name := range []string{"reel", "sky://a:1,b:2/k?key=secret", "wire"} {
		opened = nil
		cfg := Config{engines: list}
		set, data := flags.New("cantle serve"), filepath.Join(t.TempDir(), "data")
		cfg.Flags(set)
		if usage := set.Lookup("storage").Usage; !strings.Contains(usage, "reel: on tape") || !strings.Contains(usage, "wire: in the cloud") {
			t.Errorf("the help of --storage is %q", usage)
		}
		if err := flags.Parse(set, []string{"--storage", name, "--data", data, "--listen", "127.0.0.1:0", "--drain", "1s"}); err != nil {
			t.Fatal(err)
		}
		d, err := Start(context.Background(), cfg, io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		client, err := mongo.Connect(options.Client().ApplyURI(d.URI()))
		if err != nil {
			t.Fatal(err)
		}
		c := client.Database("test").Collection("c")
		if _, err := c.InsertMany(t.Context(), []bson.M{{"a": 1}, {"a": 2}}); err != nil {
			t.Error(err)
		}
		if n, err := c.CountDocuments(t.Context(), bson.M{"a": 2}); n != 1 || err != nil {
			t.Errorf("on %s: %d documents, %v", name, n, err)
		}
		if err := client.Database("admin").RunCommand(t.Context(), bson.M{"serverStatus": 1}).Err(); err != nil {
			t.Errorf("serverStatus on %s: %v", name, err)
		}
		client.Disconnect(context.Background())
		if err := d.Stop(); err != nil {
			t.Error(err)
		}
		_, err = os.Stat(data)
		if files := name == "reel"; files != (err == nil) || len(opened) != 1 || files != strings.HasPrefix(opened[0], data) || strings.HasPrefix(name, "sky") && opened[0] != name {
			t.Errorf("%s was opened in %q, and its folder is there: %v", name, opened, err)
		}
		if want := map[string]string{"reel": data, "sky://a:1,b:2/k?key=secret": "sky://a:1,b:2/k", "wire": "in the cloud"}[name]; cfg.dataLocation() != want {
			t.Errorf("the data of %s are %q", name, cfg.dataLocation())
		}
		if flag := cfg.NeedsNoFolder(); flag != map[string]string{"sky://a:1,b:2/k?key=secret": "--storage sky", "wire": "--storage wire"}[name] {
			t.Errorf("%q makes --data useless on %s", flag, name)
		}
	}
	cfg := Config{Storage: "tape", engines: list}
	if _, err := cfg.engine(); err == nil || !strings.Contains(err.Error(), "memory or pebble or reel or sky://… or wire") {
		t.Errorf("an unknown engine: %v", err)
	}
}
