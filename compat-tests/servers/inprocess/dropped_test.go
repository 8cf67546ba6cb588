package inprocess

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/cantledb/cantle/bson/bsontest"
)

// TestDroppedElsewhere checks that after dropUser at one server has returned, the user has no open
// transaction at another one, and that a later user of the same name gets nothing of it.
func TestDroppedElsewhere(t *testing.T) {
	g := several(t, 2, "--auth")
	as := func(g *gateway, user string) *mongo.Client {
		return connect(t, g.URI, options.Client().SetAuth(options.Credential{Username: user, Password: "p", AuthSource: "admin"}))
	}
	create := func(c *mongo.Client, user, role string) {
		t.Helper()
		bsontest.Must(t, c.Database("admin").RunCommand(t.Context(), bson.D{{Key: "createUser", Value: user}, {Key: "pwd", Value: "p"},
			{Key: "roles", Value: bson.A{bson.M{"role": role, "db": "admin"}}}}).Err())
	}
	create(g[0].Client, "root", "root")
	root := as(g[0], "root")
	create(root, "writer", "readWriteAnyDatabase")
	rootThere := as(g[1], "root")
	open := func() any {
		t.Helper()
		var status struct {
			Transactions struct{ CurrentOpen int64 }
		}
		bsontest.Must(t, rootThere.Database("admin").RunCommand(t.Context(), bson.M{"serverStatus": 1}).Decode(&status))
		return status.Transactions.CurrentOpen
	}
	there := as(g[1], "writer")
	s, err := there.StartSession()
	bsontest.Must(t, err)
	bsontest.Must(t, s.StartTransaction())
	_, err = there.Database("test").Collection("x").InsertOne(mongo.NewSessionContext(t.Context(), s), bson.M{"_id": 1})
	bsontest.Must(t, err)
	want(t, "transactions open at the other gateway", open(), int64(1))

	bsontest.Must(t, root.Database("admin").RunCommand(t.Context(), bson.M{"dropUser": "writer"}).Err())
	want(t, "transactions open there after dropUser", open(), int64(0))
	create(root, "writer", "readWriteAnyDatabase")
	if err := s.CommitTransaction(t.Context()); err == nil {
		t.Error("the transaction of a dropped user was committed")
	}
	n, err := as(g[1], "writer").Database("test").Collection("x").CountDocuments(t.Context(), bson.M{})
	bsontest.Must(t, err)
	want(t, "documents", n, int64(0))
}
