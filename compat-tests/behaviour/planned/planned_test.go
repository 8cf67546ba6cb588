package planned

import (
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/cantledb/cantle/compat-tests/rig/harness"
	"github.com/cantledb/cantle/internal/testenv"
)

func TestCases(t *testing.T) {
	testenv.SkipWithURI(t)
	harness.RunCases(t, "cases", &harness.Config{Name: "clock", Flags: []string{"--enable-test-commands"}})
}

// killed is a server whose data outlive it, and its client.
type killed struct {
	*testing.T
	data   string
	server *harness.Server
	clock  time.Time // at the first start
}

// start starts the server again. Its clock is again that of the machine.
func (k *killed) start() {
	k.Helper()
	if k.server != nil {
		k.server.Kill()
	}
	var err error
	if k.server, err = harness.Launch(harness.Options{Data: k.data, Args: []string{"--enable-test-commands", "--sync=always"}}); err != nil {
		k.Fatal(err)
	}
}

// run runs a command with a client of its own.
func (k *killed) run(command bson.D) bson.Raw {
	k.Helper()
	c, err := harness.Connect(k.server.URI)
	if err != nil {
		k.Fatal(err)
	}
	defer harness.Disconnect(c)
	reply, err := c.Database("shop").RunCommand(k.Context(), command).Raw()
	if err != nil {
		k.Fatalf("%v: %v", command, err)
	}
	return reply
}

// advance advances the clock to a time after the first start.
func (k *killed) advance(d time.Duration) {
	k.Helper()
	k.run(bson.D{{Key: "customAction", Value: "Clock"}, {Key: "stop", Value: true}})
	k.run(bson.D{{Key: "customAction", Value: "Clock"}, {Key: "advanceTo", Value: k.clock.Add(d)}})
}

// throughput checks the RU/s of the collection.
func (k *killed) throughput(when string, want int64) bson.Raw {
	k.Helper()
	reply := k.run(bson.D{{Key: "customAction", Value: "GetCollection"}, {Key: "collection", Value: "c"}})
	if got := reply.Lookup("provisionedThroughput").AsInt64(); got != want {
		k.Errorf("%s: %d RU/s, want %d: %v", when, got, want, reply)
	}
	return reply
}

// TestPreparedAcrossKills kills the server before each change of prepared throughput and of a schedule. The next server
// splits the partitions, makes the change, or the one that it has missed.
func TestPreparedAcrossKills(t *testing.T) {
	testenv.SkipWithURI(t)
	k := &killed{T: t, data: t.TempDir()}
	k.start()
	defer func() { k.server.Kill() }()
	k.run(bson.D{{Key: "customAction", Value: "CreateCollection"}, {Key: "collection", Value: "c"}, {Key: "shardKey", Value: "k"}, {Key: "offerThroughput", Value: 1000}})
	var docs bson.A
	for i := range 100 {
		docs = append(docs, bson.D{{Key: "_id", Value: i}, {Key: "k", Value: i}})
	}
	k.run(bson.D{{Key: "insert", Value: "c"}, {Key: "documents", Value: docs}})
	k.clock = k.run(bson.D{{Key: "customAction", Value: "Clock"}, {Key: "stop", Value: true}}).Lookup("now").Time().Truncate(time.Second)
	k.run(bson.D{{Key: "customAction", Value: "PrepareThroughput"}, {Key: "collection", Value: "c"}, {Key: "offerThroughput", Value: 25_000},
		{Key: "from", Value: k.clock.Add(3 * time.Hour)}, {Key: "to", Value: k.clock.Add(5 * time.Hour)}})
	k.start()
	k.throughput("before the splits", 1000)
	k.advance(2*time.Hour + time.Minute)
	partitions := 0
	for tick := time.NewTicker(50 * time.Millisecond); partitions < 3; <-tick.C {
		list, err := k.run(bson.D{{Key: "customAction", Value: "GetPartitions"}, {Key: "collection", Value: "c"}}).Lookup("partitions").Array().Values()
		if partitions = len(list); err != nil {
			t.Fatal(err)
		}
	}
	if state := k.throughput("after the splits", 1000).Lookup("prepared", "0", "state").StringValue(); state != "ready" {
		t.Error(state)
	}
	k.start()
	k.advance(3 * time.Hour)
	k.throughput("from its beginning", 25_000)
	k.start() // with a clock before its beginning
	if state := k.throughput("with a clock that is behind", 25_000).Lookup("prepared", "0", "state").StringValue(); state != "running" {
		t.Error(state)
	}
	k.advance(5 * time.Hour)
	if rest := k.throughput("after its end", 1000); rest.Lookup("prepared").Type != 0 {
		t.Errorf("still planned: %v", rest)
	}

	// A schedule of which several rows are missed.
	at := k.clock.Add(10 * time.Hour).UTC()
	row := func(after time.Duration, ru int) bson.D {
		return bson.D{{Key: "cron", Value: at.Add(after).Format("4 15 2 1") + " *"}, {Key: "offerThroughput", Value: ru}}
	}
	k.run(bson.D{{Key: "customAction", Value: "ScheduleThroughput"}, {Key: "collection", Value: "c"},
		{Key: "schedule", Value: bson.A{row(0, 4000), row(time.Hour, 6000), row(2*time.Hour, 800), row(3*time.Hour, 2000)}}})
	k.start()
	k.advance(12*time.Hour + 30*time.Minute)
	k.throughput("of the newest row that is due", 800)
	k.start()
	k.throughput("with a clock that is behind", 800)
	k.advance(13*time.Hour + time.Minute)
	k.throughput("of the last row", 2000)
	if n := k.run(bson.D{{Key: "count", Value: "c"}}).Lookup("n").AsInt64(); n != 100 {
		t.Errorf("%d documents", n)
	}
}
