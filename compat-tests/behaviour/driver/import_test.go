package driver

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/cantledb/cantle/compat-tests/rig/harness"
)

// readings is the size of the data set.
const readings = 100_000

// reading is one report of a weather station. All of its fields are computed from its number, so the test can compute
// the right replies without the server.
type reading struct {
	ID          int32     `bson:"_id"`
	Station     string    `bson:"station"`
	Country     string    `bson:"country"`
	At          time.Time `bson:"at"`
	Temperature float64   `bson:"temperature"`
	Rain        *float64  `bson:"rain,omitempty"` // missing while the gauge is broken
	Wind        wind      `bson:"wind"`
	Flags       []string  `bson:"flags"`
}

// wind is an embedded document.
type wind struct {
	Speed     int32 `bson:"speed"`
	Direction int32 `bson:"direction"`
}

var countries = []string{"AT", "BE", "CH", "DE", "FR", "IT", "NL", "PL"}

// made computes reading number i.
func made(i int32) reading {
	// All fields but _id and at are computed by a multiplicative sequence, which is random enough here and the same on
	// every machine.
	x := uint32(i)*2654435761 + 12345
	r := reading{
		ID:          i,
		Station:     fmt.Sprintf("S%03d", x>>8%250),
		Country:     countries[x>>16%uint32(len(countries))],
		At:          time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(i) * 5 * time.Minute),
		Temperature: float64(int32(x>>4%600)-200) / 10,
		Wind:        wind{Speed: int32(x >> 12 % 40), Direction: int32(x >> 20 % 360)},
		Flags:       []string{},
	}
	if x%11 != 0 {
		rain := float64(x >> 6 % 300 / 10)
		r.Rain = &rain
	}
	for j, name := range []string{"checked", "estimated", "storm"} {
		if x>>j%3 == 0 {
			r.Flags = append(r.Flags, name)
		}
	}
	return r
}

func TestImport(t *testing.T) {
	server := harness.Start(t, harness.Options{Data: t.TempDir()})
	f := &fixture{T: t, ctx: harness.Context(t), client: server.Client(t)}
	f.db = f.client.Database("weather")
	f.coll = f.db.Collection("readings")
	f.shard("weather.readings", d("station", "hashed"), 7)

	all := make([]reading, readings)
	for i := range all {
		all[i] = made(int32(i))
	}
	for batch := range slices.Chunk(all, 2000) {
		docs := make([]any, len(batch))
		for i := range batch {
			docs[i] = batch[i]
		}
		_, err := f.coll.InsertMany(f.ctx, docs, options.InsertMany().SetOrdered(false))
		f.ok(err)
	}
	n, err := f.coll.EstimatedDocumentCount(f.ctx)
	f.ok(err)
	f.equal("imported", n, int64(readings))

	t.Run("scanning", func(t *testing.T) { f.T = t; f.queries(all) })
	_, err = f.coll.Indexes().CreateMany(f.ctx, []mongo.IndexModel{
		{Keys: d("at", 1)}, {Keys: d("country", 1, "temperature", -1)}, {Keys: d("flags", 1)}, {Keys: d("wind.speed", 1)},
	})
	f.ok(err)
	t.Run("indexed", func(t *testing.T) { f.T = t; f.queries(all) })
}

// queries sends queries to the server, and compares the replies with results that the test computes from all
// readings.
func (f *fixture) queries(all []reading) {
	count := func(name string, filter bson.D, keep func(r *reading) bool) {
		f.Helper()
		want := int64(0)
		for i := range all {
			if keep(&all[i]) {
				want++
			}
		}
		got, err := f.coll.CountDocuments(f.ctx, filter)
		f.ok(err)
		f.equal(name, got, want)
	}
	count("one station", d("station", "S017"), func(r *reading) bool { return r.Station == "S017" })
	count("cold in two countries", d("country", d("$in", bson.A{"CH", "AT"}), "temperature", d("$lt", -15)),
		func(r *reading) bool { return (r.Country == "CH" || r.Country == "AT") && r.Temperature < -15 })
	from, to := all[20_000].At, all[20_500].At
	count("a time range", d("at", d("$gte", from, "$lt", to)), func(r *reading) bool { return !r.At.Before(from) && r.At.Before(to) })
	count("embedded field", d("wind.speed", d("$gt", 37)), func(r *reading) bool { return r.Wind.Speed > 37 })
	count("array element", d("flags", "storm"), func(r *reading) bool { return slices.Contains(r.Flags, "storm") })
	count("two array elements", d("flags", d("$all", bson.A{"storm", "checked"})),
		func(r *reading) bool { return slices.Contains(r.Flags, "storm") && slices.Contains(r.Flags, "checked") })
	count("empty array", d("flags", d("$size", 0)), func(r *reading) bool { return len(r.Flags) == 0 })
	count("missing field", d("rain", d("$exists", false)), func(r *reading) bool { return r.Rain == nil })
	count("null equals missing", d("rain", nil), func(r *reading) bool { return r.Rain == nil })
	count("negation", d("rain", d("$not", d("$gte", 1))), func(r *reading) bool { return r.Rain == nil || *r.Rain < 1 })
	count("either", d("$or", bson.A{d("temperature", d("$gt", 39.5)), d("wind.speed", 0)}),
		func(r *reading) bool { return r.Temperature > 39.5 || r.Wind.Speed == 0 })
	f.hottest(all)
	f.averages(all)
	f.point(all)
}

// hottest checks a sort with a limit over all partitions.
func (f *fixture) hottest(all []reading) {
	var want []int32
	sorted := slices.Clone(all)
	slices.SortFunc(sorted, func(a, b reading) int {
		switch {
		case a.Temperature > b.Temperature:
			return -1
		case a.Temperature < b.Temperature:
			return 1
		}
		return int(a.ID - b.ID)
	})
	for _, r := range sorted {
		if r.Country == "IT" && len(want) < 250 {
			want = append(want, r.ID)
		}
	}
	got := f.ids(d("country", "IT"), options.Find().SetSort(d("temperature", -1, "_id", 1)).SetLimit(250).SetProjection(d("_id", 1)))
	f.equal("hottest in Italy", got, want)
}

// averages checks a group over everything.
func (f *fixture) averages(all []reading) {
	type group struct {
		ID   string  `bson:"_id"`
		N    int32   `bson:"n"`
		Mean float64 `bson:"mean"`
		Max  int32   `bson:"max"`
	}
	want := map[string]group{}
	for _, r := range all {
		g := want[r.Country]
		g.ID, g.N, g.Mean, g.Max = r.Country, g.N+1, g.Mean+r.Temperature, max(g.Max, r.Wind.Speed)
		want[r.Country] = g
	}
	cursor, err := f.coll.Aggregate(f.ctx, bson.A{
		d("$group", d("_id", "$country", "n", d("$sum", 1), "mean", d("$avg", "$temperature"), "max", d("$max", "$wind.speed"))),
		d("$sort", d("_id", 1)),
	})
	f.ok(err)
	var got []group
	f.ok(cursor.All(f.ctx, &got))
	f.equal("groups", len(got), len(want))
	for i, g := range got {
		w := want[g.ID]
		if g.ID != countries[i] || g.N != w.N || g.Max != w.Max || math.Abs(g.Mean-w.Mean/float64(w.N)) > 1e-9 {
			f.Errorf("group %+v, want %+v with the sum as mean", g, w)
		}
	}
}

// point checks whole documents.
func (f *fixture) point(all []reading) {
	for _, i := range []int{0, 1, 777, 50_000, readings - 1} {
		var got reading
		f.ok(f.coll.FindOne(f.ctx, d("_id", all[i].ID)).Decode(&got))
		f.equal("document", got.At.UTC(), all[i].At)
		got.At = all[i].At
		f.equal("document", got, all[i])
	}
}
