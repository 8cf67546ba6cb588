package cantle_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/cantledb/cantle"
)

// A server in memory that only this program can reach.
func ExampleOpen() {
	srv, err := cantle.Open(cantle.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer srv.Close()
	client, err := mongo.Connect(options.Client().ApplyURI(srv.URI()).SetDialer(srv))
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	defer client.Disconnect(ctx)
	orders := client.Database("shop").Collection("orders")
	if _, err := orders.InsertMany(ctx, []any{bson.M{"total": 3}, bson.M{"total": 4}}); err != nil {
		log.Fatal(err)
	}
	fmt.Println(orders.CountDocuments(ctx, bson.M{"total": bson.M{"$gt": 3}}))
	// Output: 1 <nil>
}

// A durable server that other programs can reach, too.
func ExampleOptions() {
	dir, err := os.MkdirTemp("", "cantle-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	srv, err := cantle.Open(cantle.Options{Data: dir, Listen: "127.0.0.1:0", ReplicaSet: "rs0", Flags: []string{"--default-throughput=400", "--log-level=warn"}, Log: os.Stderr})
	if err != nil {
		log.Fatal(err)
	}
	defer srv.Close()
	client, err := mongo.Connect(options.Client().ApplyURI(srv.URI()))
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	defer client.Disconnect(ctx)
	fmt.Println(client.Ping(ctx, nil))
	// Output: <nil>
}

// While the clock is stopped, request units are spent and not refilled; when the program advances the clock by a
// second, they are there again.
func ExampleServer_Clock() {
	srv, err := cantle.Open(cantle.Options{VirtualClock: true, Flags: []string{"--default-throughput=400"}})
	if err != nil {
		log.Fatal(err)
	}
	defer srv.Close()
	client, err := mongo.Connect(options.Client().ApplyURI(srv.URI()).SetDialer(srv).SetRetryWrites(false))
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	defer client.Disconnect(ctx)
	orders := client.Database("shop").Collection("orders")
	insert := func() error { _, err := orders.InsertOne(ctx, bson.M{}); return err }

	srv.Clock().Stop()
	spent := 0
	for err = insert(); err == nil; err = insert() {
		spent++
	}
	var refused mongo.ServerError
	fmt.Println(spent > 10, errors.As(err, &refused) && refused.HasErrorCode(16500))
	srv.Clock().Advance(time.Second)
	fmt.Println(insert())
	// Output:
	// true true
	// <nil>
}
