package protocol

import (
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/cantledb/cantle/compat-tests/rig/harness"
)

// TestWorkOutlivesItsClient checks that long work on a collection, such as an index build, goes on when its client
// disconnects. A fail point delays the command by two seconds, in which the server notices the disconnect.
// Manual: core/index-creation, core/sharding-reshard-a-collection.
func TestWorkOutlivesItsClient(t *testing.T) {
	s := harness.Start(t, harness.Options{Args: []string{"--enable-test-commands"}})
	db := s.Client(t).Database("shop")
	ctx := t.Context()
	key := func(name string) string {
		var out struct{ Key bson.D }
		_ = db.Client().Database("config").Collection("collections").FindOne(ctx, bson.D{{Key: "_id", Value: "shop." + name}}).Decode(&out)
		if len(out.Key) == 0 {
			return ""
		}
		return out.Key[0].Key
	}
	sharded := func(name string) {
		if _, err := db.Collection(name).Indexes().CreateOne(ctx, mongo.IndexModel{Keys: bson.D{{Key: "a", Value: 1}}}); err != nil {
			t.Fatal(err)
		}
		command := bson.D{{Key: "shardCollection", Value: "shop." + name}, {Key: "key", Value: bson.D{{Key: "a", Value: 1}}}}
		if err := db.Client().Database("admin").RunCommand(ctx, command).Err(); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name    string
		prepare func(coll string)
		at      string
		command func(coll string) bson.D
		done    func(coll string) bool
	}{
		{"createIndexes", nil, "shop", func(coll string) bson.D {
			return bson.D{{Key: "createIndexes", Value: coll}, {Key: "indexes", Value: bson.A{bson.D{{Key: "key", Value: bson.D{{Key: "b", Value: 1}}}, {Key: "name", Value: "b_1"}}}}}
		}, func(coll string) bool {
			list, err := db.Collection(coll).Indexes().ListSpecifications(ctx)
			return err == nil && len(list) == 2
		}},
		{"shardCollection", nil, "admin", func(coll string) bson.D {
			return bson.D{{Key: "shardCollection", Value: "shop." + coll}, {Key: "key", Value: bson.D{{Key: "_id", Value: 1}}}}
		}, func(coll string) bool { return key(coll) == "_id" }},
		{"reshardCollection", sharded, "admin", func(coll string) bson.D {
			return bson.D{{Key: "reshardCollection", Value: "shop." + coll}, {Key: "key", Value: bson.D{{Key: "b", Value: 1}}}}
		}, func(coll string) bool { return key(coll) == "b" }},
		{"unshardCollection", sharded, "admin", func(coll string) bson.D {
			return bson.D{{Key: "unshardCollection", Value: "shop." + coll}}
		}, func(coll string) bool { return key(coll) == "" }},
		{"convertToCapped", nil, "shop", func(coll string) bson.D {
			return bson.D{{Key: "convertToCapped", Value: coll}, {Key: "size", Value: 1 << 20}}
		}, func(coll string) bool {
			specs, err := db.ListCollectionSpecifications(ctx, bson.D{{Key: "name", Value: coll}, {Key: "options.capped", Value: true}})
			return err == nil && len(specs) == 1
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := db.Collection(c.name).InsertMany(ctx, []any{bson.D{{Key: "_id", Value: 1}, {Key: "a", Value: 1}, {Key: "b", Value: 1}}}); err != nil {
				t.Fatal(err)
			}
			if c.prepare != nil {
				c.prepare(c.name)
			}
			leave(t, s, c.name, c.at, c.command(c.name))
			for range 200 {
				if c.done(c.name) {
					return
				}
				time.Sleep(50 * time.Millisecond)
			}
			t.Error("the work ended with its client")
		})
	}
}

// leave sends a command, which a fail point delays by two seconds before it begins, and disconnects as soon as the
// server lists the command.
func leave(t *testing.T, s *harness.Server, name, at string, command bson.D) {
	t.Helper()
	admin := s.Client(t).Database("admin")
	err := admin.RunCommand(t.Context(), bson.D{{Key: "configureFailPoint", Value: "failCommand"}, {Key: "mode", Value: bson.D{{Key: "times", Value: 1}}},
		{Key: "data", Value: bson.D{{Key: "failCommands", Value: bson.A{name}}, {Key: "blockConnection", Value: true}, {Key: "blockTimeMS", Value: 2000}}}}).Err()
	if err != nil {
		t.Fatal(err)
	}
	c := s.Dial(t)
	if err := c.Send(at, marshal(t, command), 0); err != nil {
		t.Fatal(err)
	}
	for range 200 {
		var out struct{ Inprog []bson.Raw }
		filter := bson.D{{Key: "currentOp", Value: 1}, {Key: "command." + name, Value: bson.D{{Key: "$exists", Value: true}}}}
		if err := admin.RunCommand(t.Context(), filter).Decode(&out); err != nil {
			t.Fatal(err)
		}
		if len(out.Inprog) > 0 {
			c.Close()
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("%s does not run", name)
}
