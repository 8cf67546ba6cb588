package firstscripts

import (
	"bytes"
	"compress/gzip"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/cantledb/cantle/serve/daemon"
)

// begin starts a server with a folder of scripts, and returns it, its log, and the error of the start.
func begin(t *testing.T, folder string, args ...string) (d *daemon.Daemon, log *bytes.Buffer, err error) {
	t.Helper()
	cfg := daemon.Config{FirstScripts: Run}
	f := pflag.NewFlagSet("", pflag.ContinueOnError)
	cfg.Flags(f)
	if err := f.Parse(append([]string{"--listen", "127.0.0.1:0", "--drain", "1s", "--initdb-folder", folder}, args...)); err != nil {
		t.Fatal(err)
	}
	log = &bytes.Buffer{}
	d, err = daemon.Start(context.Background(), cfg, log)
	return d, log, err
}

// write writes files into a new folder, and returns the folder.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if strings.HasSuffix(name, ".gz") {
			var b bytes.Buffer
			z := gzip.NewWriter(&b)
			z.Write([]byte(text))
			z.Close()
			text = b.String()
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// Scripts run once, in the order of their names, as the first user, before clients are accepted: users, collections,
// indexes and documents as scripts of MongoDB's image make them.
func TestRun(t *testing.T) {
	t.Setenv("SHOP_PASSWORD", "secret")
	folder := write(t, map[string]string{
		"01-users.js": `
// the user of the application
db = db.getSiblingDB('shop');
db.createUser({ user: "app", pwd: process.env.SHOP_PASSWORD, roles: [{ role: "readWrite", db: "shop" }] });
db.createCollection("orders", { validator: { $jsonSchema: { required: ["total"] } } });
const r = db.orders.insertMany([{ _id: 1, total: 5 }, { _id: 2, total: NumberLong(7), at: new Date(0), tags: ["a"] }, { total: 1.5 }]);
print("ids", Object.keys(r.insertedIds).length);
db.orders.createIndex({ total: -1 }, { unique: true });
db.log.items.insertOne({ _id: "x", n: db.orders.countDocuments({ total: { $gt: 2 } }) });
db.orders.updateOne({ _id: 1 }, { $set: { seen: true }, $inc: { total: 10 } });
db.getCollection("orders").find({ _id: { $lt: 3 } }).sort({ _id: -1 }).forEach(function (d) { print(d._id); });
try { db.orders.insertOne({ _id: 1, total: 9 }); print("wrong"); } catch (e) { print("duplicate: " + e.message.includes("E11000")); }
if (db.orders.findOne({ _id: 1 }).total !== 15) throw new Error("the update is missing");
`,
		"02-shop.customers.json": `[{"_id": 1, "name": "a"}, {"_id": 2, "name": "b"}]`,
		"03-notes.ndjson.gz":     "{_id: ObjectId('6123456789abcdef01234567')}\n{\"_id\": 2}\n",
		"04-run.sh":              "echo hi",
		"05-capitals.JSON":       `{"_id": 1}`,
		"06-capitals.JS":         "db.capitals.insertOne({_id: 2})",
		"README.md":              "text",
		"99-last.js":             `if (db.capitals.countDocuments() !== 2) throw new Error("endings in capitals"); db.first.insertOne({_id: 1, shop: db.getSiblingDB("shop").customers.countDocuments()})`,
	})
	data := t.TempDir()
	args := []string{"--data", data, "--initdb-root-username", "admin", "--initdb-root-password", "pwd", "--initdb-database", "start"}
	d, log, err := begin(t, folder, args...)
	if err != nil {
		t.Fatal(err, log)
	}
	for _, want := range []string{"ids 3", "file=01-users.js", "duplicate: true", "shop.customers: 2 documents", "start.notes: 2 documents", "shell scripts are not run", "ignored: files"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log has no %q:\n%s", want, log)
		}
	}
	client, err := mongo.Connect(options.Client().ApplyURI(d.URI()).SetAuth(options.Credential{Username: "app", Password: "secret", AuthSource: "shop"}))
	if err != nil {
		t.Fatal(err)
	}
	shop := client.Database("shop")
	var order struct {
		Total any
		Seen  bool
	}
	if err := shop.Collection("orders").FindOne(t.Context(), bson.D{{Key: "_id", Value: 1}}).Decode(&order); err != nil || order.Total != int32(15) || !order.Seen {
		t.Errorf("%+v %v", order, err)
	}
	if n, err := shop.Collection("customers").CountDocuments(t.Context(), bson.D{}); err != nil || n != 2 {
		t.Errorf("%d customers, %v", n, err)
	}
	if n, err := shop.Collection("log.items").CountDocuments(t.Context(), bson.D{{Key: "n", Value: 2}}); err != nil || n != 1 {
		t.Errorf("%d items, %v", n, err)
	}
	if _, err := shop.Collection("orders").InsertOne(t.Context(), bson.D{{Key: "x", Value: 1}}); err == nil {
		t.Error("there is no validator")
	}
	if err := client.Disconnect(t.Context()); err != nil {
		t.Error(err)
	}
	if err := d.Stop(); err != nil {
		t.Error(err)
	}
	if d, log, err = begin(t, folder, args...); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(log.String(), "01-users.js") || !strings.Contains(log.String(), "--initdb-folder is ignored") {
		t.Errorf("the scripts run again, or the log has no line for the ignored folder:\n%s", log)
	}
	if err := d.Stop(); err != nil {
		t.Error(err)
	}
}

// A script that fails ends the start, and the next start is refused, because the database is not what the scripts were
// to make. A folder that does not exist has no scripts.
func TestFailure(t *testing.T) {
	data := t.TempDir()
	folder := write(t, map[string]string{"a.js": `db.c.insertOne({_id: 1}); db.c.insertOne({_id: 1})`})
	for _, want := range []string{"--initdb-folder: a.js: ", "the scripts of --initdb-folder did not end at the first start"} {
		if d, _, err := begin(t, folder, "--data", data); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v %v, want %s", d, err, want)
		}
	}
	for name, text := range map[string]string{"b.json": `{"_id": 1`, "c.js": "while (true) {", "d.js": "missing.call()"} {
		if d, _, err := begin(t, write(t, map[string]string{name: text}), "--memory"); err == nil || !strings.Contains(err.Error(), name+": ") {
			t.Errorf("%s: %v %v", name, d, err)
		}
	}
	d, _, err := begin(t, filepath.Join(folder, "none"), "--memory")
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Stop(); err != nil {
		t.Error(err)
	}
}

// A start that fails before its scripts begin does not lose them: the next start runs them, whether the database was
// created before the failure or not.
func TestFailureBeforeScripts(t *testing.T) {
	folder := write(t, map[string]string{"a.js": `db.c.insertOne({_id: 1})`})
	login := []string{"--initdb-root-username", "u", "--initdb-root-password-file", filepath.Join(folder, "none")}
	for name, args := range map[string][]string{"not a folder": {"--initdb-folder", filepath.Join(folder, "a.js")}, "no password": login} {
		data := t.TempDir()
		if d, _, err := begin(t, folder, append([]string{"--data", data}, args...)...); err == nil {
			t.Fatalf("%s: %v", name, d)
		}
		if _, err := os.Stat(filepath.Join(data, "store")); (err == nil) != (name == "no password") {
			t.Errorf("%s: the database exists: %v", name, err)
		}
		d, log, err := begin(t, folder, "--data", data)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if !strings.Contains(log.String(), "the script has run") {
			t.Errorf("%s: the script did not run:\n%s", name, log)
		}
		if err := d.Stop(); err != nil {
			t.Error(err)
		}
	}
}

// The error of a file of documents has none of their values.
func TestErrorsHaveNoValues(t *testing.T) {
	for name, text := range map[string]string{
		"text.json":  `secretvalue`,
		"later.json": `{"_id": 1} secretvalue`,
		"inner.json": `{"_id": secretvalue}`,
		"twice.json": `[{"_id": "secretvalue"}, {"_id": "secretvalue"}]`,
		"twice.js":   `db.c.insertOne({_id: "secretvalue"}); db.c.insertOne({_id: "secretvalue"})`,
	} {
		d, log, err := begin(t, write(t, map[string]string{name: text}), "--memory")
		if err == nil {
			t.Fatalf("%s: %v", name, d)
		}
		if strings.Contains(err.Error()+log.String(), "secretvalue") || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
		if strings.HasPrefix(name, "twice") && !strings.Contains(err.Error(), "E11000") {
			t.Errorf("%s: the error has no reason: %v", name, err)
		}
	}
}
