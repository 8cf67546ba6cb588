package cli

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// The profiler settings of the flags apply to a database from the start, until a command changes them, and again
// after a restart.
func TestProfileSettings(t *testing.T) {
	dir := t.TempDir()
	for range 2 {
		d := startWith(t, "--data", dir, "--profile", "1", "--slowms", "0", "--slow-sample-rate", "1")
		client, err := mongo.Connect(options.Client().ApplyURI(d.URI()))
		if err != nil {
			t.Fatal(err)
		}
		db := client.Database("shop")
		profile := func(level int) (is struct{ Was, SlowMS int }) {
			t.Helper()
			if err := db.RunCommand(t.Context(), bson.D{{Key: "profile", Value: level}}).Decode(&is); err != nil {
				t.Fatal(err)
			}
			return is
		}
		if is := profile(-1); is.Was != 1 || is.SlowMS != 0 {
			t.Errorf("the profiler begins with %+v", is)
		}
		if _, err := db.Collection("orders").InsertOne(t.Context(), bson.D{}); err != nil {
			t.Fatal(err)
		}
		if n, err := db.Collection("system.profile").CountDocuments(t.Context(), bson.D{{Key: "op", Value: "insert"}}); err != nil || n == 0 {
			t.Errorf("%d inserts were recorded, %v", n, err)
		}
		if n, err := client.Database("none").Collection("orders").CountDocuments(t.Context(), bson.D{}); err != nil || n != 0 {
			t.Errorf("%d, %v", n, err)
		}
		names, err := client.ListDatabaseNames(t.Context(), bson.D{{Key: "name", Value: "none"}})
		if err != nil || len(names) > 0 {
			t.Errorf("a read has made %v, %v", names, err)
		}
		profile(0)
		if is := profile(-1); is.Was != 0 {
			t.Errorf("after it was ended it is %+v", is)
		}
		if err := client.Disconnect(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := d.Stop(); err != nil {
			t.Fatal(err)
		}
	}
}
