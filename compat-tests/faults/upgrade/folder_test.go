package upgrade

import (
	"archive/zip"
	"context"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/cantledb/cantle/compat-tests/rig/harness"
)

// expected is the name of the file with the expected contents of a released folder.
const expected = "expected.json"

var makeRelease = flag.String("make", "", "make the folder of this `release`")

// TestMake makes the folder of a release.
func TestMake(t *testing.T) {
	if *makeRelease == "" {
		t.Skip("-make names a release whose folder is to be made")
	}
	to := filepath.Join("released", *makeRelease+".zip")
	if _, err := os.Stat(to); err == nil {
		t.Fatalf("%s is there, and what was released does not change", to)
	}
	data := filepath.Join(t.TempDir(), "data")
	var want []byte
	for life := range 3 { // the writes of earlier lives are in tables, those of the last life in the log
		s := launch(t, data)
		client := s.Client(t)
		fill(t, client, life)
		want = contents(t, client)
		if err := s.Stop(); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(data, expected), want, 0o600); err != nil {
		t.Fatal(err)
	}
	pack(t, data, to)
}

// launch starts a server on a folder.
func launch(t *testing.T, data string) *harness.Server {
	t.Helper()
	s, err := harness.Launch(harness.Options{Data: data, Args: []string{"--cache-size", "16MB"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Kill)
	return s
}

// must runs commands.
func must(t *testing.T, db *mongo.Database, cmds ...bson.D) {
	t.Helper()
	for _, cmd := range cmds {
		if err := db.RunCommand(t.Context(), cmd).Err(); err != nil {
			t.Fatalf("%v: %v", cmd, err)
		}
	}
}

// fill stores a few values of every kind of data, as one life of the server that makes a folder.
func fill(t *testing.T, client *mongo.Client, life int) {
	t.Helper()
	shop, admin := client.Database("shop"), client.Database("admin")
	if life == 0 {
		must(t, admin, bson.D{{Key: "shardCollection", Value: "shop.items"}, {Key: "key", Value: bson.D{{Key: "k", Value: "hashed"}}}, {Key: "numInitialChunks", Value: 3}},
			bson.D{{Key: "shardCollection", Value: "shop.ranged"}, {Key: "key", Value: bson.D{{Key: "k", Value: 1}, {Key: "_id", Value: 1}}}})
		must(t, shop,
			bson.D{{Key: "create", Value: "capped"}, {Key: "capped", Value: true}, {Key: "size", Value: 4096}},
			bson.D{{Key: "create", Value: "series"}, {Key: "timeseries", Value: bson.D{{Key: "timeField", Value: "at"}, {Key: "metaField", Value: "k"}}}},
			bson.D{{Key: "create", Value: "clustered"}, {Key: "clusteredIndex", Value: bson.D{{Key: "key", Value: bson.D{{Key: "_id", Value: 1}}}, {Key: "unique", Value: true}}}},
			bson.D{{Key: "create", Value: "collated"}, {Key: "collation", Value: bson.D{{Key: "locale", Value: "de"}, {Key: "strength", Value: 2}}}},
			bson.D{{Key: "create", Value: "checked"}, {Key: "validator", Value: bson.D{{Key: "n", Value: bson.D{{Key: "$type", Value: "int"}}}}}},
			bson.D{{Key: "create", Value: "few"}, {Key: "viewOn", Value: "orders"}, {Key: "pipeline", Value: bson.A{bson.D{{Key: "$match", Value: bson.D{{Key: "n", Value: bson.D{{Key: "$lt", Value: 5}}}}}}}}},
			bson.D{{Key: "createUser", Value: "ada"}, {Key: "pwd", Value: "secret"}, {Key: "roles", Value: bson.A{"readWrite"}}, {Key: "mechanisms", Value: bson.A{"SCRAM-SHA-256"}}},
		)
		indexes := bson.A{
			bson.D{{Key: "key", Value: bson.D{{Key: "n", Value: 1}}}, {Key: "name", Value: "n"}, {Key: "unique", Value: true}},
			bson.D{{Key: "key", Value: bson.D{{Key: "tags", Value: 1}, {Key: "n", Value: -1}}}, {Key: "name", Value: "tags"}},
			bson.D{{Key: "key", Value: bson.D{{Key: "text", Value: "text"}}}, {Key: "name", Value: "text"}},
			bson.D{{Key: "key", Value: bson.D{{Key: "at", Value: "2dsphere"}}}, {Key: "name", Value: "at"}},
			bson.D{{Key: "key", Value: bson.D{{Key: "h", Value: "hashed"}}}, {Key: "name", Value: "h"}},
			bson.D{{Key: "key", Value: bson.D{{Key: "w.$**", Value: 1}}}, {Key: "name", Value: "w"}},
			bson.D{{Key: "key", Value: bson.D{{Key: "gone", Value: 1}}}, {Key: "name", Value: "gone"}, {Key: "expireAfterSeconds", Value: 1 << 30}, {Key: "sparse", Value: true}},
			bson.D{{Key: "key", Value: bson.D{{Key: "part", Value: 1}}}, {Key: "name", Value: "part"}, {Key: "partialFilterExpression", Value: bson.D{{Key: "n", Value: bson.D{{Key: "$gt", Value: 10}}}}}},
		}
		must(t, shop, bson.D{{Key: "createIndexes", Value: "orders"}, {Key: "indexes", Value: indexes}})
	}
	for i := life * 8; i < life*8+8; i++ {
		n := int32(i)
		when := bson.NewDateTimeFromTime(time.Unix(1795000000+int64(i)*60, 0))
		dec, _ := bson.ParseDecimal128("12.50")
		docs := map[string]bson.D{
			"orders": {{Key: "_id", Value: n}, {Key: "n", Value: n}, {Key: "tags", Value: bson.A{"a", n % 3, nil}}, {Key: "text", Value: "the quick fox"},
				{Key: "at", Value: bson.D{{Key: "type", Value: "Point"}, {Key: "coordinates", Value: bson.A{float64(n), 10.5}}}}, {Key: "h", Value: int64(n) * 3},
				{Key: "w", Value: bson.D{{Key: "x", Value: n}}}, {Key: "gone", Value: when}, {Key: "part", Value: dec}},
			"items": {{Key: "_id", Value: n}, {Key: "k", Value: n % 5}}, "ranged": {{Key: "_id", Value: n}, {Key: "k", Value: "k" + string(rune('a'+n))}},
			"capped": {{Key: "_id", Value: n}}, "series": {{Key: "_id", Value: n}, {Key: "at", Value: when}, {Key: "k", Value: n % 2}},
			"clustered": {{Key: "_id", Value: n}}, "collated": {{Key: "_id", Value: "Ä" + string(rune('a'+n))}}, "checked": {{Key: "_id", Value: n}, {Key: "n", Value: n}},
		}
		for _, name := range collections {
			if _, err := shop.Collection(name).InsertOne(t.Context(), docs[name]); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
	}
	if life > 0 {
		orders := shop.Collection("orders")
		if _, err := orders.UpdateOne(t.Context(), bson.D{{Key: "_id", Value: life}}, bson.D{{Key: "$set", Value: bson.D{{Key: "changed", Value: life}}}}); err != nil {
			t.Fatal(err)
		}
		if _, err := orders.DeleteOne(t.Context(), bson.D{{Key: "_id", Value: life + 4}}); err != nil {
			t.Fatal(err)
		}
	}
}

// collections are the collections that fill fills.
var collections = []string{"orders", "items", "ranged", "capped", "series", "clustered", "collated", "checked"}

// contents returns all data of a folder, read from its server, as JSON text for comparisons.
func contents(t *testing.T, client *mongo.Client) []byte {
	t.Helper()
	out := bson.D{}
	shop := client.Database("shop")
	for _, name := range append([]string{"few"}, collections...) {
		order := bson.D{{Key: "_id", Value: 1}}
		cur, err := shop.Collection(name).Find(t.Context(), bson.D{}, options.Find().SetSort(order))
		out = append(out, bson.E{Key: name, Value: list(t, cur, err)})
		if name != "few" {
			cur, err = shop.Collection(name).Indexes().List(t.Context())
			out = append(out, bson.E{Key: name + " indexes", Value: list(t, cur, err)})
		}
	}
	cur, err := shop.ListCollections(t.Context(), bson.D{})
	infos := map[string]bson.Raw{}
	for _, info := range list(t, cur, err) {
		infos[info.Lookup("name").StringValue()] = info
	}
	for _, name := range collections {
		out = append(out, bson.E{Key: name + " info", Value: infos[name]})
	}
	key := client.Database("config").Collection("collections")
	cur, err = key.Find(t.Context(), bson.D{{Key: "_id", Value: bson.D{{Key: "$regex", Value: "^shop"}}}}, options.Find().SetSort(bson.D{{Key: "_id", Value: 1}}).SetProjection(bson.D{{Key: "key", Value: 1}, {Key: "uuid", Value: 1}}))
	out = append(out, bson.E{Key: "shard keys", Value: list(t, cur, err)})
	b, err := bson.MarshalExtJSONIndent(out, true, false, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return append(b, '\n')
}

func list(t *testing.T, cur *mongo.Cursor, err error) []bson.Raw {
	t.Helper()
	docs := []bson.Raw{}
	if err == nil {
		err = cur.All(context.WithoutCancel(t.Context()), &docs)
	}
	if err != nil {
		t.Fatal(err)
	}
	return docs
}

// pack writes a folder into a zip.
func pack(t *testing.T, dir, to string) {
	t.Helper()
	file, err := os.Create(to)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	z := zip.NewWriter(file)
	if err := z.AddFS(os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
}

// unpack writes a zip into a folder.
func unpack(t *testing.T, from, dir string) {
	t.Helper()
	z, err := zip.OpenReader(from)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	for _, f := range z.File {
		path := filepath.Join(dir, f.Name)
		if strings.HasSuffix(f.Name, "/") {
			if err := os.MkdirAll(path, 0o700); err != nil {
				t.Fatal(err)
			}
			continue
		}
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(r)
		if err == nil {
			err = os.MkdirAll(filepath.Dir(path), 0o700)
		}
		if err == nil {
			err = os.WriteFile(path, b, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}
