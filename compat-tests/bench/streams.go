package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// What change streams cost: the processor time of idle ones, and what open ones
// take from inserts. Measured only when "streams" is named.
const (
	streamsName = "streams"
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

// measureStreams measures inserts of 16 clients with no stream, with streams on
// another collection, and with streams on theirs that want none of the inserts;
// and, before, ten seconds in which nothing happens, as one operation.
func (r *runner) measureStreams(ctx context.Context, report func(result)) error {
	insert := func(name string) error {
		w := workload{name: name, durable: true, next: func(c *client, ctx context.Context, _ int) error { return c.insert(ctx) }}
		row, err := r.measure(ctx, w, 16, time.Duration(r.settings.seconds*float64(time.Second)))
		if err == nil {
			report(row)
		}
		return err
	}
	if err := insert("insert-no-stream"); err != nil {
		return err
	}
	m := r.begin("idle-no-stream", 0)
	time.Sleep(streamsIdle)
	m.add(streamsIdle, 1)
	report(m.end())
	quiet := r.mongo.Database("bench").Collection("quiet")
	if _, err := quiet.InsertOne(ctx, bson.D{}); err != nil {
		return err
	}
	none := mongo.Pipeline{{{Key: "$match", Value: bson.D{{Key: "operationType", Value: "drop"}}}}}
	for _, on := range []struct {
		name string
		coll *mongo.Collection
	}{{"elsewhere", quiet}, {"filtered", r.plain}} {
		end, err := open(ctx, on.coll, none)
		if err != nil {
			return err
		}
		m := r.begin("idle-streams-"+on.name, streamsOpen)
		time.Sleep(streamsIdle)
		m.add(streamsIdle, 1)
		report(m.end())
		err = insert("insert-streams-" + on.name)
		end()
		if err != nil {
			return err
		}
	}
	return nil
}

// open opens streams that are read until end is called.
func open(ctx context.Context, coll *mongo.Collection, pipeline mongo.Pipeline) (end func(), err error) {
	ctx, cancel := context.WithCancel(ctx)
	var group sync.WaitGroup
	end = func() { cancel(); group.Wait() }
	for i := range streamsOpen {
		s, err := coll.Watch(ctx, pipeline, options.ChangeStream().SetMaxAwaitTime(5*time.Second))
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
