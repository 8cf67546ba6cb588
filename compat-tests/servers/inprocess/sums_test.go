package inprocess

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/cantledb/cantle/bson/bsontest"
)

// custom runs a custom action on the collection x, at a server.
func (g *gateway) custom(t *testing.T, action string, more ...bson.E) bson.M {
	t.Helper()
	var out bson.M
	cmd := append(bson.D{{Key: "customAction", Value: action}, {Key: "collection", Value: "x"}}, more...)
	bsontest.Must(t, g.Database("test").RunCommand(t.Context(), cmd).Decode(&out))
	return out
}

// list returns the documents of an array.
func list(v any) (out []bson.M) {
	array, _ := v.(bson.A)
	for _, e := range array {
		switch d := e.(type) {
		case bson.M:
			out = append(out, d)
		case bson.D:
			m := bson.M{}
			for _, f := range d {
				m[f.Key] = f.Value
			}
			out = append(out, m)
		}
	}
	return out
}

// partitionsOf sums the statistics of the partitions.
func partitionsOf(t *testing.T, g *gateway) (ru float64, throttled int64, hot map[string]float64, reply bson.M) {
	t.Helper()
	reply, hot = g.custom(t, "GetPartitions", bson.E{Key: "top", Value: 64}), map[string]float64{}
	for _, p := range list(reply["partitions"]) {
		ru += p["ruTotal"].(float64)
		throttled += p["throttled"].(int64)
		for _, k := range list(p["hottestByRU"]) {
			hot[fmt.Sprint(k["key"])] += k["ru"].(float64)
		}
	}
	return ru, throttled, hot, reply
}

// waitListed waits until every server lists all others: a new server is not visible to all at once.
func waitListed(t *testing.T, g ...*gateway) {
	t.Helper()
	for _, one := range g {
		for until := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
			var docs []bson.M
			found, err := one.Database("config").Collection("mongos").Find(t.Context(), bson.M{})
			bsontest.Must(t, err)
			bsontest.Must(t, found.All(t.Context(), &docs))
			foreign := slices.ContainsFunc(docs, func(d bson.M) bool { // a server's first document may have been written before it listens
				return !slices.ContainsFunc(g, func(x *gateway) bool { return d["_id"] == x.address() })
			})
			if len(docs) == len(g) && !foreign {
				break
			}
			if time.Now().After(until) {
				t.Fatalf("%d of %d gateways are known", len(docs), len(g))
			}
		}
	}
}

// TestSums checks that every server reports the work of all: statistics of each partition, hot keys, requests
// by shape, and the recorded requests replayed with another shard key.
func TestSums(t *testing.T) {
	for n := 1; n <= 3; n++ {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			g := several(t, n)
			waitListed(t, g...)
			bsontest.Must(t, g[0].Database("admin").RunCommand(t.Context(), bson.D{{Key: "shardCollection", Value: "test.x"}, {Key: "key", Value: bson.M{"k": "hashed"}}, {Key: "numInitialChunks", Value: 3}}).Err())
			const inserts, finds = 12, 5
			for i, one := range g { // each inserts values of its own, and one value that all insert
				for j := range inserts {
					_, err := one.coll("x").InsertOne(t.Context(), bson.M{"_id": 100*i + j, "k": fmt.Sprint("own", i)})
					bsontest.Must(t, err)
					_, err = one.coll("x").InsertOne(t.Context(), bson.M{"_id": 1000 + 100*i + j, "k": "all"})
					bsontest.Must(t, err)
				}
				for j := range finds * (i + 1) {
					if err := one.coll("x").FindOne(t.Context(), bson.M{"v": j}).Err(); err != mongo.ErrNoDocuments {
						t.Fatal(err)
					}
				}
			}
			runs := finds * n * (n + 1) / 2
			var first bson.M
			for i, one := range g {
				ru, _, hot, reply := partitionsOf(t, one)
				if reply["incomplete"] != nil {
					t.Errorf("gateway %d misses %v", i, reply["incomplete"])
				}
				if ru < float64(2*n*inserts)*5 {
					t.Errorf("gateway %d knows of %v RU", i, ru)
				}
				for j := range g {
					if own, all := hot[fmt.Sprint(bson.D{{Key: "k", Value: fmt.Sprint("own", j)}})], hot[fmt.Sprint(bson.D{{Key: "k", Value: "all"}})]; own <= 0 || all < float64(n)*own*0.99 || all > float64(n)*own*1.01 {
						t.Errorf("gateway %d says that the value of gateway %d cost %v, and that of all %v: %v", i, j, own, all, hot)
					}
				}
				r := one.custom(t, "GetRequestReport", bson.E{Key: "history", Value: true})
				want(t, "shapes", r["shapes"], 2)
				counts := map[string]any{}
				for _, s := range list(r["requests"]) {
					counts[s["command"].(string)] = s["count"]
					minutes := int64(0)
					for _, m := range list(s["history"]) {
						minutes += m["count"].(int64)
					}
					want(t, "runs in minutes", minutes, s["count"])
					by := list(s["callers"])
					want(t, "callers", len(by), 1)
					want(t, "runs of the caller", by[0]["count"], s["count"])
					want(t, "RU of the caller", by[0]["ru"], s["ru"])
				}
				want(t, "runs", counts, map[string]any{"insert": 2 * n * inserts, "find": runs})
				replay := one.custom(t, "GetRecordedTraffic", bson.E{Key: "shardKey", Value: bson.M{"v": "hashed"}})
				want(t, "statements", replay["statements"], 2*n*inserts+runs)
				fields := one.custom(t, "GetRecordedTraffic")
				want(t, "fields", len(list(fields["fields"])), 3)
				if r = one.custom(t, "GetRequestReport"); first == nil { // for comparison: the sums of the minutes are rounded
					first = r
				}
				for _, name := range []string{"since", "ruTotal", "requests"} {
					want(t, name+" as another gateway reports it", r[name], first[name])
				}
			}
			last := g[n-1]
			last.custom(t, "GetRequestReport", bson.E{Key: "reset", Value: true})
			want(t, "shapes after all were forgotten at another gateway", g[0].custom(t, "GetRequestReport")["shapes"], 0)
		})
	}
}

// TestSumOfRefusals checks that a server reports the RU and the refusals of another one.
func TestSumOfRefusals(t *testing.T) {
	g := several(t, 2)
	waitListed(t, g...)
	budgeted(t, g[0], "x")
	quiet := connect(t, g[1].URI+"?retryWrites=false")
	x := quiet.Database("test").Collection("x")
	var err error
	for until := time.Now().Add(2 * time.Minute); err == nil && time.Now().Before(until); {
		_, err = x.InsertMany(t.Context(), []any{bson.M{"pad": make([]byte, 100_000)}, bson.M{"pad": make([]byte, 100_000)}})
	}
	if err == nil || !strings.Contains(err.Error(), "16500") {
		t.Fatal("nothing was refused: ", err)
	}
	ru, throttled, _, reply := partitionsOf(t, g[0])
	if ru < budgetRU/2 || throttled == 0 {
		t.Errorf("the other gateway says %v RU and %d refusals", ru, throttled)
	}
	want(t, "the partition's share", list(reply["partitions"])[0]["throughput"], budgetRU)
}

// TestSilent checks that a sleeping server is named as missing while its lease lasts, and no longer.
func TestSilent(t *testing.T) {
	g := several(t, 3)
	waitListed(t, g...)
	for _, one := range g {
		_, err := one.coll("x").InsertOne(t.Context(), bson.M{"a": 1})
		bsontest.Must(t, err)
	}
	report := func() (incomplete, inserts any) {
		t.Helper()
		r := g[0].custom(t, "GetRequestReport")
		return r["incomplete"], list(r["requests"])[0]["count"]
	}
	incomplete, inserts := report()
	want(t, "all are there", fmt.Sprint(incomplete, inserts), "<nil> 3")
	address := strings.TrimSuffix(strings.TrimPrefix(g[2].URI, "mongodb://"), "/")
	g[2].away.Store(true)
	defer g[2].away.Store(false) // otherwise it cannot stop
	var asked sync.WaitGroup
	for _, action := range []string{"GetPartitions", "GetRecordedTraffic"} {
		asked.Go(func() {
			var r bson.M
			err := g[0].Database("test").RunCommand(t.Context(), bson.D{{Key: "customAction", Value: action}, {Key: "collection", Value: "x"}}).Decode(&r)
			if silent := fmt.Sprint(r["incomplete"]); err != nil || silent != "["+address+"]" {
				t.Errorf("%s while one is asleep: %v, incomplete %s", action, err, silent)
			}
		})
	}
	incomplete, inserts = report()
	want(t, "one is asleep", fmt.Sprint(incomplete, inserts), "["+address+"] 2")
	asked.Wait()
	for until := time.Now().Add(30 * time.Second); incomplete != nil; incomplete, inserts = report() {
		if time.Now().After(until) {
			t.Fatal("a gateway is named that is long gone")
		}
	}
	want(t, "without it", inserts, 2)
	_, err := g[1].coll("x").InsertOne(t.Context(), bson.M{"a": 1}, options.InsertOne())
	bsontest.Must(t, err)
	_, inserts = report()
	want(t, "without it", inserts, 3)
}
