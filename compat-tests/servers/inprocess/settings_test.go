package inprocess

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/cantledb/cantle/bson/bsontest"
)

// admin runs a command on the database admin.
func (g *gateway) admin(t *testing.T, cmd bson.D) bson.Raw {
	t.Helper()
	raw, err := g.Database("admin").RunCommand(t.Context(), cmd).Raw()
	bsontest.Must(t, err)
	return raw
}

// TestSettings checks that a cluster-wide setting is effective at all servers when its command returns, and
// that concurrent settings are not lost.
func TestSettings(t *testing.T) {
	g := several(t, 3)
	g[0].admin(t, bson.D{{Key: "setDefaultRWConcern", Value: 1}, {Key: "defaultReadConcern", Value: bson.M{"level": "majority"}}})
	g[1].admin(t, bson.D{{Key: "setDefaultRWConcern", Value: 1}, {Key: "defaultWriteConcern", Value: bson.M{"w": 1}}})
	g[0].admin(t, bson.D{{Key: "setClusterParameter", Value: bson.M{"defaultMaxTimeMS": bson.M{"readOperations": 12345}}}})
	g[1].admin(t, bson.D{{Key: "setClusterParameter", Value: bson.M{"changeStreams": bson.M{"expireAfterSeconds": 77}}}})
	g[2].admin(t, bson.D{{Key: "balancerStop", Value: 1}})
	g[0].admin(t, bson.D{{Key: "addShardToZone", Value: "p0"}, {Key: "zone", Value: "north"}})
	g[1].admin(t, bson.D{{Key: "updateZoneKeyRange", Value: "test.later"}, {Key: "min", Value: bson.M{"a": 0}}, {Key: "max", Value: bson.M{"a": 9}}, {Key: "zone", Value: "north"}})
	insert(t, g[0].coll("x"), bson.M{"_id": 1, "a": 1})
	g[2].admin(t, bson.D{{Key: "configureQueryAnalyzer", Value: "test.x"}, {Key: "mode", Value: "full"}, {Key: "samplesPerSecond", Value: 3.0}})
	g[0].admin(t, bson.D{{Key: "setQuerySettings", Value: bson.D{{Key: "find", Value: "x"}, {Key: "filter", Value: bson.M{"a": 1}}, {Key: "$db", Value: "test"}}}, {Key: "settings", Value: bson.M{"reject": true}}})
	for i := range g {
		set := g[i].admin(t, bson.D{{Key: "getDefaultRWConcern", Value: 1}})
		want(t, "default read concern", set.Lookup("defaultReadConcern", "level").StringValue(), "majority")
		want(t, "default write concern", set.Lookup("defaultWriteConcern", "w").AsInt64(), 1)
		params := g[i].admin(t, bson.D{{Key: "getClusterParameter", Value: "*"}}).String()
		for _, part := range []string{"12345", "77"} {
			if !strings.Contains(params, part) {
				t.Errorf("the cluster parameters at %d: %s", i, params)
			}
		}
		want(t, "balancer", g[i].admin(t, bson.D{{Key: "balancerStatus", Value: 1}}).Lookup("mode").StringValue(), "off")
		for coll, part := range map[string]string{"tags": "north", "queryAnalyzers": "test.x"} {
			cur, err := g[i].Database("config").Collection(coll).Find(t.Context(), bson.M{})
			bsontest.Must(t, err)
			var docs []bson.Raw
			bsontest.Must(t, cur.All(t.Context(), &docs))
			if !strings.Contains(fmt.Sprint(docs), part) {
				t.Errorf("config.%s at %d: %v", coll, i, docs)
			}
		}
		if _, err := g[i].coll("x").Find(t.Context(), bson.M{"a": 1}); err == nil || !strings.Contains(err.Error(), "reject") {
			t.Errorf("a query that is to be rejected, at %d: %v", i, err)
		}
	}
	const each = 8
	var wg sync.WaitGroup
	for i := range g {
		wg.Go(func() {
			for n := range each {
				err := g[i].Database("admin").RunCommand(t.Context(), bson.D{{Key: "addShardToZone", Value: "p0"}, {Key: "zone", Value: fmt.Sprintf("z%d-%d", i, n)}}).Err()
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	for i := range g {
		cur, err := g[i].Database("config").Collection("shards").Find(t.Context(), bson.M{})
		bsontest.Must(t, err)
		var docs []struct{ Tags []string }
		bsontest.Must(t, cur.All(t.Context(), &docs))
		want(t, "zones of the shard", len(docs[0].Tags), 1+each*len(g))
	}
	late := startLike(t, g[0])
	want(t, "balancer at a new one", late.admin(t, bson.D{{Key: "balancerStatus", Value: 1}}).Lookup("mode").StringValue(), "off")
	late.admin(t, bson.D{{Key: "setUserWriteBlockMode", Value: 1}, {Key: "global", Value: true}})
	for i := range g {
		if _, err := g[i].coll("x").InsertOne(t.Context(), bson.M{}); err == nil {
			t.Errorf("%d takes writes that are blocked", i)
		}
	}
}
