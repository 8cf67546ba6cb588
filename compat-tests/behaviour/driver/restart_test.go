package driver

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/cantledb/cantle/compat-tests/rig/harness"
)

// TestShardingSettingsSurviveRestart checks that settings of sharding survive a restart of the server: zones of a
// collection that does not exist yet, the shard of a moved collection, query sampling and its samples, and
// restrictions of the balancer.
func TestShardingSettingsSurviveRestart(t *testing.T) {
	ctx := harness.Context(t)
	o := harness.Options{Data: t.TempDir()}
	var client *mongo.Client
	start := func() *harness.Server {
		server, err := harness.Launch(o)
		if err != nil {
			t.Fatal(err)
		}
		if client, err = harness.Connect(server.URI); err != nil {
			t.Fatal(err)
		}
		return server
	}
	admin := func(cmd bson.D) {
		t.Helper()
		if err := client.Database("admin").RunCommand(ctx, cmd).Err(); err != nil {
			t.Fatalf("%v: %v", cmd, err)
		}
	}
	count := func(coll string, filter bson.D) int64 {
		t.Helper()
		n, err := client.Database("config").Collection(coll).CountDocuments(ctx, filter)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	server := start()
	app := client.Database("app")
	if _, err := app.Collection("plain").InsertMany(ctx, []any{bson.D{{Key: "_id", Value: 1}}, bson.D{{Key: "_id", Value: 2}}}); err != nil {
		t.Fatal(err)
	}
	admin(bson.D{{Key: "shardCollection", Value: "app.wide"}, {Key: "key", Value: bson.D{{Key: "a", Value: "hashed"}}}, {Key: "numInitialChunks", Value: 4}})
	admin(bson.D{{Key: "moveCollection", Value: "app.plain"}, {Key: "toShard", Value: "p3"}})
	admin(bson.D{{Key: "addShardToZone", Value: "p0"}, {Key: "zone", Value: "north"}})
	admin(bson.D{{Key: "updateZoneKeyRange", Value: "app.later"}, {Key: "min", Value: bson.D{{Key: "a", Value: 1}}},
		{Key: "max", Value: bson.D{{Key: "a", Value: 5}}}, {Key: "zone", Value: "north"}})
	admin(bson.D{{Key: "configureQueryAnalyzer", Value: "app.plain"}, {Key: "mode", Value: "full"}, {Key: "samplesPerSecond", Value: 50}})
	if err := app.Collection("plain").FindOne(ctx, bson.D{{Key: "_id", Value: 1}}).Err(); err != nil {
		t.Fatal(err)
	}
	off := bson.D{{Key: "$set", Value: bson.D{{Key: "enableAutoMerge", Value: false}}}}
	if _, err := client.Database("config").Collection("collections").UpdateOne(ctx, bson.D{{Key: "_id", Value: "app.wide"}}, off); err != nil {
		t.Fatal(err)
	}
	_ = client.Disconnect(ctx)
	if err := server.Stop(); err != nil {
		t.Fatal(err)
	}

	server = start()
	defer func() {
		_ = client.Disconnect(ctx)
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	}()
	app = client.Database("app")
	if err := app.Collection("plain").FindOne(ctx, bson.D{{Key: "_id", Value: 2}}).Err(); err != nil { // must be sampled after the restart
		t.Fatal(err)
	}
	if n := count("sampledQueries", bson.D{{Key: "ns", Value: "app.plain"}}); n != 2 {
		t.Errorf("%d samples, want 2", n)
	}
	if n := count("tags", bson.D{{Key: "ns", Value: "app.later"}}); n != 1 {
		t.Errorf("%d planned zones, want 1", n)
	}
	if n := count("collections", bson.D{{Key: "_id", Value: "app.wide"}, {Key: "enableAutoMerge", Value: false}}); n != 1 {
		t.Error("merging is allowed again")
	}
	admin(bson.D{{Key: "shardCollection", Value: "app.later"}, {Key: "key", Value: bson.D{{Key: "a", Value: 1}}}})
	if n := count("chunks", bson.D{{Key: "min.a", Value: 1}, {Key: "max.a", Value: 5}}); n != 1 {
		t.Errorf("%d chunks are the zone, want 1", n)
	}
	cursor, err := app.Collection("plain").Aggregate(ctx, bson.A{bson.D{{Key: "$collStats", Value: bson.D{{Key: "count", Value: bson.D{}}}}}})
	var stats []struct {
		Shard string
		Count int
	}
	if err == nil {
		err = cursor.All(ctx, &stats)
	}
	if err != nil || len(stats) != 1 || stats[0].Shard != "p3" || stats[0].Count != 2 {
		t.Errorf("%+v: %v", stats, err)
	}
}
