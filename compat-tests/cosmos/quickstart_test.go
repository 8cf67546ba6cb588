package cosmos

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/cantledb/cantle/compat-tests/harness"
)

// The statements of Microsoft's quickstart for Python: a collection without a shard key
// shares the throughput of its database, and so does one that an insert makes.
// Source: Azure-Samples/azure-cosmos-db-mongodb-python-getting-started, 001-quickstart/run.py;
// Azure Cosmos DB for MongoDB, "custom-commands".
func TestPythonQuickstart(t *testing.T) {
	s := start(t)
	db := connect(t, s.CosmosURI).Database("cosmicworks")
	run(t, db, d("customAction", "CreateDatabase", "offerThroughput", 400))
	run(t, db, d("customAction", "CreateCollection", "collection", "products"))
	run(t, db, d("customAction", "UpdateCollection", "collection", "products",
		"indexes", bson.A{d("key", d("_id", 1), "name", "_id_1"), d("key", d("name", 2), "name", "_id_2")}))
	ctx, products := harness.Context(t), db.Collection("products")
	specs, err := products.Indexes().ListSpecifications(ctx)
	if err != nil || len(specs) != 2 || specs[0].Name != "_id_" || specs[1].Name != "name_1" {
		t.Errorf("indexes %v, %v", specs, err) // as the sample prints them
	}
	product := d("category", "gear-surf-surfboards", "name", "Yamba Surfboard-50", "quantity", 1, "sale", false)
	up, err := products.UpdateOne(ctx, d("name", "Yamba Surfboard-50"), d("$set", product), options.UpdateOne().SetUpsert(true))
	if err != nil || up.UpsertedCount != 1 {
		t.Fatalf("%+v, %v", up, err)
	}
	var found bson.M
	if err := products.FindOne(ctx, d("_id", up.UpsertedID)).Decode(&found); err != nil || found["name"] != "Yamba Surfboard-50" {
		t.Errorf("found %v, %v", found, err)
	}
	sorted, err := products.Find(ctx, d("category", "gear-surf-surfboards"), options.Find().SetSort(d("name", 1)))
	if err != nil {
		t.Fatal(err)
	}
	var all []bson.M
	if err := sorted.All(ctx, &all); err != nil || len(all) != 1 {
		t.Errorf("sorted by name: %v, %v", all, err)
	}
	for name, filter := range map[string]bson.D{"all": {}, "category": d("category", "gear-surf-surfboards")} {
		if n, err := products.CountDocuments(ctx, filter); err != nil || n != 1 {
			t.Errorf("%s: %d, %v", name, n, err)
		}
	}
	if _, err := db.Collection("made").InsertOne(ctx, d("_id", 1)); err != nil {
		t.Errorf("an insert makes a collection: %v", err)
	}
	for _, name := range []string{"products", "made"} {
		if r := run(t, db, d("customAction", "GetCollection", "collection", name)); r.Lookup("provisionedThroughput").Type != 0 {
			t.Errorf("%s has throughput of its own: %v", name, r)
		}
	}
}
