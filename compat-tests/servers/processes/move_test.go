package processes

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/cantledb/cantle/compat-tests/rig/harness"
)

// run runs a command written as Extended JSON.
func run(t *testing.T, db *mongo.Database, text string) bson.Raw {
	t.Helper()
	var cmd bson.D
	if err := bson.UnmarshalExtJSON([]byte(text), false, &cmd); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	out, err := db.RunCommand(t.Context(), cmd).Raw()
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return out
}

// fill makes a database with everything that a move has to keep.
func fill(t *testing.T, db *mongo.Database) {
	t.Helper()
	admin := db.Client().Database("admin")
	run(t, admin, `{"shardCollection": "shop.orders", "key": {"k": "hashed"}, "numInitialChunks": 3}`)
	run(t, admin, `{"shardCollection": "shop.ranged", "key": {"k": 1}}`)
	run(t, db, `{"customAction": "CreateCollection", "collection": "paid", "shardKey": "k", "offerThroughput": 12000}`)
	run(t, db, `{"create": "capped", "capped": true, "size": 100000}`)
	run(t, db, `{"create": "strict", "validator": {"n": {"$type": "int"}}, "collation": {"locale": "en", "strength": 2}}`)
	run(t, db, `{"create": "view", "viewOn": "plain", "pipeline": [{"$match": {"n": {"$lt": 10}}}]}`)
	run(t, db, `{"createIndexes": "plain", "indexes": [{"key": {"n": 1, "s": -1}, "name": "both"}, {"key": {"u": 1}, "name": "u", "unique": true, "sparse": true}]}`)
	var docs []any
	for i := range 2000 {
		docs = append(docs, bson.M{"_id": i, "k": i % 97, "n": i, "u": -i, "s": bson.A{"x", strings.Repeat("y", i%50)}})
	}
	for name, list := range map[string][]any{"plain": docs, "orders": docs, "ranged": docs, "paid": docs[:200], "capped": {bson.M{"n": 2}, bson.M{"n": 1}},
		"strict": {bson.M{"_id": 1, "n": int32(1)}}, "large": {bson.M{"_id": 1, "b": make([]byte, 9<<20)}}} {
		if _, err := db.Collection(name).InsertMany(t.Context(), list); err != nil {
			t.Fatal(err)
		}
	}
}

// described returns a database's metadata and hashes, by source.
func described(t *testing.T, db *mongo.Database) map[string]any {
	t.Helper()
	out := map[string]any{}
	for _, e := range lookup[bson.D](t, run(t, db, `{"dbHash": 1}`), "collections") {
		if e.Key != "system.views" { // its document has an id that the server generates
			out["hash of "+e.Key] = e.Value
		}
	}
	names, err := db.ListCollectionSpecifications(t.Context(), bson.D{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range names {
		out["options of "+c.Name] = c.Options.String()
		if c.Type == "view" {
			continue
		}
		cursor, err := db.Collection(c.Name).Indexes().List(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var list []bson.M
		if err := cursor.All(t.Context(), &list); err != nil {
			t.Fatal(err)
		}
		for _, ix := range list {
			out[fmt.Sprintf("index %s of %s", ix["name"], c.Name)] = ix
		}
	}
	cursor, err := db.Client().Database("config").Collection("collections").Find(t.Context(), bson.M{"_id": bson.M{"$regex": "^shop\\."}})
	if err != nil {
		t.Fatal(err)
	}
	var sharded []struct {
		ID  string `bson:"_id"`
		Key bson.D
	}
	if err := cursor.All(t.Context(), &sharded); err != nil {
		t.Fatal(err)
	}
	for _, c := range sharded {
		out["shard key of "+c.ID] = c.Key
	}
	out["throughput of paid"] = lookup[any](t, run(t, db, `{"customAction": "GetCollection", "collection": "paid"}`), "provisionedThroughput")
	return out
}

// lookup returns a field of a document.
func lookup[T any](t *testing.T, doc bson.Raw, name string) (out T) {
	t.Helper()
	v, err := doc.LookupErr(name)
	if err == nil {
		err = v.Unmarshal(&out)
	}
	if err != nil {
		t.Fatalf("%s of %v: %v", name, doc, err)
	}
	return out
}

// cantle runs a verb of the program that must succeed.
func cantle(t *testing.T, args ...string) {
	t.Helper()
	_ = outputOf(t, args...)
}

// outputOf runs a verb of the program that must succeed, and returns its output.
func outputOf(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command(must(harness.Binary()), args...)
	cmd.Env = harness.Environment()
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("cantle %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// TestMove moves a database with dump and restore from files to a cluster and back, with all its definitions.
func TestMove(t *testing.T) {
	_, place := cluster(t)
	onFiles := func() *harness.Server {
		s, err := harness.LaunchBinary(must(harness.Binary()), harness.Options{Data: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.Kill)
		return s
	}
	from := onFiles()
	shop := func(s *harness.Server) *mongo.Database { return connect(t, s.URI).Database("shop") }
	fill(t, shop(from))
	want := described(t, shop(from))
	if len(want) < 25 {
		t.Errorf("only %d things to compare", len(want))
	}
	for _, to := range []*harness.Server{mustLaunch(t, place), onFiles()} {
		archive := filepath.Join(t.TempDir(), "shop.archive")
		cantle(t, "dump", "--db", "shop", "--archive", archive, from.URI)
		cantle(t, "restore", "--archive", archive, to.URI)
		got := described(t, shop(to))
		for what := range want {
			if !reflect.DeepEqual(got[what], want[what]) {
				t.Errorf("%s: %v, was %v", what, got[what], want[what])
			}
		}
		if len(got) != len(want) {
			t.Errorf("%d things, were %d", len(got), len(want))
		}
		from = to
	}
}
