package damage

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/cantledb/cantle/collection/changelog"
	"github.com/cantledb/cantle/storage/pebblekv"
)

// model holds the expected contents of the database: documents as bytes, by namespace and _id.
type model struct {
	docs map[string]map[int32]string
	// past holds, of each document that the server's last life changed, the version before that life, "" for an
	// inserted one: reads of a folder with a damaged log may return them.
	past map[string]map[int32]string
}

var namespaces = []string{"shop.orders", "shop.items"}

// made is a folder that several lives of a server have written, to be copied and damaged, and its expected
// contents.
type made struct {
	dir string
	model
	where map[string]map[int32][]byte // the keys of documents; see keys
}

// makeFolder fills a folder by six lives of a server; the writes of the last life stay in the log. With killed,
// the last life ends by a kill, otherwise by a clean shutdown as the others.
func makeFolder(t *testing.T, bin string, killed bool) *made {
	t.Helper()
	m := &made{dir: filepath.Join(t.TempDir(), "data"), model: model{docs: map[string]map[int32]string{}, past: map[string]map[int32]string{}}}
	for _, ns := range namespaces {
		m.docs[ns], m.past[ns] = map[int32]string{}, map[int32]string{}
	}
	rng := rand.New(rand.NewPCG(1, 2))
	const lives = 6
	for life := range lives {
		s := serve(t, bin, m.dir)
		if s.uri == "" {
			t.Fatal(s.out())
		}
		client := s.client(t)
		db := client.Database("shop")
		if life == 0 {
			m.schema(t, db)
		}
		for _, name := range []string{"orders", "items"} {
			m.write(t, db.Collection(name), rng, life, life == lives-1)
		}
		_ = client.Disconnect(t.Context())
		if killed && life == lives-1 {
			s.kill()
			break
		}
		s.stop(t)
	}
	return m
}

// forgetful truncates the change log in the folder, as a server does after a day, so that it holds no second copy
// of a document in a damaged block.
func (m *made) forgetful(t *testing.T) *made {
	t.Helper()
	s, err := pebblekv.Open(filepath.Join(m.dir, "store"), pebblekv.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.TruncateLog(t.Context(), changelog.Stream, s.Latest()), s.Close()); err != nil {
		t.Fatal(err)
	}
	return m
}

// schema makes the indexes and shards one collection.
func (m *made) schema(t *testing.T, db *mongo.Database) {
	t.Helper()
	admin := db.Client().Database("admin")
	for _, cmd := range []bson.D{
		{{Key: "shardCollection", Value: "shop.items"}, {Key: "key", Value: bson.D{{Key: "k", Value: "hashed"}}}, {Key: "numInitialChunks", Value: 3}},
	} {
		if err := admin.RunCommand(t.Context(), cmd).Err(); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"orders", "items"} {
		if _, err := db.Collection(name).Indexes().CreateOne(t.Context(), mongo.IndexModel{Keys: bson.D{{Key: "v", Value: 1}}}); err != nil {
			t.Fatal(err)
		}
	}
}

// write inserts, replaces and deletes random documents of a collection, in a given life of the server, and records
// them in the model.
func (m *made) write(t *testing.T, coll *mongo.Collection, rng *rand.Rand, life int, last bool) {
	t.Helper()
	ns := "shop." + coll.Name()
	docs := m.docs[ns]
	was := func(id int32) {
		if _, known := m.past[ns][id]; last && !known {
			m.past[ns][id] = docs[id]
		}
	}
	var insert []any
	for i := range 100 {
		id := int32(life*100 + i)
		doc := document(rng, id)
		was(id)
		insert = append(insert, doc)
		docs[id] = raw(t, doc)
	}
	if _, err := coll.InsertMany(t.Context(), insert); err != nil {
		t.Fatal(err)
	}
	for range 20 {
		id := int32(rng.IntN(life*100 + 100))
		if _, ok := docs[id]; !ok {
			continue
		}
		was(id)
		filter := bson.D{{Key: "_id", Value: id}}
		if rng.IntN(3) == 0 {
			delete(docs, id)
			if _, err := coll.DeleteOne(t.Context(), filter); err != nil {
				t.Fatal(err)
			}
			continue
		}
		doc := document(rng, id)
		docs[id] = raw(t, doc)
		if _, err := coll.ReplaceOne(t.Context(), filter, doc); err != nil {
			t.Fatal(err)
		}
	}
}

// document returns a random document with an _id. Its field k decides its position and is the same in each
// version.
func document(rng *rand.Rand, id int32) bson.D {
	pad := make([]byte, 150)
	for i := range pad {
		pad[i] = byte('a' + rng.IntN(26))
	}
	return bson.D{{Key: "_id", Value: id}, {Key: "k", Value: id % 50}, {Key: "v", Value: int32(rng.IntN(20))}, {Key: "pad", Value: string(pad)}}
}

func raw(t *testing.T, doc bson.D) string {
	t.Helper()
	b, err := bson.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// injury is one damage to a file.
type injury struct {
	file, what string
	kind       string // sst, log, MANIFEST or other
	from, to   int64  // the damaged bytes
}

func (i injury) String() string { return i.what + " of " + i.file }

// hurt damages one file of a folder.
func hurt(t *testing.T, dir string, rng *rand.Rand) injury {
	t.Helper()
	var files []string
	_ = filepath.WalkDir(filepath.Join(dir, "store"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			if info, _ := d.Info(); info.Size() > 0 {
				files = append(files, path)
			}
		}
		return nil
	})
	path := files[rng.IntN(len(files))]
	if tables, _ := filepath.Glob(filepath.Join(dir, "store", "*.sst")); rng.IntN(2) == 0 {
		path = tables[rng.IntN(len(tables))]
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	used := len(strings.TrimRight(string(b), "\x00")) // logs are longer than their contents
	at := rng.IntN(max(used, 1))
	in := injury{file: filepath.Base(path), kind: "other"}
	for _, kind := range []string{"sst", "log", "MANIFEST"} {
		if strings.Contains(in.file, kind) {
			in.kind = kind
		}
	}
	switch rng.IntN(4) {
	case 0, 1:
		bit := rng.IntN(8)
		b[at] ^= 1 << bit
		in.what, in.from, in.to = fmt.Sprintf("bit %d of byte %d", bit, at), int64(at), int64(at)+1
	case 2:
		n := 512 << rng.IntN(4)
		at -= at % 512
		clear(b[at:min(at+n, len(b))])
		in.what, in.from, in.to = fmt.Sprintf("%d bytes at %d zeroed", n, at), int64(at), int64(at+n)
	default:
		b = b[:at]
		in.what, in.from, in.to = fmt.Sprintf("all behind byte %d", at), int64(at), toTheEnd
	}
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return in
}
