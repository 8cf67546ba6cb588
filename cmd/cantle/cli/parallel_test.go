package cli

import (
	"fmt"
	"io"
	"os"
	"reflect"
	"strings"
	"testing"

	driver "go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// contents returns all documents of a collection in the order of _id. Documents compare as equal whatever the order
// of their fields.
func contents(t *testing.T, c *mongo.Collection) []driver.M {
	t.Helper()
	cursor, err := c.Find(t.Context(), driver.D{}, options.Find().SetSort(driver.M{"_id": 1}))
	if err != nil {
		t.Fatal(err)
	}
	var all []driver.M
	if err := cursor.All(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// A dump and a restore of many collections, several at a time, each with several writers: no document is lost, and
// capped collections keep their order.
func TestParallel(t *testing.T) {
	t.Parallel()
	uri, db := start(t)
	run(t, db, `{create: "log", capped: true, size: 1000000}`)
	for c := range 7 {
		var docs []any
		for i := range 3500 {
			docs = append(docs, driver.M{"_id": i, "c": c, "pad": strings.Repeat("x", i%300)})
		}
		if _, err := db.Collection(fmt.Sprint("c", c)).InsertMany(t.Context(), docs); err != nil {
			t.Fatal(err)
		}
		if c == 0 {
			for _, d := range docs {
				d.(driver.M)["_id"] = 3500 - d.(driver.M)["_id"].(int)
			}
			if _, err := db.Collection("log").InsertMany(t.Context(), docs); err != nil {
				t.Fatal(err)
			}
		}
	}
	dir := t.TempDir()
	for i, how := range [][2][]string{
		{{"--out", dir + "/d"}, {uri, dir + "/d"}},
		{{"--archive", dir + "/a"}, {"--archive", dir + "/a", uri}},
		{{"-j", "1", "--gzip", "--archive", dir + "/z"}, {"--gzip", "--archive", dir + "/z", "--maintainInsertionOrder", uri}},
	} {
		to := db.Client().Database(fmt.Sprintf("to%d", i))
		verb(t, "dump", append(how[0], uri)...)
		journal := fmt.Sprintf("%s/journal%d", dir, i)
		args := append([]string{"--nsInclude", "test.*", "--nsFrom", "test.*", "--nsTo", to.Name() + ".*", "--numParallelCollections", "3",
			"--numInsertionWorkersPerCollection", "3", "--resume", journal}, how[1]...)
		if said := verb(t, "restore", args...); !strings.Contains(said, "28000 documents restored, 0 there already, 0 failed") {
			t.Errorf("%v:\n%s", how, said)
		}
		if a, b := sums(t, db), sums(t, to); !reflect.DeepEqual(a, b) {
			t.Errorf("%v:\n%v\n%v", how, a, b)
		}
		cursor, err := to.Collection("log").Find(t.Context(), driver.D{})
		if err != nil {
			t.Fatal(err)
		}
		for want := 3500; cursor.Next(t.Context()); want-- {
			if got := cursor.Current.Lookup("_id").AsInt64(); got != int64(want) {
				t.Fatalf("%v: %d where %d should be", how, got, want)
			}
		}
		text, err := os.ReadFile(journal)
		if err != nil || strings.Count(string(text), "3500 test.") != 8 {
			t.Errorf("the journal ends with %d collections whole, %v", strings.Count(string(text), "3500 test."), err)
		}
		if said := verb(t, "restore", args...); !strings.Contains(said, "0 documents restored, 0 there already") {
			t.Errorf("with the journal:\n%s", said)
		}
	}
}

// A restore that stops at the first error ends, in whatever step its reading and writing goroutines are.
func TestStopOnError(t *testing.T) {
	t.Parallel()
	uri, db := start(t)
	for c := range 5 {
		var docs []any
		for i := range 3000 {
			docs = append(docs, driver.M{"_id": i, "pad": "x"})
		}
		if _, err := db.Collection(fmt.Sprint("c", c)).InsertMany(t.Context(), docs); err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	verb(t, "dump", "--out", dir, uri)
	for range 40 {
		var out strings.Builder
		if code := verbStatus(t, "restore", "", io.Discard, &out, "--stopOnError", "--numInsertionWorkersPerCollection", "4", uri, dir); code != 1 || !strings.Contains(out.String(), "stopped at a document") {
			t.Fatalf("status %d\n%s", code, out.String())
		}
	}
}

func TestChosenCollections(t *testing.T) {
	uri, db := start(t)
	for _, name := range []string{"orders", "items", "log_a", "log_b"} {
		if _, err := db.Collection(name).InsertOne(t.Context(), driver.M{"_id": name}); err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	said := verb(t, "dump", "--db", "test", "--excludeCollection", "items", "--excludeCollectionsWithPrefix", "log_", "--out", dir+"/1", uri)
	if strings.Contains(said, "items") || strings.Contains(said, "log_") || !strings.Contains(said, "test.orders: 1 document") {
		t.Error(said)
	}
	said = verb(t, "dump", "--nsInclude", "test.*", "--nsExclude", "*.log_b", "--out", dir+"/2", uri)
	if strings.Contains(said, "log_b") || !strings.Contains(said, "log_a") {
		t.Error(said)
	}
	said = verb(t, "restore", "--dryRun", "--nsFrom", "test.*", "--nsTo", "dry.*", uri, dir+"/2")
	if !strings.Contains(said, "3 documents would be restored") {
		t.Error(said)
	}
	said = verb(t, "restore", "--nsExclude", "*.log*", "--nsFrom", "$db$.$name$", "--nsTo", "new.$db$_$name$", uri, dir+"/2")
	if !strings.Contains(said, "2 documents restored") {
		t.Error(said)
	}
	names, err := db.Client().ListDatabaseNames(t.Context(), driver.M{"name": "dry"})
	if err != nil || len(names) != 0 {
		t.Errorf("a dry run made %v, %v", names, err)
	}
	got, err := db.Client().Database("new").ListCollectionNames(t.Context(), driver.D{})
	if err != nil || len(got) != 2 {
		t.Errorf("%v %v", got, err)
	}
	for _, usage := range [][]string{{"--nsFrom", "a.*", uri}, {"--nsFrom", "a.*", "--nsTo", "b.*.*", uri}, {"-j", "0", uri}, {"--nsInclude", "$a", uri}} {
		var out strings.Builder
		if code := verbStatus(t, "restore", "", io.Discard, &out, usage...); code != 2 {
			t.Errorf("%v: status %d", usage, code)
		}
	}
}

// Measurements are restored from buckets.
func TestTimeSeriesDump(t *testing.T) {
	t.Parallel()
	uri, db := start(t)
	run(t, db, `{create: "ts", timeseries: {timeField: "at", metaField: "m", granularity: "minutes"}}`)
	run(t, db, `{createIndexes: "ts", indexes: [{key: {"m.k": 1, at: -1}, name: "byk"}]}`)
	var docs []any
	for i := range 5000 {
		d := driver.M{"_id": i, "at": driver.DateTime(1_700_000_000_000 + 700*int64(i)), "m": driver.M{"k": i % 5}, "v": i}
		if i%2 == 0 {
			d["deep"] = driver.M{"x": i, "y": driver.A{i, nil}}
		}
		docs = append(docs, d)
	}
	if _, err := db.Collection("ts").InsertMany(t.Context(), docs); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for i, how := range [][2][]string{
		{{"--out", dir + "/d"}, {uri, dir + "/d"}},
		{{"--archive", dir + "/a"}, {"--archive", dir + "/a", uri}},
	} {
		to := db.Client().Database(fmt.Sprintf("to%d", i))
		verb(t, "dump", append(how[0], "--db", "test", uri)...)
		said := verb(t, "restore", append([]string{"--rename", "test=" + to.Name()}, how[1]...)...)
		if !strings.Contains(said, "5000 documents restored") {
			t.Error(said)
		}
		if a, b := contents(t, db.Collection("ts")), contents(t, to.Collection("ts")); !reflect.DeepEqual(a, b) {
			t.Errorf("%d measurements, then %d others", len(a), len(b))
		}
		if a, b := indexes(t, db, "ts"), indexes(t, to, "ts"); !reflect.DeepEqual(a, b) {
			t.Errorf("indexes %v and %v", a, b)
		}
		if n, err := to.Collection("system.buckets.ts").CountDocuments(t.Context(), driver.D{}); err != nil || n < 5 || n > 10 {
			t.Errorf("%d buckets, %v", n, err)
		}
	}
	if _, err := os.Stat(dir + "/d/test/system.buckets.ts.bson"); err != nil {
		t.Error(err)
	}
}
