package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/cantledb/cantle/compat-tests/rig/harness"
)

// Cost of change streams: the processor time of idle ones, and the effect of open ones on inserts. Measured only if
// --only names "streams", or "tails" for tailable cursors.
const (
	streamsName = "streams"
	tailsName   = "tails" // the same for tailable cursors
	streamsOpen = 100
	streamsIdle = 10 * time.Second
)

// transact inserts two documents in one transaction: to be compared with twice a
// durable insert.
func (c *client) transact(ctx context.Context) error {
	s, err := c.runner.mongo.StartSession()
	if err != nil {
		return err
	}
	defer s.EndSession(ctx)
	_, err = s.WithTransaction(ctx, func(ctx context.Context) (any, error) {
		for range 2 {
			if _, err := c.runner.plain.InsertOne(ctx, document(c.random, c.runner.inserted.Add(1))); err != nil {
				return nil, err
			}
		}
		return nil, nil
	})
	return err
}

// measureStreams measures inserts of 16 clients without a stream, with streams on another collection, and with
// streams on the same collection. Of the latter some match none of the inserts, because of the operation, of one
// value, or of a different value each; others match all and deliver every insert a hundred times. Ten idle seconds
// without streams, and with a thousand, are measured as one operation each.
func (r *runner) measureStreams(ctx context.Context, report func(result)) error {
	insert := func(name string) error {
		w := workload{name: name, durable: true, next: func(c *client, ctx context.Context, _ int) error { return c.insert(ctx) }}
		row, err := r.measure(ctx, w, 16, time.Duration(r.settings.seconds*float64(time.Second)))
		if err == nil {
			report(row)
		}
		return err
	}
	idle := func(name string, streams int) {
		m := r.begin(name, streams)
		time.Sleep(streamsIdle)
		m.add(streamsIdle, 1)
		report(m.end())
	}
	if err := insert("insert-no-stream"); err != nil {
		return err
	}
	idle("idle-no-stream", 0)
	quiet := r.mongo.Database("bench").Collection("quiet")
	if _, err := quiet.InsertOne(ctx, bson.D{}); err != nil {
		return err
	}
	if err := r.idleCursors(ctx, quiet, idle); err != nil {
		return err
	}
	only := func(name string, value any) mongo.Pipeline {
		return mongo.Pipeline{{{Key: "$match", Value: bson.D{{Key: name, Value: value}}}}}
	}
	for _, on := range []struct {
		name string
		coll *mongo.Collection
		asks func(i int) mongo.Pipeline
	}{
		{"elsewhere", quiet, func(int) mongo.Pipeline { return mongo.Pipeline{} }},
		{"by-kind", r.plain, func(int) mongo.Pipeline { return only("operationType", "drop") }},
		{"by-value", r.plain, func(int) mongo.Pipeline { return only("fullDocument.plain", -1) }},
		{"each-value", r.plain, func(i int) mongo.Pipeline { return only("fullDocument.plain", -i) }},
		{"all", r.plain, func(int) mongo.Pipeline { return mongo.Pipeline{} }},
	} {
		end, err := open(ctx, on.coll, on.asks)
		if err != nil {
			return err
		}
		err = insert("streams-" + on.name)
		end()
		if err == nil {
			err = insert("insert-no-stream") // again: meanwhile the server has compacted earlier writes
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// measureTails measures inserts of 16 clients into a capped collection, without and
// with tailable cursors that deliver every document.
func (r *runner) measureTails(ctx context.Context, report func(result)) error {
	db := r.mongo.Database("bench")
	if err := db.CreateCollection(ctx, "ring", options.CreateCollection().SetCapped(true).SetSizeInBytes(64<<20)); err != nil {
		return err
	}
	ring := db.Collection("ring")
	insert := func(name string) error {
		w := workload{name: name, next: func(c *client, ctx context.Context, _ int) error {
			_, err := ring.InsertOne(ctx, document(c.random, r.inserted.Add(1)))
			return err
		}}
		row, err := r.measure(ctx, w, 16, time.Duration(r.settings.seconds*float64(time.Second)))
		if err == nil {
			report(row)
		}
		return err
	}
	if err := insert("capped-no-tail"); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	var group sync.WaitGroup
	defer group.Wait()
	defer cancel()
	for range streamsOpen {
		group.Go(func() {
			for ctx.Err() == nil { // a cursor that is overtaken starts again at the end
				s, err := ring.Find(ctx, bson.D{{Key: "_id", Value: bson.D{{Key: "$gt", Value: r.inserted.Load()}}}},
					options.Find().SetCursorType(options.TailableAwait).SetMaxAwaitTime(5*time.Second))
				if err != nil {
					return
				}
				for s.Next(ctx) {
				}
				_ = s.Close(context.WithoutCancel(ctx))
			}
		})
	}
	return insert("capped-tails")
}

// idleCursors measures the cost of a thousand waiting streams, each in one getMore that lasts longer than the
// measurement.
func (r *runner) idleCursors(ctx context.Context, coll *mongo.Collection, idle func(name string, streams int)) error {
	const many = 10 * streamsOpen
	m, err := harness.Connect(r.uri, options.Client().SetMaxPoolSize(many+10))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	var group sync.WaitGroup
	defer func() {
		cancel()
		group.Wait()
		_ = m.Disconnect(context.WithoutCancel(ctx))
	}()
	coll = m.Database(coll.Database().Name()).Collection(coll.Name())
	for i := range many {
		s, err := coll.Watch(ctx, mongo.Pipeline{}, options.ChangeStream().SetMaxAwaitTime(time.Minute))
		if err != nil {
			return fmt.Errorf("opening stream %d: %w", i, err)
		}
		group.Go(func() {
			s.Next(ctx)
			_ = s.Close(context.WithoutCancel(ctx))
		})
	}
	time.Sleep(time.Second) // until all of them wait
	idle("idle-streams", many)
	return nil
}

// open opens streams that are read until end is called.
func open(ctx context.Context, coll *mongo.Collection, asks func(i int) mongo.Pipeline) (end func(), err error) {
	ctx, cancel := context.WithCancel(ctx)
	var group sync.WaitGroup
	end = func() { cancel(); group.Wait() }
	for i := range streamsOpen {
		s, err := coll.Watch(ctx, asks(i), options.ChangeStream().SetMaxAwaitTime(5*time.Second))
		if err != nil {
			end()
			return nil, fmt.Errorf("opening stream %d: %w", i, err)
		}
		group.Go(func() {
			for s.Next(ctx) {
			}
			_ = s.Close(context.WithoutCancel(ctx))
		})
	}
	return end, nil
}
