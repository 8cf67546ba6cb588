package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// verbOut runs a verb and returns its exit status and all that it has printed.
func verbOut(t *testing.T, name string, args ...string) (status int, out string) {
	t.Helper()
	var b strings.Builder
	status = verbStatus(t, name, "", &b, &b, args...)
	return status, b.String()
}

// A collection comes back with options, indexes, shard key and throughput, and only where
// nothing is in its place.
func TestRestoreCollection(t *testing.T) {
	dir := t.TempDir()
	to := filepath.Join(dir, "backups")
	d := startWith(t, "--data", filepath.Join(dir, "data"))
	client, err := mongo.Connect(options.Client().ApplyURI(d.URI()))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Disconnect(t.Context())
	db := client.Database("shop")
	must := func(db *mongo.Database, cmd bson.D) bson.Raw {
		t.Helper()
		reply, err := db.RunCommand(t.Context(), cmd).Raw()
		if err != nil {
			t.Fatal(err)
		}
		return reply
	}
	must(db, bson.D{{Key: "create", Value: "orders"}, {Key: "validator", Value: bson.D{{Key: "n", Value: bson.D{{Key: "$gte", Value: 0}}}}}})
	must(client.Database("admin"), bson.D{{Key: "shardCollection", Value: "shop.orders"}, {Key: "key", Value: bson.D{{Key: "n", Value: "hashed"}}}})
	must(db, bson.D{{Key: "customAction", Value: "UpdateCollection"}, {Key: "collection", Value: "orders"}, {Key: "autoScaleSettings", Value: bson.D{{Key: "maxThroughput", Value: 20000}}}})
	must(db, bson.D{{Key: "createIndexes", Value: "orders"}, {Key: "indexes", Value: bson.A{bson.D{{Key: "key", Value: bson.D{{Key: "m", Value: -1}}}, {Key: "name", Value: "m"}, {Key: "sparse", Value: true}}}}})
	must(db, bson.D{{Key: "create", Value: "view"}, {Key: "viewOn", Value: "orders"}, {Key: "pipeline", Value: bson.A{}}})
	for i := range 50 {
		must(db, bson.D{{Key: "insert", Value: "orders"}, {Key: "documents", Value: bson.A{bson.D{{Key: "_id", Value: i}, {Key: "n", Value: i}, {Key: "m", Value: i}}}}})
	}
	if status, out := verbOut(t, "backup", "--to", to, d.URI()); status != 0 {
		t.Fatal(out)
	}
	if status, out := verbOut(t, "restore", "--from", to, "--ns", "shop.orders", d.URI()); status != 1 || !strings.Contains(out, "shop.orders is there") {
		t.Errorf("status %d: %s", status, out)
	}
	must(db, bson.D{{Key: "drop", Value: "orders"}})
	for _, args := range [][]string{{"--ns", "shop.orders"}, {"--ns", "shop", "--rename", "shop=then"}} {
		if status, out := verbOut(t, "restore", append(append([]string{"--from", to}, args...), d.URI())...); status != 0 {
			t.Fatal(out)
		}
	}
	for _, name := range []string{"shop", "then"} {
		db := client.Database(name)
		got := must(db, bson.D{{Key: "customAction", Value: "GetCollection"}, {Key: "collection", Value: "orders"}, {Key: "showIndexes", Value: true}}).String()
		for _, want := range []string{`"n": "hashed"`, `"maxThroughput"`, `"20000"`, `"name": "m"`} {
			if !strings.Contains(got, want) {
				t.Errorf("%s: no %s in %s", name, want, got)
			}
		}
		if n, err := db.Collection("orders").CountDocuments(t.Context(), bson.D{}); err != nil || n != 50 {
			t.Errorf("%s: %d documents, %v", name, n, err)
		}
		if _, err := db.Collection("orders").InsertOne(t.Context(), bson.D{{Key: "n", Value: -1}}); err == nil {
			t.Errorf("%s: the validator is gone", name)
		}
	}
	if n, err := client.Database("then").Collection("view").CountDocuments(t.Context(), bson.D{}); err != nil || n != 50 {
		t.Errorf("the view shows %d documents, %v", n, err)
	}
	if status, out := verbOut(t, "restore", "--from", to, "--at", "2 days ago", "--data", filepath.Join(dir, "new")); status != 1 || !strings.Contains(out, "no backup covers this moment") {
		t.Errorf("status %d: %s", status, out)
	}
	if status, out := verbOut(t, "backup", "verify", to); status != 0 || !strings.Contains(out, "all files are as they were written") {
		t.Errorf("status %d: %s", status, out)
	}
	if status, out := verbOut(t, "backup", "verify", dir); status != 2 || !strings.Contains(out, "there are no backups in it") {
		t.Errorf("status %d: %s", status, out)
	}
}

// What a policy cannot do is seen by the doctor.
func TestBackupFails(t *testing.T) {
	dir := t.TempDir()
	to := filepath.Join(dir, "file")
	if err := os.WriteFile(to, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	d := startWith(t, "--data", filepath.Join(dir, "data"), "--backup-to", to)
	for begun := time.Now(); ; {
		status, out := doctored(t, d.URI())
		if status == 1 && strings.Contains(out, "the last one failed") {
			return
		}
		if time.Since(begun) > time.Minute {
			t.Fatalf("status %d: %s", status, out)
		}
	}
}

// A server without files, and one that is asked for a folder of others, say so.
func TestBackupRefused(t *testing.T) {
	dir := t.TempDir()
	d := startWith(t, "--memory", "--cosmos-listen", "127.0.0.1:0")
	if status, out := verbOut(t, "backup", "--to", dir, d.URI()); status != 1 || !strings.Contains(out, "has no files to copy") {
		t.Errorf("status %d: %s", status, out)
	}
	if status, out := verbOut(t, "backup", "--to", dir, d.CosmosURI()); status != 1 || !strings.Contains(out, "is not known") {
		t.Errorf("status %d: %s", status, out)
	}
	if err := os.WriteFile(filepath.Join(dir, "mine"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	disk := startWith(t, "--data", filepath.Join(t.TempDir(), "data"))
	if status, out := verbOut(t, "backup", "--to", dir, disk.URI()); status != 1 || !strings.Contains(out, "what is in it are no backups") {
		t.Errorf("status %d: %s", status, out)
	}
	if status, out := verbOut(t, "backup", disk.URI()); status != 1 || !strings.Contains(out, "--backup-to") {
		t.Errorf("status %d: %s", status, out)
	}
}
