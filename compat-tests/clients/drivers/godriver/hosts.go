package main

import (
	"context"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// hosts checks the area of several servers.
func hosts(a *area) {
	list := options.Client().ApplyURI(uri).Hosts
	if len(list) == 1 {
		panic(stopped{skipped("there is one server")})
	}
	single := a.open(options.Client().ApplyURI("mongodb://" + list[0] + "/"))
	defer single.Disconnect(a.ctx)
	admin := single.Database("admin")
	a.ok(admin.RunCommand(a.ctx, d("configureFailPoint", "failCommand", "mode", "alwaysOn",
		"data", d("failCommands", bson.A{"insert", "find"}, "closeConnection", true, "appName", "hosts"))).Err())
	defer admin.RunCommand(a.ctx, d("configureFailPoint", "failCommand", "mode", "off"))
	address := func(connection string) string { return strings.SplitN(connection, "[", 2)[0] }
	answered, failed := map[string]bool{}, 0
	c := a.open(options.Client().ApplyURI(uri).SetAppName("hosts").SetMonitor(&event.CommandMonitor{
		Succeeded: func(_ context.Context, e *event.CommandSucceededEvent) {
			if e.CommandName == "insert" {
				answered[address(e.ConnectionID)] = true
			}
		},
		Failed: func(_ context.Context, e *event.CommandFailedEvent) {
			if address(e.ConnectionID) == list[0] {
				failed++
			}
		},
	}))
	defer c.Disconnect(a.ctx)
	coll := c.Database(a.db.Name()).Collection("hosts")
	for i := range 40 {
		_, err := coll.InsertOne(a.ctx, d("_id", i))
		a.ok(err)
		a.ok(coll.FindOne(a.ctx, d("_id", i)).Err())
	}
	a.equal(failed > 0, true)
	a.equal(answered, map[string]bool{list[1]: true, list[2]: true})
	a.equal(a.count(d()), 40)

	a.ok(admin.RunCommand(a.ctx, d("configureFailPoint", "failCommand", "mode", "off")).Err())
	last := a.open(options.Client().ApplyURI("mongodb://" + list[2] + "/"))
	defer last.Disconnect(a.ctx)
	a.ok(last.Database("admin").RunCommand(a.ctx, d("shutdown", 1)).Err())
	n := 40
	// If an operation requests a connection in the moment when the driver learns of the server's shutdown, the driver
	// (2.9) fails the operation without having sent it. Such an operation is repeated.
	sent := func(f func() error) {
		err := f()
		for err != nil && strings.Contains(err.Error(), "was cleared because another operation failed") {
			err = f()
		}
		a.ok(err)
	}
	work := func() {
		sent(func() error { _, err := coll.InsertOne(a.ctx, d("_id", n)); return err })
		sent(func() error { // no driver retries UpdateMany
			_, err := coll.UpdateMany(a.ctx, d("_id", n), d("$set", d("seen", true)))
			return err
		})
		sent(func() error { return coll.FindOne(a.ctx, d("_id", n, "seen", true)).Err() })
		n++
	}
	for end := time.Now().Add(1500 * time.Millisecond); time.Now().Before(end); {
		work()
	}
	clear(answered)
	for range 30 {
		work()
	}
	a.equal(answered[list[2]], false)
	a.equal(a.count(d()), n)
}
