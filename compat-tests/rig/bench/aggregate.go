package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
)

// aggregation is a pipeline over its own collections that one client runs repeatedly. It is measured only if
// --only names it: loading the documents takes minutes.
type aggregation struct {
	name string
	on   string // the collection that it reads
	rows int    // documents of its result
	// pipeline returns the pipeline, for the given number of documents in events
	pipeline func(documents int) mongo.Pipeline
}

// Names of the collections: events of 1 KB, orders that each name one event.
const (
	events = "events"
	orders = "orders"
)

const (
	groupsOfEvents = 100
	ordersLoaded   = 10_000
)

// aggregations in the order they run. "aggregate" selects them all.
var aggregations = []aggregation{
	// Half of the documents, aggregated into a hundred groups.
	{"match-group", events, groupsOfEvents, func(int) mongo.Pipeline {
		return mongo.Pipeline{
			{{Key: "$match", Value: bson.D{{Key: "n", Value: bson.D{{Key: "$lt", Value: 500}}}}}},
			{{Key: "$group", Value: bson.D{
				{Key: "_id", Value: "$k"},
				{Key: "sum", Value: bson.D{{Key: "$sum", Value: "$n"}}},
				{Key: "avg", Value: bson.D{{Key: "$avg", Value: "$f"}}},
				{Key: "count", Value: bson.D{{Key: "$count", Value: bson.D{}}}},
			}}},
		}
	}},
	// The hundred largest by a field without an index.
	{"sort-limit", events, 100, func(int) mongo.Pipeline {
		return mongo.Pipeline{
			{{Key: "$sort", Value: bson.D{{Key: "f", Value: -1}, {Key: "_id", Value: 1}}}},
			{{Key: "$limit", Value: 100}},
		}
	}},
	// Every order with its event, by _id.
	{"lookup", orders, ordersLoaded, func(int) mongo.Pipeline {
		return mongo.Pipeline{
			{{Key: "$lookup", Value: bson.D{
				{Key: "from", Value: events}, {Key: "localField", Value: "event"}, {Key: "foreignField", Value: "_id"}, {Key: "as", Value: "event"},
			}}},
			{{Key: "$project", Value: bson.D{{Key: "event.k", Value: 1}}}},
		}
	}},
	// A field computed from others, while nine tenths of each document stay unchanged.
	{"expression", events, 1, func(int) mongo.Pipeline {
		return mongo.Pipeline{
			{{Key: "$set", Value: bson.D{{Key: "x", Value: bson.D{{Key: "$multiply", Value: bson.A{"$n", bson.D{{Key: "$add", Value: bson.A{"$f", 1}}}}}}}}}},
			{{Key: "$group", Value: bson.D{{Key: "_id", Value: nil}, {Key: "max", Value: bson.D{{Key: "$max", Value: "$x"}}}}}},
		}
	}},
}

// wantsAggregation reports whether --only selects an aggregation.
func (s settings) wantsAggregation(name string) bool { return s.only["aggregate"] || s.only[name] }

// aggregates reports whether --only selects any aggregation, and whether it selects nothing else.
func (s settings) aggregates() (some, only bool) {
	n := 0
	for name := range s.only {
		if isAggregation(name) {
			n++
		}
	}
	return n > 0, n > 0 && n == len(s.only)
}

// isAggregation reports whether a workload is one of this file.
func isAggregation(name string) bool {
	return name == "aggregate" || slices.ContainsFunc(aggregations, func(a aggregation) bool { return a.name == name })
}

// measureAggregations loads the collections and runs the selected pipelines.
func (r *runner) measureAggregations(ctx context.Context, report func(result)) error {
	if err := r.loadEvents(ctx); err != nil {
		return fmt.Errorf("loading events: %w", err)
	}
	for _, a := range aggregations {
		if !r.settings.wantsAggregation(a.name) {
			continue
		}
		got, err := r.aggregate(ctx, a)
		if err != nil {
			return fmt.Errorf("%s: %w", a.name, err)
		}
		report(got)
	}
	return nil
}

// aggregateRunsMin is the least number of runs of a pipeline, however long they take.
const aggregateRunsMin = 5

// aggregate runs a pipeline for a while.
func (r *runner) aggregate(ctx context.Context, a aggregation) (result, error) {
	c := r.mongo.Database("bench").Collection(a.on)
	pipeline := a.pipeline(r.settings.documents)
	m := r.begin(a.name, 1)
	end := time.Now().Add(time.Duration(r.settings.seconds * float64(time.Second)))
	for n := 0; n < aggregateRunsMin || time.Now().Before(end); n++ {
		start := time.Now()
		cursor, err := c.Aggregate(ctx, pipeline)
		if err != nil {
			return result{}, err
		}
		rows := 0
		for cursor.Next(ctx) {
			rows++
		}
		if err := cursor.Err(); err != nil {
			return result{}, err
		}
		if rows != a.rows {
			return result{}, fmt.Errorf("%d documents, want %d", rows, a.rows)
		}
		m.add(time.Since(start), 1)
	}
	return m.end(), nil
}

// loadEvents fills the collections.
func (r *runner) loadEvents(ctx context.Context) error {
	db := r.mongo.Database("bench")
	if r.settings.shards > 0 {
		err := r.mongo.Database("admin").RunCommand(ctx, bson.D{
			{Key: "shardCollection", Value: "bench." + events},
			{Key: "key", Value: bson.D{{Key: "_id", Value: "hashed"}}},
			{Key: "numInitialChunks", Value: r.settings.shards},
		}).Err()
		if err != nil {
			return err
		}
	}
	random := rand.New(rand.NewPCG(2, 2))
	padding := strings.Builder{}
	for range fields {
		padding.WriteString(text(random))
	}
	pad := padding.String()
	err := insertBatches(ctx, db.Collection(events), r.settings.documents, func(id int) any {
		at := random.IntN(len(pad))
		return bson.D{
			{Key: "_id", Value: id}, {Key: "k", Value: fmt.Sprintf("key%02d", id%groupsOfEvents)}, {Key: "pad", Value: pad[at:] + pad[:at]},
			{Key: "n", Value: random.IntN(1000)}, {Key: "f", Value: random.Float64()},
		}
	})
	if err != nil {
		return err
	}
	return insertBatches(ctx, db.Collection(orders), ordersLoaded, func(id int) any {
		return bson.D{{Key: "_id", Value: id}, {Key: "event", Value: random.IntN(r.settings.documents)}}
	})
}

// insertBatches inserts n documents, a thousand at a time.
func insertBatches(ctx context.Context, c *mongo.Collection, n int, document func(id int) any) error {
	for first := 0; first < n; first += loadBatch {
		batch := make([]any, 0, loadBatch)
		for id := first; id < min(first+loadBatch, n); id++ {
			batch = append(batch, document(id))
		}
		if _, err := c.InsertMany(ctx, batch); err != nil {
			return err
		}
	}
	return nil
}
