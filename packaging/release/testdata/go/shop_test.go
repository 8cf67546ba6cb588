// Package shop stands for a user's package, in a module of its own that requires cantle.
package shop

import (
	"context"
	"errors"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/cantledb/cantle"
	"github.com/cantledb/cantle/cantletest"
)

func TestOrders(t *testing.T) {
	t.Parallel()
	srv := cantletest.Start(t, "--default-throughput=400")
	client, err := mongo.Connect(options.Client().ApplyURI(srv.URI()).SetRetryWrites(false))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Disconnect(t.Context())
	orders := client.Database("shop").Collection("orders")
	srv.Clock().Stop()
	for err == nil {
		_, err = orders.InsertOne(t.Context(), bson.M{"total": 3})
	}
	var refused mongo.ServerError
	if !errors.As(err, &refused) || !refused.HasErrorCode(16500) {
		t.Fatal(err)
	}
	srv.Clock().Advance(time.Second)
	if _, err := orders.InsertOne(t.Context(), bson.M{}); err != nil {
		t.Error(err)
	}
}

func TestEmbedded(t *testing.T) {
	t.Parallel()
	srv, err := cantle.Open(cantle.Options{Data: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	client, err := mongo.Connect(options.Client().ApplyURI(srv.URI()).SetDialer(srv))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Disconnect(context.Background())
	if err := client.Ping(t.Context(), nil); err != nil {
		t.Error(err)
	}
}
