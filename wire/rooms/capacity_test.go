package rooms

import (
	"slices"
	"testing"
)

// GetCollection with showCapacity reports the RU/s that are possible without a split, and what is in the way of more.
func TestCapacity(t *testing.T) {
	w, _ := clockWorld(t, nil)
	c := w.dial()
	for _, step := range []struct {
		command    string // "" for none
		coll       string
		throughput int64
		obstacles  []string
	}{
		{`{create: "plain"}`, "plain", 10_000, []string{"noShardKey"}},
		{`{customAction: "CreateCollection", collection: "c", shardKey: "k", offerThroughput: 12000}`, "c", 20_000, nil},
		{`{customAction: "PrepareThroughput", collection: "c", offerThroughput: 45000, from: {$date: "2040-01-01T00:00:00Z"}, to: {$date: "2040-01-02T00:00:00Z"}}`, "c", 20_000, nil},
		{`{customAction: "PrepareThroughput", collection: "c", offerThroughput: 45000, to: {$date: "2039-01-01T00:00:00Z"}}`, "c", 20_000, []string{"splits"}},
		{`{customAction: "PrepareThroughput", collection: "c", cancel: true}`, "c", 20_000, nil},
		{`{customAction: "RedistributeThroughput", collection: "c", targets: [{id: "1", throughput: 9000}], sources: ["0"]}`, "c", 20_000, []string{"redistributed"}},
		{`{balancerStop: 1, $db: "admin"}`, "c", 20_000, []string{"balancerOff", "redistributed"}},
		{`{balancerStart: 1, $db: "admin"}`, "c", 20_000, []string{"redistributed"}},
	} {
		c.ok(step.command)
		capacity, _ := c.ok(`{customAction: "GetCollection", collection: "` + step.coll + `", showCapacity: true}`).Get("capacity").Doc()
		var kinds []string
		list, _ := capacity.Get("obstacles").Array()
		for v := range list.Values() {
			d, _ := v.Doc()
			kinds = append(kinds, text(d.Get("kind")))
		}
		if got := number(capacity.Get("throughput")); got != step.throughput || !slices.Equal(kinds, step.obstacles) {
			t.Errorf("after %s: %v", step.command, capacity)
		}
	}
	if n := c.throttled("c", "", 30); n != 0 {
		t.Fatalf("%d inserts refused", n)
	}
	r := c.ok(`{customAction: "GetCollection", collection: "c", showCapacity: true}`)
	if kind, key := text(at(r, "capacity.obstacles.1.kind")), number(at(r, "capacity.obstacles.1.key.k")); kind != "hotValue" || key != 1 {
		t.Errorf("with all charges on one value: %v", r)
	}
	if r := c.ok(`{customAction: "GetCollection", collection: "c"}`); !r.Get("capacity").IsMissing() {
		t.Errorf("without the argument: %v", r)
	}
}

// At the Cosmos address, replies do not list what is planned, except those of the actions that plan.
func TestPlannedAtCosmosAddress(t *testing.T) {
	w, _ := clockWorld(t, nil)
	strict := w.dialAs("cosmos")
	strict.ok(`{customAction: "CreateCollection", collection: "c", shardKey: "k", offerThroughput: 1000}`)
	if r := strict.ok(`{customAction: "PrepareThroughput", collection: "c", offerThroughput: 2000, to: {$date: "2040-01-01T00:00:00Z"}}`); r.Get("prepared").IsMissing() {
		t.Errorf("PrepareThroughput: %v", r)
	}
	if r := strict.ok(`{customAction: "GetCollection", collection: "c"}`); !r.Get("prepared").IsMissing() || number(r.Get("provisionedThroughput")) != 2000 {
		t.Errorf("GetCollection: %v", r)
	}
	if r := w.dial().ok(`{customAction: "GetCollection", collection: "c"}`); r.Get("prepared").IsMissing() {
		t.Errorf("at the MongoDB address: %v", r)
	}
}
