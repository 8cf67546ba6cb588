package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	driver "go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/ejson"
)

// fillShop makes a database with sharded, capped and validated collections, a view, indexes, and an _id of many
// types.
func fillShop(t *testing.T, db *mongo.Database) {
	t.Helper()
	run(t, db.Client().Database("admin"), `{shardCollection: "test.sharded", key: {k: "hashed"}, numInitialChunks: 3}`)
	run(t, db.Client().Database("admin"), `{shardCollection: "test.trips", key: {day: "hashed"}, suffix: {from: "vin", buckets: 16}, numInitialChunks: 3}`)
	run(t, db.Client().Database("admin"), `{shardCollection: "test.dealt", key: {day: "hashed"}, suffix: {random: true, buckets: 16}, numInitialChunks: 3}`)
	run(t, db, `{create: "capped", capped: true, size: 100000}`)
	run(t, db, `{create: "strict", validator: {n: {$type: "int"}}, collation: {locale: "en", strength: 2}}`)
	run(t, db, `{createIndexes: "strict", indexes: [{key: {s: 1}, name: "simple", collation: {locale: "simple"}}, {key: {t: 1}, name: "default"}]}`)
	run(t, db, `{create: "view", viewOn: "plain", pipeline: [{$match: {n: {$lt: 10}}}]}`)
	run(t, db, `{create: "empty"}`)
	run(t, db, `{createIndexes: "plain", indexes: [{key: {n: 1, s: -1}, name: "both"}, {key: {u: 1}, name: "u", unique: true, sparse: true}]}`)
	var docs, keyed, trips []any
	for i := range 2500 {
		docs = append(docs, driver.M{"_id": i, "n": i, "s": driver.A{"x", driver.M{"y": int64(i)}}, "d": driver.DateTime(i * 1000)})
		keyed = append(keyed, driver.M{"k": i})
		trips = append(trips, driver.M{"_id": i, "day": i % 2, "vin": i % 100})
	}
	// An _id of many types: the dump reads all of them in the order of _id.
	docs = append(docs, driver.M{"_id": "text"}, driver.M{"_id": driver.NewObjectID()}, driver.M{"_id": driver.M{"a": 1}},
		driver.M{"_id": nil}, driver.M{"_id": true}, driver.M{"_id": driver.MinKey{}}, driver.M{"_id": driver.MaxKey{}})
	for name, list := range map[string][]any{"plain": docs, "sharded": keyed, "trips": trips, "dealt": trips, "strict": {driver.M{"n": int32(1)}}, "capped": {driver.M{"n": 2}, driver.M{"n": 1}}, "a/b%c": {driver.M{"n": 1}}} {
		if _, err := db.Collection(name).InsertMany(t.Context(), list); err != nil {
			t.Fatal(err)
		}
	}
}

// sums returns the dbHash of each collection except system.views.
func sums(t *testing.T, db *mongo.Database) any {
	t.Helper()
	var out []driver.E
	for _, e := range run(t, db, `{dbHash: 1}`)["collections"].(driver.D) {
		if e.Key != "system.views" { // it has the database's name inside
			out = append(out, e)
		}
	}
	return out
}

// indexes returns the indexes of a collection by name.
func indexes(t *testing.T, db *mongo.Database, coll string) map[string]driver.M {
	t.Helper()
	c, err := db.Collection(coll).Indexes().List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]driver.M{}
	for c.Next(t.Context()) {
		var x driver.M
		if err := c.Decode(&x); err != nil {
			t.Fatal(err)
		}
		out[x["name"].(string)] = x
	}
	return out
}

// same fails the test unless the database to has the contents of the database from, which fillShop filled.
func same(t *testing.T, from, to *mongo.Database) {
	t.Helper()
	if a, b := sums(t, from), sums(t, to); !reflect.DeepEqual(a, b) {
		t.Errorf("%s:\n%v\n%s:\n%v", from.Name(), a, to.Name(), b)
	}
	for _, coll := range []string{"plain", "strict"} {
		if a, b := indexes(t, from, coll), indexes(t, to, coll); !reflect.DeepEqual(a, b) {
			t.Errorf("indexes of %s: %v and %v", coll, a, b)
		}
	}
	if n, err := to.Collection("trips").CountDocuments(t.Context(), driver.M{"day": 1, "vin": 7}); err != nil || n != 25 {
		t.Errorf("trips: %d of one day and vin, %v", n, err)
	}
	if n, err := to.Collection("view").CountDocuments(t.Context(), driver.D{}); err != nil || n != 10 {
		t.Errorf("view: %d %v", n, err)
	}
	if err := to.RunCommand(t.Context(), driver.D{{Key: "insert", Value: "strict"}, {Key: "documents", Value: driver.A{driver.M{"n": "x"}}}}).Err(); err == nil {
		t.Error("the validator was lost")
	}
}

// sameKeys fails the test unless the sharded collections of fillShop have their original shard keys in the database to.
func sameKeys(t *testing.T, to *mongo.Database) {
	t.Helper()
	for coll, key := range map[string]string{"sharded": `{"k":"hashed"}`, "trips": `{"day":"hashed","vin":{"buckets":16}}`, "dealt": `{"day":"hashed","_id":{"buckets":16}}`} {
		entry := struct{ Key driver.Raw }{}
		if err := to.Client().Database("config").Collection("collections").FindOne(t.Context(), driver.M{"_id": to.Name() + "." + coll}).Decode(&entry); err != nil || ejson.String(bson.Raw(entry.Key)) != key {
			t.Errorf("%s.%s has the shard key %s, %v", to.Name(), coll, entry.Key, err)
		}
	}
}

// verb runs a verb, such as dump, that must succeed, and returns the text that it printed.
func verb(t *testing.T, name string, args ...string) string {
	t.Helper()
	var out strings.Builder
	if code := verbStatus(t, name, "", &out, &out, args...); code != 0 {
		t.Fatalf("%s %v: status %d\n%s", name, args, code, out.String())
	}
	return out.String()
}

func TestDumpAndRestore(t *testing.T) {
	t.Parallel()
	uri, db := start(t)
	fillShop(t, db)
	dir := t.TempDir()
	for i, how := range [][2][]string{
		{{"--out", dir + "/plain"}, {uri, dir + "/plain"}},
		{{"--gzip", "--out", dir + "/gz"}, {uri, dir + "/gz"}},
		{{"--archive", dir + "/a"}, {"--archive", dir + "/a", uri}},
		{{"--gzip", "--archive", dir + "/az"}, {"--gzip", "--archive", dir + "/az", uri}},
	} {
		to := db.Client().Database(fmt.Sprintf("copy%d", i))
		verb(t, "dump", append(how[0], "--db", "test", uri)...)
		verb(t, "restore", append([]string{"--rename", "test=" + to.Name()}, how[1]...)...)
		same(t, db, to)
		sameKeys(t, to)
		again := verb(t, "restore", append([]string{"--rename", "test=" + to.Name()}, how[1]...)...)
		if !strings.Contains(again, "0 documents restored") {
			t.Errorf("a second time:\n%s", again)
		}
		dropped := verb(t, "restore", append([]string{"--drop", "--rename", "test=" + to.Name()}, how[1]...)...)
		if !strings.Contains(dropped, "0 there already, 0 failed") {
			t.Errorf("with --drop:\n%s", dropped)
		}
		same(t, db, to)
		n, err := db.Client().Database("config").Collection("collections").CountDocuments(t.Context(), driver.M{"_id": to.Name() + ".sharded"})
		if err != nil || n != 1 {
			t.Errorf("%s.sharded is not sharded: %v", to.Name(), err)
		}
	}
}

func TestDumpResumes(t *testing.T) {
	uri, db := start(t)
	fillShop(t, db)
	dir := filepath.Join(t.TempDir(), "d")
	verb(t, "dump", "--out", dir, uri)
	whole, err := os.ReadFile(filepath.Join(dir, "test", "plain.bson"))
	if err != nil {
		t.Fatal(err)
	}
	// Interruptions at different positions, also within a document.
	for _, cut := range []int{0, 3, 1000, len(whole) / 2, len(whole) - 30, len(whole) - 1} {
		if err := os.Remove(filepath.Join(dir, "test", "plain.bson")); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "test", "plain.bson.part"), whole[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		said := verb(t, "dump", "--resume", "--out", dir, uri)
		if !strings.Contains(said, "test.sharded has been dumped already") {
			t.Error(said)
		}
		if got, err := os.ReadFile(filepath.Join(dir, "test", "plain.bson")); err != nil || string(got) != string(whole) {
			t.Fatalf("cut at %d: %d bytes, %d before: %v", cut, len(got), len(whole), err)
		}
	}
}

func TestRestoreResumes(t *testing.T) {
	t.Parallel()
	uri, db := start(t)
	fillShop(t, db)
	dir := t.TempDir()
	verb(t, "dump", "--out", dir+"/d", uri)
	if err := os.WriteFile(dir+"/journal", []byte("1000 test.plain\n2000 test.plain\n17"), 0o600); err != nil {
		t.Fatal(err)
	}
	verb(t, "restore", "--rename", "test=copy", "--resume", dir+"/journal", uri, dir+"/d")
	n, err := db.Client().Database("copy").Collection("plain").CountDocuments(t.Context(), driver.D{})
	if err != nil || n != 507 {
		t.Errorf("%d documents after the first 2000: %v", n, err)
	}
	if text, err := os.ReadFile(dir + "/journal"); err != nil || !strings.Contains(string(text), "2507 test.plain") {
		t.Errorf("%s %v", text, err)
	}
}

func TestDamagedDumps(t *testing.T) {
	uri, db := start(t)
	fillShop(t, db)
	dir := t.TempDir()
	verb(t, "dump", "--archive", dir+"/a", uri)
	whole, err := os.ReadFile(dir + "/a")
	if err != nil {
		t.Fatal(err)
	}
	flipped := append([]byte{}, whole...)
	flipped[len(flipped)/2] ^= 1
	for name, data := range map[string][]byte{"short": whole[:len(whole)/2], "flipped": flipped, "other": []byte("hello there"), "empty": nil} {
		if err := os.WriteFile(dir+"/b", data, 0o600); err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		if code := verbStatus(t, "restore", "", io.Discard, &out, "--rename", "test=x"+name, "--archive", dir+"/b", uri); code != 1 {
			t.Errorf("%s: status %d\n%s", name, code, out.String())
		}
	}
}

// Writes of an import into a collection with too little throughput are throttled, and retried until they succeed.
func TestTransferWaits(t *testing.T) {
	t.Parallel()
	uri, db := start(t)
	run(t, db, `{customAction: "CreateCollection", collection: "slow", shardKey: "k", offerThroughput: 1000}`)
	var lines strings.Builder
	for i := range 400 {
		fmt.Fprintf(&lines, "{\"_id\": %d, \"k\": %d, \"pad\": \"%s\"}\n", i, i, strings.Repeat("x", 500))
	}
	var out strings.Builder
	if code := verbStatus(t, "import", lines.String(), io.Discard, &out, uri, "test.slow"); code != 0 {
		t.Fatalf("status %d\n%s", code, out.String())
	}
	if !strings.Contains(out.String(), "400 documents imported, 0 there already, 0 failed") || !strings.Contains(out.String(), "throttled ") {
		t.Error(out.String())
	}
}

// If the user of an import may write but not read, documents whose _id exists are reported with the server's message.
func TestImportWithoutReading(t *testing.T) {
	uri, db := start(t, "--auth")
	admin := db.Client().Database("admin")
	run(t, admin, `{createUser: "root", pwd: "pwd", roles: ["root"]}`)
	client, err := mongo.Connect(options.Client().ApplyURI(strings.Replace(uri, "mongodb://", "mongodb://root:pwd@", 1)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Disconnect(t.Context()) })
	admin = client.Database("admin")
	run(t, admin, `{createRole: "inserts", privileges: [{resource: {db: "test", collection: ""}, actions: ["insert"]}], roles: []}`)
	run(t, admin, `{createUser: "writer", pwd: "pwd", roles: ["inserts"]}`)
	var out strings.Builder
	code := verbStatus(t, "import", `{"_id": 1} {"_id": 1}`, io.Discard, &out, strings.Replace(uri, "mongodb://", "mongodb://writer:pwd@", 1), "test.c")
	if code != 1 || !strings.Contains(out.String(), "1 document imported, 0 there already, 1 failed") || !strings.Contains(out.String(), "test.c: E11000 duplicate key error") {
		t.Errorf("status %d\n%s", code, out.String())
	}
}

func TestImportAndExport(t *testing.T) {
	uri, db := start(t)
	load := func(text string, args ...string) (int, string) {
		var out strings.Builder
		return verbStatus(t, "import", text, io.Discard, &out, append(args, uri, "test.c")...), out.String()
	}
	export := func(args ...string) string {
		var out, errs strings.Builder
		if code := verbStatus(t, "export", "", &out, &errs, append(args, uri, "test.c")...); code != 0 {
			t.Fatalf("%v: status %d\n%s", args, code, errs.String())
		}
		return out.String()
	}
	for _, c := range []struct {
		name, text string
		args       []string
		want       string // exported, in the order of _id
		says       string
	}{
		{"lines", "{\"_id\": 1, \"a\": {\"$numberLong\": \"5\"}}\n\n{\"_id\": 2}\n", nil, `{"_id":1,"a":5}` + "\n" + `{"_id":2}` + "\n", "2 documents imported"},
		{"array", "\ufeff [{\"_id\": 1}, {\"_id\": 2}]", nil, `{"_id":1}` + "\n" + `{"_id":2}` + "\n", "2 documents imported"},
		{"mongosh syntax", "{_id: 1, a: ISODate('2026-01-02T03:04:05Z')}", nil, `{"_id":1,"a":{"$date":"2026-01-02T03:04:05Z"}}` + "\n", "1 document imported"},
		{"twice", `{"_id": 1} {"_id": 1}`, nil, `{"_id":1}` + "\n", "1 document imported, 1 there already, 0 failed"},
		{"csv", "_id,a,b.c,b.d\n1,007,x,1.5\n2,,\"y, z\",-3000000000\n", []string{"--type", "csv", "--headerline"},
			`{"_id":1,"a":7,"b":{"c":"x","d":1.5}}` + "\n" + `{"_id":2,"a":"","b":{"c":"y, z","d":-3000000000}}` + "\n", "2 documents imported"},
		{"blanks", "_id,a\n1,\n", []string{"--type", "csv", "--headerline", "--ignoreBlanks"}, `{"_id":1}` + "\n", "1 document"},
		{"tsv", "1\tNaN\tInfinity\n", []string{"--type", "tsv", "--fields", "_id,a"}, `{"_id":1,"a":"NaN","field2":"Infinity"}` + "\n", "1 document"},
		{"types", "1,007,9,2020-01-02,1.50,true,ff\n", []string{"--type", "csv", "--columnsHaveTypes", "--fields",
			"_id.int32(),s.string(),l.int64(),d.date(2006-01-02),p.decimal(),b.boolean(),x.binary(hex)"},
			`{"_id":1,"s":"007","l":9,"d":{"$date":"2020-01-02T00:00:00Z"},"p":{"$numberDecimal":"1.50"},"b":true,"x":{"$binary":{"base64":"/w==","subType":"00"}}}` + "\n", "1 document"},
		{"skip row", "1,x\n2,3\n", []string{"--type", "csv", "--columnsHaveTypes", "--parseGrace", "skipRow", "--fields", "_id.int32(),a.int32()"}, `{"_id":2,"a":3}` + "\n", "1 skipped"},
		{"skip field", "1,x\n", []string{"--type", "csv", "--columnsHaveTypes", "--parseGrace", "skipField", "--fields", "_id.int32(),a.int32()"}, `{"_id":1}` + "\n", "1 document"},
		{"cast", "1,x\n", []string{"--type", "csv", "--columnsHaveTypes", "--parseGrace", "autoCast", "--fields", "_id.int32(),a.int32()"}, `{"_id":1,"a":"x"}` + "\n", "1 document"},
	} {
		t.Run(c.name, func(t *testing.T) {
			code, said := load(c.text, append([]string{"--drop"}, c.args...)...)
			if code != 0 || !strings.Contains(said, c.says) {
				t.Fatalf("status %d\n%s", code, said)
			}
			if got := export("--sort", "{_id: 1}"); got != c.want {
				t.Errorf("got\n%swant\n%s", got, c.want)
			}
		})
	}
	for _, lost := range []struct {
		name, text string
		args       []string
		want       string
		says       []string
	}{
		{"two of one _id", `{"_id": 1} {"_id": 2, "a": 1} {"_id": 2, "a": 2} {"_id": 3}`, nil, `{"_id":1}` + "\n" + `{"_id":2,"a":1}` + "\n" + `{"_id":3}` + "\n",
			[]string{"3 documents imported, 0 there already, 1 failed, 0 skipped\n", "1 document failed, the first: test.c: another document with _id 2 is there\n"}},
		{"one more time, and changed", `{"_id": 1} {"_id": 2, "a": 2}`, []string{"--drop=false"}, `{"_id":1}` + "\n" + `{"_id":2,"a":1}` + "\n" + `{"_id":3}` + "\n",
			[]string{"0 documents imported, 1 there already, 1 failed, 0 skipped\n", "another document with _id 2 is there"}},
		{"stopped at a copy", `{"_id": 4} {"_id": 1} {"_id": 5}`, []string{"--drop=false", "--stopOnError"}, `{"_id":1}` + "\n" + `{"_id":2,"a":1}` + "\n" + `{"_id":3}` + "\n" + `{"_id":4}` + "\n",
			[]string{"1 document imported, 1 there already, 0 failed, 0 skipped\n", "stopped at a document that was refused: E11000"}},
	} {
		t.Run(lost.name, func(t *testing.T) {
			code, said := load(lost.text, append([]string{"--drop"}, lost.args...)...)
			for _, says := range lost.says {
				if code != 1 || !strings.Contains(said, says) {
					t.Fatalf("status %d\n%s", code, said)
				}
			}
			if got := export("--sort", "{_id: 1}"); got != lost.want {
				t.Errorf("got\n%swant\n%s", got, lost.want)
			}
		})
	}
	run(t, db, `{createIndexes: "c", indexes: [{key: {u: 1}, name: "u", unique: true, sparse: true}]}`)
	for _, mode := range []string{"insert", "upsert"} {
		code, said := load(`{"_id": "`+mode+`", "u": 1} {"_id": "`+mode+`2", "u": 1}`, "--mode", mode)
		if first := mode == "insert"; code != 1 || first != strings.Contains(said, "1 document imported, 0 there already, 1 failed") || !strings.Contains(said, "E11000 duplicate key error") {
			t.Errorf("a unique value, %s: status %d\n%s", mode, code, said)
		}
	}
	for _, bad := range []struct {
		text string
		args []string
	}{
		{"{", nil},
		{"1,x\n", []string{"--type", "csv", "--columnsHaveTypes", "--fields", "_id.int32(),a.int32()"}},
	} {
		if code, said := load(bad.text, bad.args...); code != 1 {
			t.Errorf("%q: status %d\n%s", bad.text, code, said)
		}
	}
	for _, usage := range [][]string{
		{"--type", "csv"}, {"--type", "csv", "--fields", "a,a"}, {"--type", "csv", "--fields", "a.b,a.b.c"}, {"--mode", "x"},
		{"--type", "csv", "--columnsHaveTypes", "--fields", "a.nope()"}, {"--type", "csv", "--columnsHaveTypes", "--fields", "a"}, {"--headerline"},
	} {
		if code, said := load("", usage...); code != 2 {
			t.Errorf("%v: status %d\n%s", usage, code, said)
		}
	}

	// Changing existing documents.
	load("{\"_id\": 1, \"k\": \"a\", \"n\": 1, \"old\": 1} {\"_id\": 2, \"k\": \"b\", \"n\": 2}", "--drop")
	if code, said := load("k,n\na,10\nc,30\n", "--type", "csv", "--headerline", "--mode", "merge", "--upsertFields", "k"); code != 0 {
		t.Error(said)
	}
	if got := export("--query", `{k: "a"}`); got != `{"_id":1,"k":"a","n":10,"old":1}`+"\n" {
		t.Error(got)
	}
	if code, said := load("k,n\na,11\n", "--type", "csv", "--headerline", "--mode", "upsert", "--upsertFields", "k"); code != 0 {
		t.Error(said)
	}
	if got := export("--type", "csv", "--fields", "k,n,old", "--sort", "{n: 1}"); got != "k,n,old\nb,2,\na,11,\nc,30,\n" {
		t.Error(got)
	}
	if n, err := db.Collection("c").CountDocuments(t.Context(), driver.D{}); err != nil || n != 3 {
		t.Errorf("%d documents: %v", n, err)
	}
	names, filter := t.TempDir()+"/names", t.TempDir()+"/filter"
	if err := errors.Join(os.WriteFile(names, []byte("k\nn\n"), 0o600), os.WriteFile(filter, []byte("{n: {$gt: 10}}"), 0o600)); err != nil {
		t.Fatal(err)
	}
	if code, said := load("b,0\nz,0\n", "--type", "csv", "--fieldFile", names, "--mode", "delete", "--upsertFields", "k"); code != 0 || !strings.Contains(said, "deleted") {
		t.Error(code, said)
	}
	if got := export("--type", "csv", "--fieldFile", names, "--queryFile", filter, "--sort", "{n: 1}"); got != "k,n\na,11\nc,30\n" {
		t.Error(got)
	}
	if got := export("--query", `{k: "b"}`); got != "" {
		t.Error(got)
	}
}

// Every value survives export and import unchanged.
func TestExportIsImportable(t *testing.T) {
	uri, db := start(t)
	doc, err := ejson.Parse(`{_id: 1, a: NumberLong(1), b: 1.0, c: NumberDecimal("1.50"), d: ISODate("2020-01-01T00:00:00.001Z"), e: ObjectId("0123456789abcdef01234567"),
		f: /x/i, g: Timestamp(1, 2), h: MinKey, i: UUID("01234567-89ab-cdef-0123-456789abcdef"), j: [null, {k: []}], l: NumberLong("9007199254740993"), "": "", "$m": 1}`)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Collection("a").InsertOne(t.Context(), []byte(doc)); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"--jsonFormat", "canonical"}, {"--jsonFormat", "canonical", "--jsonArray"}} {
		var out, errs strings.Builder
		if code := verbStatus(t, "export", "", &out, &errs, append(args, uri, "test.a")...); code != 0 {
			t.Fatal(errs.String())
		}
		if code := verbStatus(t, "import", out.String(), io.Discard, &errs, "--drop", uri, "test.b"); code != 0 {
			t.Fatal(errs.String())
		}
		raw, err := db.Collection("b").FindOne(t.Context(), driver.D{}).Raw()
		if err != nil || !bson.Raw(raw).Value().Identical(doc.Value()) {
			t.Errorf("%s %v", raw, err)
		}
	}
}

// mongoTool returns the path of one of MongoDB's tools. If the tool is not installed, the test is skipped.
func mongoTool(t *testing.T, name string) string {
	t.Helper()
	found, err := exec.LookPath(name)
	if err != nil {
		t.Skip("mongodump and mongorestore are not installed: put their folder into the PATH")
	}
	return found
}

// mongorestore loads what cantle dump writes, and cantle restore loads what mongodump writes, as a folder and as a
// compressed archive. The test is skipped if MongoDB's tools are not installed.
func TestWithMongoTools(t *testing.T) {
	mongodump, mongorestore := mongoTool(t, "mongodump"), mongoTool(t, "mongorestore")
	uri, db := start(t)
	fillShop(t, db)
	tool := func(name string, args ...string) {
		t.Helper()
		if out, err := exec.CommandContext(t.Context(), name, append(args, "--uri", uri)...).CombinedOutput(); err != nil {
			t.Fatalf("%s %v: %v\n%s", name, args, err, out)
		}
	}
	dir := t.TempDir()
	verb(t, "dump", "--out", dir+"/ours", uri)
	tool(mongorestore, "--nsFrom", "test.*", "--nsTo", "one.*", dir+"/ours")
	same(t, db, db.Client().Database("one"))
	verb(t, "dump", "--gzip", "--db", "test", "--archive", dir+"/ours.gz", uri)
	tool(mongorestore, "--nsFrom", "test.*", "--nsTo", "two.*", "--gzip", "--archive="+dir+"/ours.gz")
	same(t, db, db.Client().Database("two"))
	tool(mongodump, "--db", "test", "--out", dir+"/theirs")
	verb(t, "restore", "--rename", "test=three", uri, dir+"/theirs")
	same(t, db, db.Client().Database("three"))
	tool(mongodump, "--db", "test", "--gzip", "--archive="+dir+"/theirs.gz")
	verb(t, "restore", "--rename", "test=four", "--gzip", "--archive", dir+"/theirs.gz", uri)
	same(t, db, db.Client().Database("four"))
}

// The endings of files state their types, also of compressed ones, unless --type does.
func TestFileEndings(t *testing.T) {
	uri, _ := start(t)
	dir := t.TempDir()
	for name, text := range map[string]string{"a.CSV": "_id,b\n1,x\n", "b.tsv": "_id\tb\n1\tx\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		if code := verbStatus(t, "import", "", io.Discard, &out, "--drop", "--headerline", uri, "test.c", filepath.Join(dir, name)); code != 0 {
			t.Errorf("%s: status %d\n%s", name, code, out.String())
		}
	}
	for _, name := range []string{"c.json", "c.jsonl.gz", "c.csv.gz"} {
		var out strings.Builder
		file := filepath.Join(dir, name)
		export := []string{"--fields", "_id,b", "--out", file, uri, "test.c"}
		load := []string{"--drop", uri, "test.c", file}
		if strings.Contains(name, "csv") {
			load = append(load, "--headerline")
		}
		if code := verbStatus(t, "export", "", io.Discard, &out, export...); code != 0 {
			t.Fatalf("%s: status %d\n%s", name, code, out.String())
		}
		head, err := os.ReadFile(file)
		if err != nil || strings.HasSuffix(name, ".gz") != strings.HasPrefix(string(head), "\x1f\x8b") || strings.HasSuffix(name, ".json") && string(head) != "{\"_id\":1,\"b\":\"x\"}\n" {
			t.Errorf("%s has %q, %v", name, head, err)
		}
		if code := verbStatus(t, "import", "", io.Discard, &out, load...); code != 0 || !strings.Contains(out.String(), "1 document imported, 0 there already") {
			t.Errorf("%s: status %d\n%s", name, code, out.String())
		}
	}
	var out strings.Builder
	if code := verbStatus(t, "export", "", io.Discard, &out, "--out", filepath.Join(dir, "d.tsv"), uri, "test.c"); code != 2 || !strings.Contains(out.String(), "writes json or csv, not tsv") {
		t.Errorf("status %d\n%s", code, out.String())
	}
	if code := verbStatus(t, "import", "_id,b\n1,x\n", io.Discard, &out, uri, "test.c"); code != 1 || !strings.Contains(out.String(), `expected a document in JSON, found "_id,b"`) {
		t.Errorf("status %d\n%s", code, out.String())
	}
}
