package driver

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/cantledb/cantle/compat-tests/rig/harness"
)

// TestCosmosTransactionLifetime checks that a transaction on the Cosmos address expires after five seconds: later
// statements get the service's error. A transaction on the other address goes on, and that address does not show the
// writes of the expired ones.
// Source: Azure Cosmos DB for MongoDB, "use-multi-document-transactions".
func TestCosmosTransactionLifetime(t *testing.T) {
	server := harness.Start(t, harness.Options{Args: []string{"--cosmos-listen", "127.0.0.1:0"}})
	cosmos, err := harness.Connect(server.CosmosURI)
	if err != nil {
		t.Fatal(err)
	}
	defer cosmos.Disconnect(context.Background())
	f := &fixture{T: t, ctx: harness.Context(t), client: server.Client(t)}
	coll := func(c *mongo.Client) *mongo.Collection { return c.Database("driver").Collection("c") }
	f.coll = coll(f.client)
	f.ok(f.coll.Database().CreateCollection(f.ctx, "c"))
	type open struct {
		coll    *mongo.Collection
		ctx     context.Context
		session *mongo.Session
	}
	begin := func(c *mongo.Client, id int) open {
		s, err := c.StartSession()
		f.ok(err)
		f.ok(s.StartTransaction())
		o := open{coll(c), mongo.NewSessionContext(f.ctx, s), s}
		_, err = o.coll.InsertOne(o.ctx, d("_id", id))
		f.ok(err)
		return o
	}
	start := time.Now()
	lasts, writes, commits := begin(f.client, 1), begin(cosmos, 2), begin(cosmos, 3)
	// At some time only the other transaction is open.
	for ; ; time.Sleep(100 * time.Millisecond) {
		c, err := f.client.Database("admin").Aggregate(f.ctx, mongo.Pipeline{
			d("$currentOp", d("idleSessions", true)), d("$match", d("transaction", d("$exists", true)))})
		f.ok(err)
		var ops []bson.M
		f.ok(c.All(f.ctx, &ops))
		if len(ops) <= 1 {
			if time.Since(start) < 5*time.Second { // the transaction began after start
				t.Errorf("after %v only %v is open", time.Since(start), ops)
			}
			break
		}
	}
	inactive := func(err error) {
		t.Helper()
		f.code(err, 2)
		var server mongo.ServerError
		if errors.As(err, &server) && !strings.Contains(err.Error(), "Transaction is not active") {
			t.Errorf("the client is told %v", err)
		}
	}
	_, err = writes.coll.InsertOne(writes.ctx, d("_id", 4))
	inactive(err)
	inactive(commits.session.CommitTransaction(f.ctx))
	_, err = lasts.coll.InsertOne(lasts.ctx, d("_id", 5))
	f.ok(err)
	f.ok(lasts.session.CommitTransaction(f.ctx))
	f.equal("documents", f.ids(d()), []int32{1, 5})
}
