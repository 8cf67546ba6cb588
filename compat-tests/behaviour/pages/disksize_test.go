package pages

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/cantledb/cantle/compat-tests/rig/harness"
)

// The disk sizes that docs/operations.md states hold for documents of 1 to 4 KB with five indexes that hardly
// compress: for the documents, the change log and the logs of the newest writes.
func TestDiskSizeIsAsDocumented(t *testing.T) {
	root, err := harness.Root()
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(root, "docs", "operations.md"))
	if err != nil {
		t.Fatal(err)
	}
	said := func(row string) float64 {
		t.Helper()
		found := regexp.MustCompile(row).FindSubmatch(page)
		if found == nil {
			t.Fatalf("the page has no row %s", row)
		}
		n, err := strconv.ParseFloat(string(found[1]), 64)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	perByte := said(`\| documents with five indexes \| at most ([0-9.]+) bytes`)
	logPerByte := said(`\| the change log, .* \| at most ([0-9.]+) bytes`)
	logs := 5 * said(`\| logs of the newest writes \| 5 of ([0-9]+) MB`) * (1 << 20)

	dir := t.TempDir()
	client := harness.Start(t, harness.Options{Data: dir}).Client(t)
	coll := client.Database("shop").Collection("orders")
	var indexes []mongo.IndexModel
	for _, key := range []bson.D{{{Key: "customer", Value: 1}, {Key: "at", Value: -1}}, {{Key: "code", Value: 1}}, {{Key: "tags", Value: 1}}, {{Key: "state", Value: 1}}, {{Key: "total", Value: 1}}} {
		indexes = append(indexes, mongo.IndexModel{Keys: key})
	}
	if _, err := coll.Indexes().CreateMany(t.Context(), indexes); err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	bytes := 0
	for at := 0; bytes < 150<<20; at += 500 {
		var batch []any
		for i := range 500 {
			text := make([]byte, 700+rng.IntN(3000))
			for j := range text {
				text[j] = byte(' ' + rng.IntN(90))
			}
			doc, err := bson.Marshal(bson.D{{Key: "_id", Value: at + i}, {Key: "customer", Value: rng.IntN(20_000)}, {Key: "at", Value: time.Unix(int64(at+i), 0)},
				{Key: "code", Value: fmt.Sprintf("%016x", rng.Uint64())}, {Key: "tags", Value: bson.A{rng.IntN(200), rng.IntN(200), rng.IntN(200)}},
				{Key: "state", Value: rng.IntN(6)}, {Key: "total", Value: rng.Float64()}, {Key: "text", Value: string(text)}})
			if err != nil {
				t.Fatal(err)
			}
			bytes += len(doc)
			batch = append(batch, bson.Raw(doc))
		}
		if _, err := coll.InsertMany(t.Context(), batch); err != nil {
			t.Fatal(err)
		}
	}
	size := func(names ...string) (n int64) {
		for _, name := range names {
			list, err := filepath.Glob(filepath.Join(dir, "store", name))
			if err != nil {
				t.Fatal(err)
			}
			for _, path := range list {
				if info, err := os.Stat(path); err == nil { // otherwise it was deleted since it was listed
					n += info.Size()
				}
			}
		}
		return n
	}
	written := float64(bytes)
	again := time.NewTicker(100 * time.Millisecond)
	defer again.Stop()
	for begun := time.Now(); ; <-again.C { // compactions, and the deletion of replaced files, come later
		var status struct {
			StorageEngine struct{ ChangeLogBytes int64 }
		}
		if err := client.Database("admin").RunCommand(t.Context(), bson.D{{Key: "serverStatus", Value: 1}}).Decode(&status); err != nil {
			t.Fatal(err)
		}
		log := status.StorageEngine.ChangeLogBytes
		tables, newest := size("*.sst")-log, size("*.log")
		if float64(tables) <= perByte*written && float64(log) <= logPerByte*written && float64(newest) <= logs && log > int64(bytes/4) {
			t.Logf("for each of %d bytes: %.2f of tables, %.2f of the change log; %d MB of logs", bytes, float64(tables)/written, float64(log)/written, newest>>20)
			return
		}
		if time.Since(begun) > time.Minute {
			t.Fatalf("for each of %d bytes: %.2f of tables, %.2f of the change log; %d MB of logs", bytes, float64(tables)/written, float64(log)/written, newest>>20)
		}
	}
}
