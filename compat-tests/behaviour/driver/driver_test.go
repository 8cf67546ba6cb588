package driver

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/cantledb/cantle/compat-tests/rig/harness"
)

// fixture is an empty collection with a client.
type fixture struct {
	*testing.T
	ctx    context.Context
	client *mongo.Client
	db     *mongo.Database
	coll   *mongo.Collection
}

// each runs a test twice on one server: with an unsharded collection, and with one that is sharded over 7 partitions.
func each(t *testing.T, test func(f *fixture)) {
	server := harness.Start(t, harness.Options{})
	client := server.Client(t)
	for _, shards := range []int{0, 7} {
		name := "unsharded"
		if shards > 0 {
			name = fmt.Sprintf("sharded%d", shards)
		}
		t.Run(name, func(t *testing.T) {
			f := &fixture{T: t, ctx: harness.Context(t), client: client, db: client.Database("driver")}
			f.coll = f.db.Collection("c")
			f.ok(f.db.Drop(f.ctx))
			if shards > 0 {
				f.shard("driver.c", bson.D{{Key: "_id", Value: "hashed"}}, shards)
			}
			test(f)
		})
	}
}

// shard shards a collection.
func (f *fixture) shard(ns string, key bson.D, shards int) {
	f.Helper()
	f.ok(f.client.Database("admin").RunCommand(f.ctx, bson.D{
		{Key: "shardCollection", Value: ns}, {Key: "key", Value: key}, {Key: "numInitialChunks", Value: shards},
	}).Err())
}

// ok ends the test on an error.
func (f *fixture) ok(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

// code checks the server's error code.
func (f *fixture) code(err error, want int) {
	f.Helper()
	var server mongo.ServerError
	if !errors.As(err, &server) || !server.HasErrorCode(want) {
		f.Errorf("error %v, want code %d", err, want)
	}
}

// equal compares two values.
func (f *fixture) equal(what string, got, want any) {
	f.Helper()
	if !reflect.DeepEqual(got, want) {
		f.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// insert inserts documents.
func (f *fixture) insert(docs ...any) {
	f.Helper()
	_, err := f.coll.InsertMany(f.ctx, docs)
	f.ok(err)
}

// ids returns the _ids of the documents that a find returns, in their order.
func (f *fixture) ids(filter any, o ...options.Lister[options.FindOptions]) []int32 {
	f.Helper()
	cursor, err := f.coll.Find(f.ctx, filter, o...)
	f.ok(err)
	return idsOf(f, cursor)
}

// idsOf reads a cursor to its end.
func idsOf(f *fixture, cursor *mongo.Cursor) []int32 {
	f.Helper()
	defer cursor.Close(f.ctx)
	var out []int32
	for cursor.Next(f.ctx) {
		id, _ := cursor.Current.Lookup("_id").AsInt64OK()
		out = append(out, int32(id))
	}
	f.ok(cursor.Err())
	return out
}

// d is short for an ordered document of pairs.
func d(pairs ...any) bson.D {
	out := bson.D{}
	for i := 0; i+1 < len(pairs); i += 2 {
		out = append(out, bson.E{Key: pairs[i].(string), Value: pairs[i+1]})
	}
	return out
}

func TestCRUD(t *testing.T) {
	each(t, func(f *fixture) {
		one, err := f.coll.InsertOne(f.ctx, d("a", 1))
		f.ok(err)
		if _, ok := one.InsertedID.(bson.ObjectID); !ok {
			f.Errorf("generated _id is a %T", one.InsertedID)
		}
		f.insert(d("_id", 1, "a", 1), d("_id", 2, "a", 2), d("_id", 3, "a", 3))
		_, err = f.coll.InsertOne(f.ctx, d("_id", 1))
		if !mongo.IsDuplicateKeyError(err) {
			f.Errorf("second insert of one _id: %v", err)
		}
		f.equal("find", f.ids(d("_id", d("$gte", 1), "a", d("$lt", 3)), options.Find().SetSort(d("_id", 1))), []int32{1, 2})

		up, err := f.coll.UpdateOne(f.ctx, d("_id", 2), d("$set", d("b", "x")))
		f.ok(err)
		f.equal("matched, modified", []int64{up.MatchedCount, up.ModifiedCount}, []int64{1, 1})
		up, err = f.coll.UpdateOne(f.ctx, d("_id", 2), d("$set", d("b", "x")))
		f.ok(err)
		f.equal("matched, modified by a no-op", []int64{up.MatchedCount, up.ModifiedCount}, []int64{1, 0})
		up, err = f.coll.UpdateMany(f.ctx, d("a", d("$gte", 2)), d("$inc", d("a", 10)))
		f.ok(err)
		f.equal("modified by many", up.ModifiedCount, int64(2))
		up, err = f.coll.UpdateOne(f.ctx, d("_id", 50), d("$set", d("z", 1)), options.UpdateOne().SetUpsert(true))
		f.ok(err)
		f.equal("upserted", up.UpsertedID, any(int32(50)))
		_, err = f.coll.ReplaceOne(f.ctx, d("_id", 50), d("r", true))
		f.ok(err)

		var got bson.D
		f.ok(f.coll.FindOne(f.ctx, d("_id", 50)).Decode(&got))
		f.equal("replaced", got, d("_id", int32(50), "r", true))
		f.ok(f.coll.FindOneAndUpdate(f.ctx, d("_id", 50), d("$set", d("n", 5)), options.FindOneAndUpdate().SetReturnDocument(options.After)).Decode(&got))
		f.equal("findOneAndUpdate after", got, d("_id", int32(50), "r", true, "n", int32(5)))
		f.ok(f.coll.FindOneAndDelete(f.ctx, d("_id", 50)).Decode(&got))
		if err := f.coll.FindOne(f.ctx, d("_id", 50)).Err(); !errors.Is(err, mongo.ErrNoDocuments) {
			f.Errorf("deleted document: %v", err)
		}
		gone, err := f.coll.DeleteMany(f.ctx, d("a", d("$gte", 10)))
		f.ok(err)
		f.equal("deleted", gone.DeletedCount, int64(2))
		n, err := f.coll.CountDocuments(f.ctx, d())
		f.ok(err)
		f.equal("left", n, int64(2))
		n, err = f.coll.EstimatedDocumentCount(f.ctx)
		f.ok(err)
		f.equal("estimated", n, int64(2))
	})
}

func TestAllTypesRoundTrip(t *testing.T) {
	each(t, func(f *fixture) {
		decimal, err := bson.ParseDecimal128("1234567890.0987654321")
		f.ok(err)
		doc := d("_id", int32(1), "double", 1.5, "string", "ü\x00z", "doc", d("x", int32(1)), "array", bson.A{int32(1), "b", nil},
			"binary", bson.Binary{Subtype: 4, Data: []byte("0123456789abcdef")}, "oid", bson.NewObjectID(), "bool", true,
			"date", bson.NewDateTimeFromTime(time.Unix(1493596800, 0)), "null", nil, "regex", bson.Regex{Pattern: "^a", Options: "i"},
			"code", bson.JavaScript("x"), "int", int32(-5), "timestamp", bson.Timestamp{T: 7, I: 8}, "long", int64(1)<<60,
			"decimal", decimal, "min", bson.MinKey{}, "max", bson.MaxKey{}, "undefined", bson.Undefined{}, "symbol", bson.Symbol("s"))
		f.insert(doc)
		var got bson.D
		f.ok(f.coll.FindOne(f.ctx, d("_id", 1)).Decode(&got))
		f.equal("document", got, doc)
	})
}

func TestBulkWrite(t *testing.T) {
	each(t, func(f *fixture) {
		got, err := f.coll.BulkWrite(f.ctx, []mongo.WriteModel{
			mongo.NewInsertOneModel().SetDocument(d("_id", 1, "a", 1)),
			mongo.NewInsertOneModel().SetDocument(d("_id", 2, "a", 1)),
			mongo.NewUpdateManyModel().SetFilter(d("a", 1)).SetUpdate(d("$inc", d("a", 1))),
			mongo.NewReplaceOneModel().SetFilter(d("_id", 9)).SetReplacement(d("new", true)).SetUpsert(true),
			mongo.NewDeleteOneModel().SetFilter(d("_id", 1)),
		})
		f.ok(err)
		f.equal("counts", []int64{got.InsertedCount, got.MatchedCount, got.ModifiedCount, got.UpsertedCount, got.DeletedCount}, []int64{2, 2, 2, 1, 1})

		_, err = f.coll.BulkWrite(f.ctx, []mongo.WriteModel{
			mongo.NewInsertOneModel().SetDocument(d("_id", 2)),
			mongo.NewInsertOneModel().SetDocument(d("_id", 3)),
			mongo.NewInsertOneModel().SetDocument(d("_id", 9)),
		}, options.BulkWrite().SetOrdered(false))
		var bulk mongo.BulkWriteException
		if !errors.As(err, &bulk) {
			f.Fatalf("bulk with duplicates: %v", err)
		}
		var at []int
		for _, e := range bulk.WriteErrors {
			at = append(at, e.Index)
			f.equal("code", e.Code, 11000)
		}
		f.equal("failed at", at, []int{0, 2})
		f.equal("left", f.ids(d(), options.Find().SetSort(d("_id", 1))), []int32{2, 3, 9})

		// The server counts all documents of a large batch.
		docs := make([]any, 2500)
		for i := range docs {
			docs[i] = d("_id", 1000+i)
		}
		f.insert(docs...)
		n, err := f.coll.CountDocuments(f.ctx, d("_id", d("$gte", 1000)))
		f.ok(err)
		f.equal("count", n, int64(2500))
	})
}

func TestCursors(t *testing.T) {
	each(t, func(f *fixture) {
		docs := make([]any, 1000)
		want := make([]int32, 1000)
		for i := range docs {
			docs[i] = d("_id", i, "k", (i*7919)%1000, "text", string(make([]byte, 500)))
			want[i] = int32(i)
		}
		f.insert(docs...)
		for _, size := range []int32{1, 2, 101, 999, 1000, 1001} {
			f.equal(fmt.Sprintf("batch size %d", size), f.ids(d(), options.Find().SetSort(d("_id", 1)).SetBatchSize(size)), want)
		}
		f.equal("skip and limit", f.ids(d(), options.Find().SetSort(d("_id", -1)).SetSkip(990).SetLimit(100)), []int32{9, 8, 7, 6, 5, 4, 3, 2, 1, 0})
		if n := len(f.ids(d(), options.Find().SetBatchSize(3))); n != 1000 {
			f.Errorf("unsorted find returned %d", n)
		}
		// maxTimeMS of the command that opens a cursor does not limit the cursor's getMores.
		_, err := f.coll.Indexes().CreateOne(f.ctx, mongo.IndexModel{Keys: d("k", 1)})
		f.ok(err)
		for _, hint := range []bson.D{d("$natural", 1), d("k", 1)} {
			for _, command := range []bson.D{
				d("find", "c", "hint", hint, "batchSize", 10, "maxTimeMS", 60_000),
				d("aggregate", "c", "hint", hint, "pipeline", bson.A{d("$project", d("k", 1))}, "cursor", d("batchSize", 10), "maxTimeMS", 60_000),
			} {
				limited, err := f.db.RunCommandCursor(f.ctx, command)
				f.ok(err)
				f.equal(fmt.Sprint(command), len(idsOf(f, limited)), 1000)
			}
		}
		// Writes behind the position of an open cursor do not change the cursor's other results, and a cursor can be
		// closed early.
		cursor, err := f.coll.Find(f.ctx, d(), options.Find().SetSort(d("_id", 1)).SetBatchSize(10))
		f.ok(err)
		for range 5 {
			cursor.Next(f.ctx)
		}
		_, err = f.coll.DeleteMany(f.ctx, d("_id", d("$lt", 5)))
		f.ok(err)
		f.equal("rest of the cursor", len(idsOf(f, cursor)), 995)
		cursor, err = f.coll.Find(f.ctx, d(), options.Find().SetBatchSize(10))
		f.ok(err)
		cursor.Next(f.ctx)
		id := cursor.ID()
		f.ok(cursor.Close(f.ctx))
		f.code(f.db.RunCommand(f.ctx, d("getMore", id, "collection", "c")).Err(), 43)
	})
}

func TestIndexes(t *testing.T) {
	each(t, func(f *fixture) {
		docs := make([]any, 300)
		for i := range docs {
			docs[i] = d("_id", i, "a", i%10, "b", bson.A{i, -i}, "c", d("d", fmt.Sprint(i%7)))
		}
		f.insert(docs...)
		filters := []bson.D{
			d("a", 3), d("a", d("$in", bson.A{1, 9, 77})), d("b", -17), d("b", d("$gt", 10, "$lt", 20)), d("c.d", "5"),
			d("a", d("$gte", 2, "$lt", 4), "c.d", "1"), d("$or", bson.A{d("a", 1), d("b", 299)}), d("a", d("$ne", 3)), d("b", nil),
		}
		find := func() (out [][]int32) {
			for _, filter := range filters {
				out = append(out, f.ids(filter, options.Find().SetSort(d("_id", 1))))
			}
			return out
		}
		before := find()
		view := f.coll.Indexes()
		names, err := view.CreateMany(f.ctx, []mongo.IndexModel{
			{Keys: d("a", 1)}, {Keys: d("b", -1)}, {Keys: d("c.d", 1, "a", -1)}, {Keys: d("a", 1, "b", 1), Options: options.Index().SetName("ab")},
		})
		f.ok(err)
		f.equal("names", names, []string{"a_1", "b_-1", "c.d_1_a_-1", "ab"})
		f.equal("answers with indexes", find(), before)

		var plan bson.Raw
		f.ok(f.db.RunCommand(f.ctx, d("explain", d("find", "c", "filter", d("a", 3)), "verbosity", "executionStats")).Decode(&plan))
		stats := plan.Lookup("executionStats")
		if stats.Type == bson.TypeEmbeddedDocument {
			examined, _ := stats.Document().Lookup("totalDocsExamined").AsInt64OK()
			returned, _ := stats.Document().Lookup("nReturned").AsInt64OK()
			f.equal("documents examined, returned", []int64{examined, returned}, []int64{30, 30})
		} else {
			f.Errorf("explain without executionStats: %s", plan)
		}
		specs, err := view.ListSpecifications(f.ctx)
		f.ok(err)
		f.equal("indexes", len(specs), 5)
		f.ok(view.DropOne(f.ctx, "ab"))
		f.code(view.DropOne(f.ctx, "ab"), 27)
		f.ok(view.DropAll(f.ctx))
		f.equal("answers after the drop", find(), before)
	})
}

func TestUniqueIndex(t *testing.T) {
	f := single(t)
	_, err := f.coll.Indexes().CreateOne(f.ctx, mongo.IndexModel{Keys: d("email", 1), Options: options.Index().SetUnique(true)})
	f.ok(err)
	f.insert(d("_id", 1, "email", "a"), d("_id", 2, "email", "b"))
	_, err = f.coll.InsertOne(f.ctx, d("_id", 3, "email", "a"))
	f.code(err, 11000)
	_, err = f.coll.UpdateOne(f.ctx, d("_id", 2), d("$set", d("email", "a")))
	f.code(err, 11000)
	_, err = f.coll.UpdateOne(f.ctx, d("_id", 1), d("$set", d("email", "c")))
	f.ok(err)
	_, err = f.coll.UpdateOne(f.ctx, d("_id", 2), d("$set", d("email", "a")))
	f.ok(err)
}

// single is a fixture for tests that run once.
func single(t *testing.T) *fixture {
	server := harness.Start(t, harness.Options{})
	f := &fixture{T: t, ctx: harness.Context(t), client: server.Client(t)}
	f.db = f.client.Database("driver")
	f.coll = f.db.Collection("c")
	return f
}

func TestTransactions(t *testing.T) {
	each(t, func(f *fixture) {
		f.insert(d("_id", 1, "n", 100), d("_id", 2, "n", 0))
		session, err := f.client.StartSession()
		f.ok(err)
		defer session.EndSession(f.ctx)
		_, err = session.WithTransaction(f.ctx, func(ctx context.Context) (any, error) {
			if _, err := f.coll.UpdateOne(ctx, d("_id", 1), d("$inc", d("n", -30))); err != nil {
				return nil, err
			}
			return f.coll.UpdateOne(ctx, d("_id", 2), d("$inc", d("n", 30)))
		})
		f.ok(err)
		failure := errors.New("changed my mind")
		_, err = session.WithTransaction(f.ctx, func(ctx context.Context) (any, error) {
			if _, err := f.coll.DeleteMany(ctx, d()); err != nil {
				return nil, err
			}
			return nil, failure
		})
		if !errors.Is(err, failure) {
			f.Errorf("aborted transaction: %v", err)
		}
		f.equal("after", f.ids(d("n", d("$in", bson.A{70, 30})), options.Find().SetSort(d("_id", 1))), []int32{1, 2})
	})
}

func TestAggregate(t *testing.T) {
	each(t, func(f *fixture) {
		docs := make([]any, 200)
		for i := range docs {
			docs[i] = d("_id", i, "g", i%4, "v", i)
		}
		f.insert(docs...)
		var got []struct {
			ID  int32   `bson:"_id"`
			N   int32   `bson:"n"`
			Sum int32   `bson:"sum"`
			Avg float64 `bson:"avg"`
		}
		cursor, err := f.coll.Aggregate(f.ctx, bson.A{
			d("$match", d("v", d("$gte", 100))),
			d("$group", d("_id", "$g", "n", d("$sum", 1), "sum", d("$sum", "$v"), "avg", d("$avg", "$v"))),
			d("$sort", d("sum", -1)),
			d("$limit", 2),
		})
		f.ok(err)
		f.ok(cursor.All(f.ctx, &got))
		if len(got) != 2 || got[0].ID != 3 || got[0].N != 25 || got[0].Sum != 3775 || got[0].Avg != 151 || got[1].ID != 2 {
			f.Errorf("groups %+v", got)
		}
	})
}

func TestShardedByOtherKey(t *testing.T) {
	f := single(t)
	f.shard("driver.c", d("region", "hashed"), 8)
	docs := make([]any, 400)
	for i := range docs {
		docs[i] = d("_id", i, "region", fmt.Sprintf("r%d", i%20), "n", i)
	}
	f.insert(docs...)
	f.equal("targeted", len(f.ids(d("region", "r7"))), 20)
	f.equal("scattered", f.ids(d("n", d("$gte", 395)), options.Find().SetSort(d("n", -1))), []int32{399, 398, 397, 396, 395})
	_, err := f.coll.UpdateOne(f.ctx, d("region", "r3", "_id", 3), d("$set", d("n", -1)))
	f.ok(err)
	up, err := f.coll.UpdateMany(f.ctx, d("region", "r3"), d("$set", d("seen", true)))
	f.ok(err)
	f.equal("modified", up.ModifiedCount, int64(20))
	gone, err := f.coll.DeleteMany(f.ctx, d("region", "r3"))
	f.ok(err)
	f.equal("deleted", gone.DeletedCount, int64(20))
	n, err := f.coll.CountDocuments(f.ctx, d())
	f.ok(err)
	f.equal("left", n, int64(380))
}

func TestThrottling(t *testing.T) {
	f := single(t)
	f.ok(f.db.RunCommand(f.ctx, d("customAction", "CreateCollection", "collection", "c", "offerThroughput", 400)).Err())
	docs := make([]any, 500)
	for i := range docs {
		docs[i] = d("_id", i, "text", string(make([]byte, 1000)))
	}
	_, err := f.coll.InsertMany(f.ctx, docs, options.InsertMany().SetOrdered(false))
	var bulk mongo.BulkWriteException
	if !errors.As(err, &bulk) || len(bulk.WriteErrors) == 0 || len(bulk.WriteErrors) == len(docs) {
		f.Fatalf("500 KB into 400 RU/s: %v", err)
	}
	for _, e := range bulk.WriteErrors {
		f.equal("code", e.Code, 16500)
	}
	// The refused documents are not there, the others are.
	deadline := time.Now().Add(30 * time.Second)
	for {
		n, err := f.coll.EstimatedDocumentCount(f.ctx)
		if err == nil {
			f.equal("stored + refused", int(n)+len(bulk.WriteErrors), len(docs))
			return
		}
		f.code(err, 16500)
		if time.Now().After(deadline) {
			f.Fatal("still throttled after 30 s")
		}
		time.Sleep(200 * time.Millisecond)
	}
}
