package cli

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"

	driver "go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// fillPool makes a database whose collections share throughput, except one.
func fillPool(t *testing.T, db *mongo.Database, offer string) {
	t.Helper()
	run(t, db, `{customAction: "CreateDatabase", `+offer+`}`)
	for _, command := range []string{`{create: "a"}`, `{customAction: "CreateCollection", collection: "b", shardKey: "k"}`, `{customAction: "CreateCollection", collection: "own", shardKey: "k", offerThroughput: 500}`} {
		run(t, db, command)
	}
	for _, name := range []string{"a", "b", "own"} {
		if _, err := db.Collection(name).InsertOne(t.Context(), driver.M{"_id": 1, "k": 1}); err != nil {
			t.Fatal(err)
		}
	}
}

// wantPool checks the throughput of a database that fillPool made, and that of its collections.
func wantPool(t *testing.T, db *mongo.Database, want string) {
	t.Helper()
	shows := func(command string) string {
		reply := run(t, db, command)
		return fmt.Sprint(reply["provisionedThroughput"], reply["autoScaleSettings"])
	}
	if got := shows(`{customAction: "GetDatabase"}`); got != want {
		t.Errorf("%s has the throughput %s, want %s", db.Name(), got, want)
	}
	for name, want := range map[string]string{"a": "<nil> <nil>", "b": "<nil> <nil>", "own": "500 <nil>"} {
		if got := shows(`{customAction: "GetCollection", collection: "` + name + `"}`); got != want {
			t.Errorf("%s.%s has the throughput %s, want %s", db.Name(), name, got, want)
		}
	}
}

// A restore from a folder or an archive sets the throughput that the collections of a database share, through either
// address; an existing database keeps its own throughput.
func TestSharedThroughput(t *testing.T) {
	s := startBoth(t, "--default-throughput", "700") // of new collections that share nothing
	manual, auto := s.account.Client().Database("manual"), s.db.Client().Database("auto")
	fillPool(t, manual, "offerThroughput: 1200")
	fillPool(t, auto, "autoScaleSettings: {maxThroughput: 5000}")
	archive := filepath.Join(t.TempDir(), "all.archive")
	verb(t, "dump", "--archive", archive, s.CosmosURI())
	dir := t.TempDir()
	verb(t, "dump", "--out", dir, s.URI())
	for i, uri := range []string{s.URI(), s.CosmosURI()} {
		for j, from := range [][]string{{uri, dir}, {"--archive", archive, uri}} {
			for name, want := range map[string]string{"manual": "1200 <nil>", "auto": fmt.Sprint(500, driver.D{{Key: "maxThroughput", Value: int32(5000)}})} {
				to := fmt.Sprintf("%s%d%d", name, i, j)
				if code, said := restored(t, append([]string{"--db", name, "--rename", name + "=" + to}, from...)...); code != 0 || strings.Contains(said, "keeps its throughput") {
					t.Fatalf("%s: status %d\n%s", to, code, said)
				}
				wantPool(t, s.db.Client().Database(to), want)
			}
		}
	}
	run(t, manual, `{customAction: "UpdateDatabase", offerThroughput: 800}`)
	run(t, manual, `{drop: "a"}`)
	code, said := restored(t, "--db", "manual", s.URI(), dir)
	if code != 0 || strings.Count(said, `manual exists and keeps its throughput; in the dump its collections share {"offerThroughput":1200}`) != 1 {
		t.Errorf("status %d\n%s", code, said)
	}
	wantPool(t, manual, "800 <nil>")
	var out strings.Builder
	if code := verbStatus(t, "dump", "", io.Discard, &out, "--for", "mongodb", "--db", "manual", "--out", t.TempDir(), s.URI()); code != 0 ||
		strings.Count(out.String(), `  manual: the throughput {"offerThroughput":800} that its collections share`) != 1 {
		t.Errorf("status %d\n%s", code, out.String())
	}
}

// A restore of a database from a backup sets the throughput that its collections share.
func TestSharedThroughputOfBackup(t *testing.T) {
	dir := t.TempDir()
	to := filepath.Join(dir, "backups")
	d := startWith(t, "--data", filepath.Join(dir, "data"), "--backup-to", to, "--backup-interval", "0")
	client, err := mongo.Connect(options.Client().ApplyURI(d.URI()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Disconnect(t.Context()) })
	fillPool(t, client.Database("shop"), "offerThroughput: 1200")
	if status, out := verbOut(t, "backup", "--to", to, d.URI()); status != 0 {
		t.Fatal(out)
	}
	if status, out := verbOut(t, "restore", "--from", to, "--ns", "shop", "--rename", "shop=then", d.URI()); status != 0 {
		t.Fatal(out)
	}
	wantPool(t, client.Database("then"), "1200 <nil>")
}
