package inprocess

import (
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/cantledb/cantle/bson/bsontest"
)

// TestPlannedThroughputOnce checks that of two servers, each with a clock that has reached the time of a planned change,
// one makes it, and that both then have its RU/s.
func TestPlannedThroughputOnce(t *testing.T) {
	first := start(t, newCluster(t), "--enable-test-commands")
	waitListed(t, first)
	both := []*gateway{first, startLike(t, first, "--enable-test-commands")}
	waitListed(t, both...)
	run := func(g *gateway, command bson.D) bson.Raw {
		reply, err := g.Database("shop").RunCommand(t.Context(), command).Raw()
		if err != nil {
			t.Errorf("%v: %v", command, err)
			return bson.Raw{5, 0, 0, 0, 0}
		}
		return reply
	}
	action := func(name string, more ...bson.E) bson.D {
		return append(bson.D{{Key: "customAction", Value: name}}, more...)
	}
	coll, day := bson.E{Key: "collection", Value: "c"}, time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	run(first, action("CreateCollection", coll, bson.E{Key: "offerThroughput", Value: 1000}))
	run(both[1], action("PrepareThroughput", coll, bson.E{Key: "offerThroughput", Value: 5000}, bson.E{Key: "from", Value: day}, bson.E{Key: "to", Value: day.Add(time.Hour)}))
	for i, c := range []struct {
		at   time.Time
		want int64
	}{{day, 5000}, {day.Add(time.Hour), 1000}} {
		var all sync.WaitGroup
		for _, g := range both {
			all.Go(func() {
				run(g, action("Clock", bson.E{Key: "stop", Value: true}, bson.E{Key: "advanceTo", Value: c.at}))
			})
		}
		all.Wait()
		changes := int64(0)
		for _, g := range both {
			if got, _ := run(g, action("GetCollection", coll)).Lookup("provisionedThroughput").AsInt64OK(); got != c.want {
				t.Errorf("%d RU/s, want %d", got, c.want)
			}
			var status struct {
				RequestUnits struct {
					PlannedChanges int64 `bson:"plannedChanges"`
				} `bson:"requestUnits"`
			}
			bsontest.Must(t, g.Database("admin").RunCommand(t.Context(), bson.D{{Key: "serverStatus", Value: 1}}).Decode(&status))
			changes += status.RequestUnits.PlannedChanges
		}
		if changes != int64(i+1) {
			t.Errorf("%d changes, want %d", changes, i+1)
		}
	}
}
