package cli

import (
	"math/rand/v2"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// cantle compact finds, estimates and frees the space that a large delete leaves in the files; afterwards at most 2
// MB are estimated. The other documents and their index entries remain.
func TestCompact(t *testing.T) {
	t.Parallel()
	d := startWith(t, "--data", t.TempDir())
	client, err := mongo.Connect(options.Client().ApplyURI(d.URI()))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Disconnect(t.Context())
	coll := client.Database("shop").Collection("orders")
	if _, err := coll.Indexes().CreateOne(t.Context(), mongo.IndexModel{Keys: bson.D{{Key: "n", Value: 1}, {Key: "text", Value: 1}}}); err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	random := func(n int) []byte {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(rng.Uint32())
		}
		return b
	}
	const docs = 16000
	for at := 0; at < docs; at += 1000 {
		var batch []any
		for i := range 1000 {
			batch = append(batch, bson.D{{Key: "_id", Value: at + i}, {Key: "n", Value: (at + i) % 10}, {Key: "text", Value: string(random(50))}, {Key: "rest", Value: random(3000)}})
		}
		if _, err := coll.InsertMany(t.Context(), batch); err != nil {
			t.Fatal(err)
		}
	}
	command := func(cmd bson.D) (freed int64) {
		t.Helper()
		reply, err := client.Database("shop").RunCommand(t.Context(), cmd).Raw()
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"bytesFreed", "estimatedBytesFreed"} {
			if v := reply.Lookup(name); v.Type != 0 {
				return v.AsInt64()
			}
		}
		t.Fatal(reply)
		return 0
	}
	if n := command(bson.D{{Key: "compact", Value: "orders"}, {Key: "dryRun", Value: true}}); n > 10<<20 {
		t.Errorf("%d bytes of 48 MB could become free before anything was deleted", n)
	}
	if _, err := coll.DeleteMany(t.Context(), bson.D{{Key: "_id", Value: bson.D{{Key: "$gte", Value: docs / 4}}}}); err != nil {
		t.Fatal(err)
	}
	estimate := command(bson.D{{Key: "compact", Value: "orders"}, {Key: "dryRun", Value: true}})
	if estimate < 20<<20 || estimate > 60<<20 {
		t.Errorf("the estimate is %d bytes of about 36 MB", estimate)
	}
	if n := command(bson.D{{Key: "compact", Value: "orders"}, {Key: "freeSpaceTargetMB", Value: 1000}}); n != 0 {
		t.Errorf("%d bytes became free although a thousand MB were the least", n)
	}
	status, out := verbOut(t, "compact", "--dry-run", d.URI(), "shop")
	if status != 0 || !strings.Contains(out, "shop.orders") || !strings.Contains(out, "would become free") {
		t.Errorf("status %d: %s", status, out)
	}
	if status, out := verbOut(t, "compact", d.URI()); status != 0 || !strings.Contains(out, "shop.orders") || !strings.Contains(out, "MB of 1 collection became free") {
		t.Errorf("status %d: %s", status, out)
	}
	if n := command(bson.D{{Key: "compact", Value: "orders"}, {Key: "dryRun", Value: true}}); n > 2<<20 {
		t.Errorf("%d bytes could become free after all did", n)
	}
	var stats struct{ StorageSize, TotalIndexSize int64 }
	if err := client.Database("shop").RunCommand(t.Context(), bson.D{{Key: "collStats", Value: "orders"}}).Decode(&stats); err != nil {
		t.Fatal(err)
	}
	if stats.StorageSize > 16<<20 {
		t.Errorf("collStats says that 12 MB of documents take %d bytes", stats.StorageSize)
	}
	if n, err := coll.CountDocuments(t.Context(), bson.D{{Key: "n", Value: 3}}); err != nil || n != docs/40 {
		t.Errorf("%d documents by the index, %v", n, err)
	}
	if status, out := verbOut(t, "compact", d.URI(), "none"); status != 1 || !strings.Contains(out, "the database none does not exist") {
		t.Errorf("%d %s", status, out)
	}
	if status, out := verbOut(t, "compact", d.URI(), "shop.none"); status != 1 || !strings.Contains(out, "shop.none") {
		t.Errorf("status %d: %s", status, out)
	}
}
