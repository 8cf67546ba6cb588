package spill

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/cantledb/cantle/compat-tests/faults/programme"
	"github.com/cantledb/cantle/compat-tests/rig/harness"
	"github.com/cantledb/cantle/internal/testenv"
)

// residentMax is the maximum resident memory of the server in bytes while it sorts or groups any amount.
const residentMax = 512 << 20

// The server stores only a thousand documents of a kilobyte each; the pipelines repeat each many times.
const (
	stored   = 1000
	padBytes = 1000
)

// copies returns how many times a test's pipeline repeats each stored document.
func copies() int {
	if testenv.IsNightly() {
		return 2000
	}
	return 100
}

// start starts a server with the data folder dir, and returns it with the database of the tests.
func start(t *testing.T, dir string) (*harness.Server, *mongo.Database) {
	t.Helper()
	server, err := harness.Launch(harness.Options{Data: dir, Args: []string{"--cache-size", "64MB"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Kill)
	return server, server.Client(t).Database("spill")
}

// fill stores the documents.
func fill(ctx context.Context, t *testing.T, db *mongo.Database) {
	t.Helper()
	var docs []any
	for i := range stored {
		docs = append(docs, bson.D{{Key: "_id", Value: i}, {Key: "pad", Value: strings.Repeat(strconv.Itoa(i%10), padBytes)}})
	}
	if _, err := db.Collection("base").InsertMany(ctx, docs); err != nil {
		t.Fatal(err)
	}
}

// repeated returns a pipeline that repeats each stored document n times and gives each copy a key k in scattered
// order.
func repeated(n int) bson.A {
	return bson.A{
		bson.D{{Key: "$set", Value: bson.D{{Key: "r", Value: bson.D{{Key: "$range", Value: bson.A{0, n}}}}}}},
		bson.D{{Key: "$unwind", Value: "$r"}},
		bson.D{{Key: "$set", Value: bson.D{{Key: "k", Value: bson.D{{Key: "$mod", Value: bson.A{
			bson.D{{Key: "$add", Value: bson.A{
				bson.D{{Key: "$multiply", Value: bson.A{"$r", 7919}}}, bson.D{{Key: "$multiply", Value: bson.A{"$_id", 104729}}},
			}}}, 1000003,
		}}}}}}},
	}
}

// sorted returns a pipeline that sorts n copies of each document by k and returns their keys and sizes.
func sorted(n int) bson.A {
	return append(repeated(n),
		bson.D{{Key: "$sort", Value: bson.D{{Key: "k", Value: 1}}}},
		bson.D{{Key: "$project", Value: bson.D{{Key: "_id", Value: 0}, {Key: "k", Value: 1}, {Key: "n", Value: bson.D{{Key: "$strLenBytes", Value: "$pad"}}}}}})
}

func TestMemoryOfSortAndGroup(t *testing.T) {
	testenv.SkipWithURI(t)
	ctx := t.Context()
	server, db := start(t, t.TempDir())
	fill(ctx, t, db)
	n := copies()
	cursor, err := db.Collection("base").Aggregate(ctx, sorted(n))
	if err != nil {
		t.Fatal(err)
	}
	rows, bytes, last := 0, int64(0), int64(-1)
	for cursor.Next(ctx) {
		k, size := cursor.Current.Lookup("k").AsInt64(), cursor.Current.Lookup("n").AsInt64()
		if k < last {
			t.Fatalf("row %d: %d after %d", rows, k, last)
		}
		rows, bytes, last = rows+1, bytes+size, k
	}
	if err := cursor.Err(); err != nil || rows != n*stored || bytes != int64(n*stored*padBytes) {
		t.Fatalf("%d documents of %d bytes, %v", rows, bytes, err)
	}
	checkResident(t, server, "the sort")

	cursor, err = db.Collection("base").Aggregate(ctx, append(repeated(n),
		bson.D{{Key: "$group", Value: bson.D{{Key: "_id", Value: bson.D{{Key: "a", Value: "$_id"}, {Key: "r", Value: "$r"}}}, {Key: "pad", Value: bson.D{{Key: "$first", Value: "$pad"}}}}}},
		bson.D{{Key: "$group", Value: bson.D{{Key: "_id", Value: nil}, {Key: "n", Value: bson.D{{Key: "$sum", Value: 1}}}, {Key: "b", Value: bson.D{{Key: "$sum", Value: bson.D{{Key: "$strLenBytes", Value: "$pad"}}}}}}}}))
	if err != nil {
		t.Fatal(err)
	}
	var out []struct{ N, B int64 }
	if err := cursor.All(ctx, &out); err != nil || len(out) != 1 || out[0].N != int64(n*stored) || out[0].B != int64(n*stored*padBytes) {
		t.Fatalf("%+v, %v", out, err)
	}
	checkResident(t, server, "the group")
	if err := server.Stop(); err != nil {
		t.Error(err)
	}
}

// checkResident checks that the peak resident memory of the server is at most residentMax.
func checkResident(t *testing.T, server *harness.Server, what string) {
	t.Helper()
	peak, ok := server.PeakBytes()
	if !ok {
		t.Log("this machine does not tell how much memory a process has")
		return
	}
	t.Logf("%d MB resident at most after %s", peak>>20, what)
	if peak > residentMax {
		t.Errorf("%d MB resident after %s, want at most %d MB", peak>>20, what, residentMax>>20)
	}
}

// TestKillLeavesNothing checks that a server that is killed during a sort, and while $out fills its target, leaves
// neither temporary files nor collections.
func TestKillLeavesNothing(t *testing.T) {
	testenv.SkipWithURI(t)
	programme.RecordAtEnd(t, "kill", 0, func() (int, string) { return 1, "" })
	ctx := t.Context()
	dir := t.TempDir()
	server, db := start(t, dir)
	fill(ctx, t, db)
	// This cursor stays in the middle of a sort that has spilled to files.
	limit := bson.D{{Key: "setParameter", Value: 1}, {Key: "internalQueryMaxBlockingSortMemoryUsageBytes", Value: 1 << 20}}
	if err := db.Client().Database("admin").RunCommand(ctx, limit).Err(); err != nil {
		t.Fatal(err)
	}
	cursor, err := db.Collection("base").Aggregate(ctx, sorted(20), options.Aggregate().SetBatchSize(2))
	if err != nil {
		t.Fatal(err)
	}
	if !cursor.Next(ctx) {
		t.Fatal("no documents: ", cursor.Err())
	}
	if n, ok := openScratch(server); ok && n == 0 {
		t.Error("the sort did not spill")
	}
	// This $out takes so long that the kill interrupts it.
	go func() {
		c, err := db.Collection("base").Aggregate(context.WithoutCancel(ctx), append(repeated(5000), bson.D{{Key: "$unset", Value: "_id"}}, bson.D{{Key: "$out", Value: "target"}}))
		if err == nil {
			c.Close(context.WithoutCancel(ctx))
		}
	}()
	for deadline := time.Now().Add(5 * time.Minute); len(unfinished(ctx, t, db)) == 0; {
		if time.Now().After(deadline) {
			t.Fatal("$out does not fill a collection")
		}
		time.Sleep(5 * time.Millisecond)
	}
	server.Kill()
	if left := files(t, filepath.Join(dir, "scratch")); len(left) > 0 {
		t.Errorf("left on the disk: %v", left)
	}
	_, db = start(t, dir)
	if left := unfinished(ctx, t, db); len(left) > 0 {
		t.Errorf("left in the catalog: %v", left)
	}
	if n, err := db.Collection("base").CountDocuments(ctx, bson.D{}); err != nil || n != stored {
		t.Errorf("%d documents, %v", n, err)
	}
	if n, err := db.Collection("target").CountDocuments(ctx, bson.D{}); err != nil || n != 0 {
		t.Errorf("%d documents in the target, %v", n, err)
	}
}

// unfinished lists the collections that $out fills.
func unfinished(ctx context.Context, t *testing.T, db *mongo.Database) []string {
	t.Helper()
	names, err := db.ListCollectionNames(ctx, bson.D{{Key: "name", Value: bson.Regex{Pattern: "^tmp[.]agg_out"}}})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// files lists what a folder holds.
func files(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

// openScratch returns the number of files that the server has open in the folder for spilled data; ok is false on
// systems that do not report it.
func openScratch(server *harness.Server) (n int, ok bool) {
	dir := fmt.Sprintf("/proc/%d/fd", server.PID())
	entries, err := os.ReadDir(dir)
	if err != nil {
		return 0, false
	}
	for _, e := range entries {
		if to, err := os.Readlink(filepath.Join(dir, e.Name())); err == nil && strings.Contains(to, "/scratch/") {
			n++
		}
	}
	return n, true
}
