package cosmos

import (
	"context"
	"errors"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/cantledb/cantle/compat-tests/rig/harness"
)

// watch opens a change stream on the Cosmos address, with the pipeline that the service's documentation requires.
func watch(t *testing.T, coll *mongo.Collection, more ...options.Lister[options.ChangeStreamOptions]) (*mongo.ChangeStream, error) {
	t.Helper()
	s, err := coll.Watch(harness.Context(t), mongo.Pipeline{
		d("$match", d("operationType", d("$in", bson.A{"insert", "update", "replace"}))),
		d("$project", d("_id", 1, "fullDocument", 1, "ns", 1, "documentKey", 1, "operationType", 1)),
	}, append([]options.Lister[options.ChangeStreamOptions]{options.ChangeStream().SetFullDocument(options.UpdateLookup).SetMaxAwaitTime(50 * time.Millisecond)}, more...)...)
	if err == nil {
		t.Cleanup(func() { _ = s.Close(context.Background()) })
	}
	return s, err
}

// events returns the documents and the tokens of the available events.
func events(t *testing.T, s *mongo.ChangeStream) (docs, keys []bson.Raw) {
	t.Helper()
	for range 3 { // the first batch may be empty
		for s.TryNext(harness.Context(t)) {
			for _, hidden := range []string{"operationType", "updateDescription"} {
				if _, err := s.Current.LookupErr(hidden); err == nil {
					t.Errorf("an event has %s: %v", hidden, s.Current)
				}
			}
			docs = append(docs, bson.Raw(append([]byte(nil), s.Current.Lookup("fullDocument").Value...)))
			keys = append(keys, bson.Raw(append([]byte(nil), s.Current.Lookup("_id").Value...)))
		}
		if err := s.Err(); err != nil {
			t.Fatal(err)
		}
	}
	return docs, keys
}

// TestChangeFeed checks that a change stream of an account returns the latest versions of existing documents, without
// the type of the operation, and can be resumed from its binary tokens.
// Source: Azure Cosmos DB for MongoDB, "change-streams".
func TestChangeFeed(t *testing.T) {
	s := start(t)
	coll := connect(t, s.CosmosURI).Database("test").Collection("feed")
	ctx := harness.Context(t)
	run(t, coll.Database(), d("create", "feed"))
	stream, err := watch(t, coll)
	if err != nil {
		t.Fatal(err)
	}
	for _, write := range []func() error{
		func() error { _, err := coll.InsertOne(ctx, d("_id", 1, "v", 1)); return err },
		func() error { _, err := coll.UpdateOne(ctx, d("_id", 1), d("$set", d("v", 2))); return err },
		func() error { _, err := coll.InsertOne(ctx, d("_id", 2, "v", 1)); return err },
		func() error { _, err := coll.DeleteOne(ctx, d("_id", 2)); return err },
		func() error { _, err := coll.ReplaceOne(ctx, d("_id", 1), d("v", 3)); return err },
	} {
		if err := write(); err != nil {
			t.Fatal(err)
		}
	}
	docs, keys := events(t, stream)
	if len(docs) != 1 || docs[0].Lookup("v").AsInt64() != 3 {
		t.Fatalf("events of %v", docs)
	}
	if data := keys[0].Lookup("_data"); data.Type != bson.TypeBinary || keys[0].Lookup("_kind").AsInt64() != 1 {
		t.Errorf("the token %v", keys[0])
	}
	if _, err := coll.UpdateOne(ctx, d("_id", 1), d("$set", d("v", 4))); err != nil {
		t.Fatal(err)
	}
	again, err := watch(t, coll, options.ChangeStream().SetResumeAfter(keys[0]))
	if err != nil {
		t.Fatal(err)
	}
	if docs, _ = events(t, again); len(docs) != 1 || docs[0].Lookup("v").AsInt64() != 4 {
		t.Errorf("resumed, events of %v", docs)
	}
	if _, err := coll.DeleteOne(ctx, d("_id", 1)); err != nil {
		t.Fatal(err)
	}
	if _, err := coll.InsertOne(ctx, d("_id", 3, "v", 5)); err != nil {
		t.Fatal(err)
	}
	if again, err = watch(t, coll, options.ChangeStream().SetResumeAfter(keys[0])); err != nil {
		t.Fatal(err)
	}
	if docs, _ = events(t, again); len(docs) != 1 || docs[0].Lookup("v").AsInt64() != 5 {
		t.Errorf("resumed after the event of a document that is gone, events of %v", docs)
	}
}

// TestChangeFeedOfNothing checks that a change stream of an account fails with NamespaceNotFound if its collection
// does not exist, or is dropped later.
// Source: Azure Cosmos DB for MongoDB, "change-streams".
func TestChangeFeedOfNothing(t *testing.T) {
	s := start(t)
	db := connect(t, s.CosmosURI).Database("test")
	notFound := func(err error) bool {
		var e mongo.CommandError
		return errors.As(err, &e) && e.Code == 26
	}
	if _, err := watch(t, db.Collection("none")); !notFound(err) {
		t.Errorf("a collection that is not there: %v", err)
	}
	run(t, db, d("create", "gone"))
	stream, err := watch(t, db.Collection("gone"))
	if err != nil {
		t.Fatal(err)
	}
	run(t, db, d("drop", "gone"))
	for range 20 {
		if stream.TryNext(harness.Context(t)) {
			t.Fatalf("an event: %v", stream.Current)
		}
		if err = stream.Err(); err != nil {
			break
		}
	}
	if !notFound(err) {
		t.Errorf("a collection that was dropped: %v", err)
	}
}

// TestChangeFeedOfLenient checks that a lenient account returns each change, also deletes.
func TestChangeFeedOfLenient(t *testing.T) {
	s := start(t, "--cosmos-lenient")
	coll := connect(t, s.CosmosURI).Database("test").Collection("feed")
	ctx := harness.Context(t)
	run(t, coll.Database(), d("create", "feed"))
	stream, err := coll.Watch(ctx, mongo.Pipeline{}, options.ChangeStream().SetFullDocument(options.UpdateLookup))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = stream.Close(context.Background()) })
	if _, err := coll.InsertOne(ctx, d("_id", 1)); err != nil {
		t.Fatal(err)
	}
	if _, err := coll.DeleteOne(ctx, d("_id", 1)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"insert", "delete"} {
		if !stream.Next(ctx) {
			t.Fatal(stream.Err())
		}
		if got := stream.Current.Lookup("operationType").StringValue(); got != want {
			t.Errorf("%s instead of %s", got, want)
		}
	}
}
