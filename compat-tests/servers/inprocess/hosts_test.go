package inprocess

import (
	"fmt"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/cantledb/cantle/bson/bsontest"
)

// hosts returns the distinct hosts in the documents that an aggregation returns.
func hosts(t *testing.T, found *mongo.Cursor, err error) string {
	t.Helper()
	bsontest.Must(t, err)
	var docs []struct{ Host string }
	bsontest.Must(t, found.All(t.Context(), &docs))
	var list []string
	seen := map[string]bool{}
	for _, d := range docs {
		if !seen[d.Host] {
			seen[d.Host], list = true, append(list, d.Host)
		}
	}
	return strings.Join(list, " ")
}

// TestHosts sends two servers on one machine the commands about a single server: each reply names its server
// by the address that clients use.
func TestHosts(t *testing.T) {
	c := newCluster(t)
	names := []string{"one.example:27017", "two.example:27017"}
	g := []*gateway{start(t, c, "--advertise", names[0]), start(t, c, "--advertise", names[1])}
	insert(t, g[0].coll("x"), bson.M{"_id": 1})
	for i, one := range g {
		var status struct{ Host, Process string }
		bsontest.Must(t, bson.Unmarshal(one.admin(t, bson.D{{Key: "serverStatus", Value: 1}}), &status))
		want(t, "serverStatus", status.Host+" "+status.Process, names[i]+" mongos")
		for _, stage := range []bson.M{{"$collStats": bson.M{"latencyStats": bson.M{}}}, {"$indexStats": bson.M{}}} {
			found, err := one.coll("x").Aggregate(t.Context(), bson.A{stage})
			want(t, fmt.Sprint(stage), hosts(t, found, err), names[i])
		}
		for _, local := range []bool{true, false} {
			found, err := one.Database("admin").Aggregate(t.Context(), bson.A{bson.M{"$currentOp": bson.M{"idleConnections": true, "localOps": local}},
				bson.M{"$match": bson.M{"connectionId": bson.M{"$exists": true}}}})
			all := names[i]
			if !local {
				all += " " + names[1-i]
			}
			want(t, fmt.Sprint("$currentOp, local ", local), hosts(t, found, err), all)
		}
		var plan struct {
			ServerInfo struct {
				Host string
				Port int32
			} `bson:"serverInfo"`
		}
		bsontest.Must(t, one.Database("test").RunCommand(t.Context(), bson.D{{Key: "explain", Value: bson.D{{Key: "find", Value: "x"}}}}).Decode(&plan))
		want(t, "explain", fmt.Sprintf("%s:%d", plan.ServerInfo.Host, plan.ServerInfo.Port), names[i])
		profile := func(level int) {
			bsontest.Must(t, one.Database("test").RunCommand(t.Context(), bson.D{{Key: "profile", Value: level}}).Err())
		}
		profile(2)
		bsontest.Must(t, one.coll("x").FindOne(t.Context(), bson.M{}).Err())
		profile(0)
	}
	found, err := g[0].Database("test").Collection("system.profile").Aggregate(t.Context(), bson.A{
		bson.M{"$match": bson.M{"op": "query", "ns": "test.x"}}, bson.M{"$sort": bson.M{"host": 1}}})
	want(t, "the profile of both", hosts(t, found, err), names[0]+" "+names[1])
}
