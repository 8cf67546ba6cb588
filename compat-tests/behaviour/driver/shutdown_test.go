package driver

import (
	"context"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/cantledb/cantle/compat-tests/rig/harness"
)

// TestShutdownCommand checks that the command shutdown gets a reply, that a find that is running then completes, and
// that the process ends without an error. The documents inserted before are there after the next start.
func TestShutdownCommand(t *testing.T) {
	ctx, cancel := context.WithTimeout(harness.Context(t), time.Minute)
	defer cancel()
	o := harness.Options{Data: t.TempDir()}
	server, err := harness.Launch(o)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Kill()
	client, err := harness.Connect(server.URI)
	if err != nil {
		t.Fatal(err)
	}
	coll := client.Database("test").Collection("c")
	if _, err := coll.InsertMany(ctx, []any{bson.D{{Key: "_id", Value: 1}}, bson.D{{Key: "_id", Value: 2}}}); err != nil {
		t.Fatal(err)
	}
	slow := make(chan error, 1)
	go func() {
		wait := "for (let i = 0; i < 4000000; i++) {} return true"
		err := coll.FindOne(ctx, bson.D{{Key: "$where", Value: wait}}).Err()
		slow <- err
	}()
	running := func() bool {
		var r struct{ Inprog []bson.Raw }
		cmd := bson.D{{Key: "currentOp", Value: 1}, {Key: "command.find", Value: "c"}}
		if err := client.Database("admin").RunCommand(ctx, cmd).Decode(&r); err != nil {
			t.Fatal(err)
		}
		return len(r.Inprog) > 0
	}
	for !running() {
		select {
		case err := <-slow:
			t.Fatal("the slow command ended before it was seen: ", err)
		case <-time.After(5 * time.Millisecond):
		}
	}
	if err := client.Database("admin").RunCommand(ctx, bson.D{{Key: "shutdown", Value: 1}}).Err(); err != nil {
		t.Fatal(err)
	}
	if err := <-slow; err != nil {
		t.Errorf("what ran was not let end: %v", err)
	}
	if err := server.Wait(ctx); err != nil {
		t.Fatal(err)
	}
	if server, err = harness.Launch(o); err != nil {
		t.Fatal(err)
	}
	if client, err = harness.Connect(server.URI); err != nil {
		t.Fatal(err)
	}
	if n, err := client.Database("test").Collection("c").CountDocuments(ctx, bson.D{}); n != 2 || err != nil {
		t.Errorf("%d documents after the restart, %v", n, err)
	}
	if err := server.Stop(); err != nil {
		t.Error(err)
	}
}
