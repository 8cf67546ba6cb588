package cli

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// verbOut runs a verb and returns its exit status, and its output and error output together.
func verbOut(t *testing.T, name string, args ...string) (status int, out string) {
	t.Helper()
	var b strings.Builder
	status = verbStatus(t, name, "", &b, &b, args...)
	return status, b.String()
}

// A collection is restored from a backup with its options, indexes, shard key and throughput, and only if no
// collection of that name exists.
func TestRestoreCollection(t *testing.T) {
	dir := t.TempDir()
	to := filepath.Join(dir, "backups")
	d := startWith(t, "--data", filepath.Join(dir, "data"), "--backup-to", to, "--backup-interval", "0")
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
	if status, out := verbOut(t, "restore", "--from", to, "--ns", "shop.orders", d.URI()); status != 1 || !strings.Contains(out, "shop.orders exists") {
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
	if status, out := verbOut(t, "backup", "verify", to); status != 0 || !strings.Contains(out, "all files of complete backups are intact") {
		t.Errorf("status %d: %s", status, out)
	}
	if status, out := verbOut(t, "restore", "--from", to, "--ns", "shop.nope", d.URI()); status != 1 || !strings.Contains(out, "no selected collection existed at ") || !strings.Contains(out, "; these existed: shop.orders, shop.view") {
		t.Errorf("status %d: %s", status, out)
	}
	must(db, bson.D{{Key: "insert", Value: "orders"}, {Key: "documents", Value: bson.A{bson.D{{Key: "_id", Value: 50}, {Key: "n", Value: 50}}}}})
	if status, out := verbOut(t, "backup", "--to", to, d.URI()); status != 0 {
		t.Fatal(out)
	}
	damaged, err := filepath.Glob(filepath.Join(to, "*", "base-000002", "MANIFEST-*"))
	if err != nil || len(damaged) != 1 {
		t.Fatal(damaged, err)
	}
	text, err := os.ReadFile(damaged[0])
	if err != nil {
		t.Fatal(err)
	}
	text[len(text)/2]++
	if err := os.WriteFile(damaged[0], text, 0o600); err != nil {
		t.Fatal(err)
	}
	// The first backup and the log still lead to every moment.
	if status, out := verbOut(t, "backup", "verify", to); status != 1 || !strings.Contains(out, "the checksum does not match") ||
		!strings.Contains(out, "can still be restored") || !strings.Contains(out, "1 finding: moments that need one of these files cannot be restored") {
		t.Errorf("status %d: %s", status, out)
	}
	if status, out := verbOut(t, "backup", "verify", "--json", to); status != 1 || !strings.Contains(out, `"restorable":[{"timeline":`) || !strings.Contains(out, `"findings":[{"kind":"damaged",`) {
		t.Errorf("status %d: %s", status, out)
	}
	if status, out := verbOut(t, "restore", "--from", to, "--data", filepath.Join(dir, "whole")); status != 0 || !strings.Contains(out, "backup 2 cannot be used: ") {
		t.Errorf("status %d: %s", status, out)
	}
	if status, out := verbOut(t, "check", "--data", filepath.Join(dir, "whole")); status != 0 || !strings.Contains(out, "101 documents, ") {
		t.Errorf("status %d: %s", status, out)
	}
	if damaged, err = filepath.Glob(filepath.Join(to, "*", "base-000001", "MANIFEST-*")); err != nil || os.Remove(damaged[0]) != nil {
		t.Fatal(damaged, err)
	}
	if status, out := verbOut(t, "backup", "verify", to); status != 1 || !strings.Contains(out, "no moment can be restored") {
		t.Errorf("status %d: %s", status, out)
	}
	if status, out := verbOut(t, "restore", "--from", to, "--data", filepath.Join(dir, "none")); status != 1 || !strings.Contains(out, "no backup covers this moment") && !strings.Contains(out, "has no complete backup") {
		t.Errorf("status %d: %s", status, out)
	}
	if status, out := verbOut(t, "backup", "verify", dir); status != 2 || !strings.Contains(out, "there are no backups in it") {
		t.Errorf("status %d: %s", status, out)
	}
}

// The doctor reports failed backups of a policy.
func TestBackupFails(t *testing.T) {
	dir := t.TempDir()
	to := filepath.Join(dir, "file")
	if err := os.WriteFile(to, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	d := startWith(t, "--data", filepath.Join(dir, "data"), "--backup-to", to)
	for begun := time.Now(); ; {
		status, out := doctored(t, d.URI())
		if status == 1 && strings.Contains(out, "the last backup failed") {
			return
		}
		if time.Since(begun) > time.Minute {
			t.Fatalf("status %d: %s", status, out)
		}
	}
}

// A backup is refused by a server without files, through the Cosmos address, and by a server without a folder for
// backups (--backup-to). Nothing is written then.
func TestBackupRefused(t *testing.T) {
	dir := t.TempDir()
	d := startWith(t, "--memory", "--cosmos-listen", "127.0.0.1:0")
	if status, out := verbOut(t, "backup", "--to", dir, d.URI()); status != 1 || !strings.Contains(out, "has no files to copy") {
		t.Errorf("status %d: %s", status, out)
	}
	if status, out := verbOut(t, "backup", "--to", dir, d.CosmosURI()); status != 1 || !strings.Contains(out, "is not known") {
		t.Errorf("status %d: %s", status, out)
	}
	disk := startWith(t, "--data", filepath.Join(t.TempDir(), "data"))
	for _, args := range [][]string{{"--to", dir}, {"--to", "weekly"}, nil} {
		if status, out := verbOut(t, "backup", append(args, disk.URI())...); status != 1 || !strings.Contains(out, "start it with --backup-to FOLDER") {
			t.Errorf("%v: status %d: %s", args, status, out)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("the server wrote %v, %v", left, err)
	}
}

// The folder that a client names for a backup must be the server's folder for backups or one directly in it, whatever
// path or link leads there.
func TestBackupPlaces(t *testing.T) {
	dir := t.TempDir()
	to, real, data := filepath.Join(dir, "link"), filepath.Join(dir, "backups"), filepath.Join(dir, "data")
	other := filepath.Join(dir, "other")
	if err := errors.Join(os.Mkdir(real, 0o700), os.Mkdir(other, 0o700), os.Symlink(real, to), os.Symlink(other, filepath.Join(real, "out")),
		os.Symlink(data, filepath.Join(real, "inside")), os.Symlink(filepath.Join(dir, "nowhere"), filepath.Join(real, "dangling"))); err != nil {
		t.Fatal(err)
	}
	d := startWith(t, "--data", data, "--backup-to", to, "--backup-interval", "0")
	client, err := mongo.Connect(options.Client().ApplyURI(d.URI()))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Disconnect(t.Context())
	ask := func(place string) (where string, err error) {
		var reply struct{ To string }
		err = client.Database("admin").RunCommand(t.Context(), bson.D{{Key: "customAction", Value: "Backup"}, {Key: "to", Value: place}}).Decode(&reply)
		return reply.To, err
	}
	for _, place := range []string{other, filepath.Join(real, "out"), "out", "inside", "dangling", "..", "../other", "weekly/deep", filepath.Join(to, "..", "other"), "/", data,
		filepath.Join(data, "store", "inside"), ".hidden", "x.part", "lost+found", "a\x00b"} {
		if where, err := ask(place); err == nil || !strings.Contains(err.Error(), "BadValue") {
			t.Errorf("%q: a backup in %q, %v", place, where, err)
		}
	}
	if err := errors.Join(os.Remove(filepath.Join(real, "out")), os.Remove(filepath.Join(real, "inside")), os.Remove(filepath.Join(real, "dangling"))); err != nil {
		t.Fatal(err)
	}
	for place, want := range map[string]string{"weekly": filepath.Join(to, "weekly"), filepath.Join(real, "nightly"): filepath.Join(to, "nightly"), ".": to, real: to, to: to, "": to} {
		if where, err := ask(place); err != nil || where != want {
			t.Errorf("%q: a backup in %q, %v; want %q", place, where, err, want)
		}
	}
	for _, folder := range []string{to, filepath.Join(to, "weekly")} {
		if status, out := verbOut(t, "backup", "verify", folder); status != 0 {
			t.Errorf("%s: status %d: %s", folder, status, out)
		}
	}
	if status, out := verbOut(t, "backup", "--to", "weekly", d.URI()); status != 0 || !strings.Contains(out, filepath.Join("link", "weekly")+": backup 2") {
		t.Errorf("status %d: %s", status, out)
	}
	if left, err := os.ReadDir(other); err != nil || len(left) > 0 {
		t.Errorf("elsewhere there are %v, %v", left, err)
	}
}
