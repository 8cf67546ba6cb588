package cosmos

import (
	"bytes"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"

	"github.com/cantledb/cantle/compat-tests/rig/harness"
)

// TestGridFS checks that a driver can store files that are larger than a document through the Cosmos address, and
// read them by the indexes that the driver creates.
// Source: Azure Cosmos DB for MongoDB, "feature-support-70", GridFS.
func TestGridFS(t *testing.T) {
	db := connect(t, start(t).CosmosURI).Database("files")
	run(t, db, d("customAction", "CreateDatabase", "offerThroughput", 10000))
	ctx, bucket := harness.Context(t), db.GridFSBucket()
	revisions := [][]byte{bytes.Repeat([]byte("0123456789abcdef"), 140_000), []byte("short")}
	for _, file := range revisions {
		if _, err := bucket.UploadFromStream(ctx, "f", bytes.NewReader(file)); err != nil {
			t.Fatal(err)
		}
	}
	for asked, revision := range map[int32]int{0: 0, 1: 1, -1: 1} {
		var got bytes.Buffer
		if _, err := bucket.DownloadToStreamByName(ctx, "f", &got, options.GridFSName().SetRevision(asked)); err != nil || !bytes.Equal(got.Bytes(), revisions[revision]) {
			t.Errorf("revision %d: %d bytes, %v", asked, got.Len(), err)
		}
	}
	chunks := db.Collection("fs.chunks")
	for name, filter := range map[string]any{"all files": bson.D{}, "several files": d("files_id", d("$gt", 1))} {
		cur, err := chunks.Find(ctx, filter, options.Find().SetSort(d("n", 1)))
		if err == nil {
			_ = cur.Close(ctx)
			t.Errorf("%s are sorted by a field without an index", name)
		}
	}
}

// TestWriteConcernsOfClients checks that an account ignores the write concern of a client: it also accepts values
// that the MongoDB address refuses.
// Source: Azure Cosmos DB for MongoDB, "feature-support-70", Write concerns.
func TestWriteConcernsOfClients(t *testing.T) {
	s := start(t)
	for _, w := range []*writeconcern.WriteConcern{{W: 3}, {W: "zones"}, writeconcern.Majority()} {
		coll := connect(t, s.CosmosURI).Database("concerns").Collection("c", options.Collection().SetWriteConcern(w))
		if r, err := coll.InsertOne(harness.Context(t), d("w", w.W)); err != nil || !r.Acknowledged {
			t.Errorf("%v: %v", w.W, err)
		}
		if _, err := connect(t, s.URI).Database("concerns").Collection("c", options.Collection().SetWriteConcern(w)).InsertOne(harness.Context(t), bson.D{}); (err != nil) != (w.W != "majority") {
			t.Errorf("%v at the MongoDB address: %v", w.W, err)
		}
	}
}
