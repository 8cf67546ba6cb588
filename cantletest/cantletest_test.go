package cantletest_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/cantledb/cantle/cantletest"
)

// connect connects to a server as a user's test does.
func connect(t *testing.T, uri string) *mongo.Client {
	t.Helper()
	client, err := mongo.Connect(options.Client().ApplyURI(uri).SetRetryWrites(false))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Disconnect(t.Context()) })
	return client
}

// Parallel tests have servers of their own.
func TestParallel(t *testing.T) {
	for i := range 12 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			srv := cantletest.Start(t)
			c := connect(t, srv.URI()).Database("test").Collection("c")
			if _, err := c.InsertOne(t.Context(), bson.M{"_id": 1}); err != nil {
				t.Error(err)
			}
			if n, err := c.CountDocuments(t.Context(), bson.M{}); n != 1 || err != nil {
				t.Errorf("%d documents, %v", n, err)
			}
		})
	}
}

// With a stopped clock, inserts run until the budget is used up and one is refused with error 16500; three times, with
// the clock advanced by ten seconds in between, so that the test does not wait for seconds to pass.
func TestThrottling(t *testing.T) {
	srv := cantletest.Start(t, "--default-throughput=400")
	c := connect(t, srv.URI()).Database("test").Collection("c")
	srv.Clock().Stop()
	for range 3 {
		var err error
		for n := 0; err == nil && n < 1000; n++ {
			_, err = c.InsertOne(t.Context(), bson.M{})
		}
		var refused mongo.ServerError
		if !errors.As(err, &refused) || !refused.HasErrorCode(16500) {
			t.Fatalf("after all request units: %v", err)
		}
		srv.Clock().Advance(10 * time.Second)
	}
}

// With a stopped clock, an unordered insert of 100 documents refuses the 31 that the budget does not admit, through
// either address.
func TestUnordered(t *testing.T) {
	srv := cantletest.Start(t, "--cosmos-listen=127.0.0.1:0", "--prices=normative")
	srv.Clock().Stop()
	docs := make([]any, 100)
	for i := range docs {
		docs[i] = bson.D{{Key: "_id", Value: i}, {Key: "k", Value: i}, {Key: "pad", Value: strings.Repeat("x", 100)}}
	}
	for name, uri := range map[string]string{"mongodb": srv.URI(), "cosmos": srv.CosmosURI()} {
		db := connect(t, uri).Database(name)
		create := bson.D{{Key: "customAction", Value: "CreateCollection"}, {Key: "collection", Value: "c"}, {Key: "shardKey", Value: "k"}, {Key: "offerThroughput", Value: 400}}
		if err := db.RunCommand(t.Context(), create).Err(); err != nil {
			t.Fatal(err)
		}
		_, err := db.Collection("c").InsertMany(t.Context(), docs, options.InsertMany().SetOrdered(false))
		var refused mongo.BulkWriteException
		if !errors.As(err, &refused) || len(refused.WriteErrors) != 31 { // 5.8 RU each
			t.Errorf("%s refuses %d: %.200v", name, len(refused.WriteErrors), err)
		}
	}
}

// At least a quarter of the starts of a server take at most 15 ms each.
func TestQuick(t *testing.T) {
	var took []time.Duration
	for range 20 {
		t.Run("server", func(t *testing.T) {
			begun := time.Now()
			cantletest.Start(t)
			took = append(took, time.Since(begun))
		})
	}
	slices.Sort(took)
	t.Logf("Start takes %v, one of ten %v or more", took[len(took)/2], took[len(took)*9/10])
	if least := took[len(took)/4]; least > 15*time.Millisecond {
		t.Errorf("Start takes %v when nothing else goes on", least)
	}
}

func ExampleStart() {
	var t *testing.T // of the test
	srv := cantletest.Start(t)
	client, err := mongo.Connect(options.Client().ApplyURI(srv.URI()))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Disconnect(t.Context())
	fmt.Println(client.Ping(t.Context(), nil))
}
