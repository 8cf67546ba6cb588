package shop

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/cantledb/cantle/cantletest"
)

func TestOrders(t *testing.T) {
	client, err := mongo.Connect(options.Client().ApplyURI(cantletest.Start(t).URI()))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Disconnect(t.Context())
	if _, err := client.Database("shop").Collection("orders").InsertOne(t.Context(), bson.M{"total": 3}); err != nil {
		t.Fatal(err)
	}
}
