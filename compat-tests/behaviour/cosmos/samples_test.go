package cosmos

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/cantledb/cantle/compat-tests/rig/harness"
)

// differs is a result of a sample that differs here from the documented one. If the results no longer differ, the
// test fails, and the row must be removed.
type differs struct{ sample, what, documented, here string }

var differences = []differs{
	{"python", "maxBsonObjectSize of buildInfo", "16777216", "2097152"},
}

// sample is the run of one sample, in a database of its own with 400 RU/s.
type sample struct {
	*testing.T
	name   string
	client *mongo.Client
	db     *mongo.Database
}

// TestSamples runs the statements of eight public samples for accounts, at the throughput that they provision. The
// samples do not retry, so writing more than the throughput would make them fail.
func TestSamples(t *testing.T) {
	s := start(t)
	for _, x := range []struct {
		name, source string
		run          func(x *sample)
	}{
		{"python", "Azure-Samples/azure-cosmos-db-mongodb-python-getting-started", pythonSample},
		{"javascript", "Azure-Samples/cosmos-db-mongodb-api-javascript-samples", javascriptSample},
		{"express", "Azure-Samples/msdocs-nodejs-mongodb-azure-sample-app", expressSample},
		{"mongoose", "julie-ng/cosmosdb-mongoose-example", mongooseSample},
		{"bookstore", "Azure-Samples/azure-cosmosdb-mongodb-api-nodejs-bookstore", bookstoreSample},
		{"changestream", "Azure-Samples/azure-cosmos-db-mongodb-java-changestream", changestreamSample},
		{"go", "griffinbird/go-cosmos-mongodb", goSample},
		// The statements of this sample are sent by the Go driver: mgo itself sends messages older than OP_QUERY,
		// which the server does not support (docs/cosmos.md).
		{"mgo", "Azure-Samples/azure-cosmos-db-mongodb-golang-getting-started", mgoSample},
	} {
		t.Run(x.name, func(t *testing.T) {
			client := connect(t, s.CosmosURI)
			db := client.Database(x.name)
			run(t, db, d("customAction", "CreateDatabase", "offerThroughput", 400))
			x.run(&sample{t, x.name, client, db})
			if err := db.Drop(harness.Context(t)); err != nil {
				t.Errorf("%s: %v", x.source, err)
			}
		})
	}
}

// ok fails on the error of a statement.
func (x *sample) ok(what string, err error) {
	x.Helper()
	if err != nil {
		x.Fatalf("%s: %v", what, err)
	}
}

// same compares a result of the sample with the documented one, or with the row of differences about it.
func (x *sample) same(what string, got, want any) {
	x.Helper()
	have, documented := fmt.Sprint(got), fmt.Sprint(want)
	for _, row := range differences {
		if row.sample == x.name && row.what == what {
			if have != row.here || documented != row.documented {
				x.Errorf("%s: %s, documented %s; the table has %v", what, have, documented, row)
			}
			return
		}
	}
	if have != documented {
		x.Errorf("%s: %s, documented %s", what, have, documented)
	}
}

// all returns all documents of the cursor that a find or an aggregation has opened.
func (x *sample) all(what string, cur *mongo.Cursor, err error) (out []bson.M) {
	x.Helper()
	x.ok(what, err)
	x.ok(what, cur.All(harness.Context(x.T), &out))
	return out
}

func pythonSample(x *sample) {
	ctx, products := harness.Context(x.T), x.db.Collection("products")
	run(x.T, x.db, d("customAction", "CreateCollection", "collection", "products"))
	run(x.T, x.db, d("customAction", "UpdateCollection", "collection", "products",
		"indexes", bson.A{d("key", d("_id", 1), "name", "_id_1"), d("key", d("name", 2), "name", "_id_2")}))
	list, err := products.Indexes().ListSpecifications(ctx)
	x.ok("listIndexes", err)
	var names []string
	for _, ix := range list {
		names = append(names, ix.Name)
	}
	x.same("names of indexes made by UpdateCollection", names, []string{"_id_", "name_1"})
	product := d("category", "gear-surf-surfboards", "name", "Yamba Surfboard-50", "quantity", 1, "sale", false)
	up, err := products.UpdateOne(ctx, d("name", "Yamba Surfboard-50"), d("$set", product), options.UpdateOne().SetUpsert(true))
	x.ok("upsert", err)
	x.same("upserted", up.UpsertedCount, 1)
	var found bson.M
	x.ok("find", products.FindOne(ctx, d("_id", up.UpsertedID)).Decode(&found))
	x.same("found", found["name"], "Yamba Surfboard-50")
	cur, err := products.Find(ctx, d("category", "gear-surf-surfboards"), options.Find().SetSort(d("name", 1)))
	x.same("sorted", len(x.all("sorted", cur, err)), 1)
	n, err := products.CountDocuments(ctx, d("category", "gear-surf-surfboards"))
	x.ok("count of a category", err)
	x.same("count of a category", n, 1)

	build := run(x.T, x.db, d("buildInfo", 1))
	x.same("bits", build.Lookup("bits").AsInt64(), 64)
	x.same("maxBsonObjectSize of buildInfo", build.Lookup("maxBsonObjectSize").AsInt64(), 16777216)
	run(x.T, x.client.Database("admin"), d("serverStatus", 1))
	databases, err := x.client.ListDatabaseNames(ctx, bson.D{})
	x.ok("databases", err)
	x.same("databases", databases, []string{"python"})
	for _, db := range databases {
		collections, err := x.client.Database(db).ListCollectionNames(ctx, bson.D{})
		x.ok("collections", err)
		x.same("collections", collections, []string{"products"})
		n, err := x.client.Database(db).Collection(collections[0]).CountDocuments(ctx, bson.D{})
		x.ok("count", err)
		x.same("count", n, 1)
	}

	// Both collections share the throughput of the database. Source: Azure Cosmos DB for MongoDB, "custom-commands".
	_, err = x.db.Collection("made").InsertOne(ctx, d("_id", 1))
	x.ok("an insert makes a collection", err)
	for _, name := range []string{"products", "made"} {
		r := run(x.T, x.db, d("customAction", "GetCollection", "collection", name))
		x.same("throughput of "+name, r.Lookup("provisionedThroughput").Type, bson.Type(0))
	}
}

func javascriptSample(x *sample) {
	ctx, products := harness.Context(x.T), x.db.Collection("products")
	_, err := products.Indexes().CreateOne(ctx, mongo.IndexModel{Keys: d("name", 1)})
	x.ok("createIndex", err)
	cur, err := products.Indexes().List(ctx)
	list := x.all("indexes", cur, err)
	x.same("an index", []any{list[1]["v"], list[1]["name"], list[1]["ns"]}, []any{1, "name_1", "javascript.products"})

	surfboard := d("category", "gear-surf-surfboards", "name", "Yamba Surfboard 3", "quantity", 15, "sale", true)
	for _, changed := range []bson.E{{Key: "quantity", Value: 15}, {Key: "quantity", Value: 16}} {
		surfboard[2] = changed
		up, err := products.UpdateOne(ctx, d("name", "Yamba Surfboard 3"), d("$set", surfboard), options.UpdateOne().SetUpsert(true))
		x.ok("upsert", err)
		x.same("matched, modified and upserted are one", up.MatchedCount+up.UpsertedCount, 1)
	}
	bulk, err := products.BulkWrite(ctx, []mongo.WriteModel{
		mongo.NewInsertOneModel().SetDocument(d("category", "gear-surf-surfboards", "name", "Yamba Surfboard 5", "quantity", 15, "sale", true)),
		mongo.NewInsertOneModel().SetDocument(d("category", "gear-surf-surfboards", "name", "Yamba Surfboard 7", "quantity", 5, "sale", true)),
		mongo.NewUpdateManyModel().SetFilter(d("category", "gear-surf-surfboards")).SetUpdate(d("$set", d("discontinued", true))).SetUpsert(true),
	})
	x.ok("bulkWrite", err)
	x.same("bulkWrite", []int64{bulk.InsertedCount, bulk.UpsertedCount, bulk.MatchedCount, bulk.ModifiedCount}, []int64{2, 0, 3, 3})
	cur, err = products.Find(ctx, d("category", "gear-surf-surfboards"), options.Find().SetSort(d("_id", 1)))
	x.same("by category", len(x.all("by category", cur, err)), 3)
	cur, err = products.Find(ctx, bson.D{}, options.Find().SetSort(d("name", 1)).SetSkip(1).SetLimit(5))
	x.same("page", len(x.all("page", cur, err)), 2)

	var bikes []bson.D
	for i, category := range []string{"Bikes, Touring Bikes", "Bikes, Road Bikes", "Bikes, Mountain Bikes", "Clothing, Socks"} {
		for j := range 3 {
			bikes = append(bikes, d("_id", fmt.Sprint(i, j), "categoryName", category, "price", 100.004*float64(i+1)+float64(j)))
		}
	}
	_, err = products.InsertMany(ctx, bikes)
	x.ok("insertMany", err)
	time.Sleep(time.Second) // the reader runs them by hand, one after the other
	round := func(field string) bson.D { return d("$round", bson.A{"$" + field, 2}) }
	figures := d("maxPrice", d("$max", "$price"), "averagePrice", d("$avg", "$price"), "minPrice", d("$min", "$price"), "countOfProducts", d("$sum", 1))
	cur, err = products.Aggregate(ctx, bson.A{
		d("$match", d("categoryName", d("$regex", "Bikes"))),
		d("$addFields", d("categories", d("$split", bson.A{"$categoryName", ", "}))),
		d("$addFields", d("subcategory", d("$slice", bson.A{"$categories", 1, d("$subtract", bson.A{d("$size", "$categories"), 1})}))),
		d("$group", append(d("_id", "$subcategory"), figures...)),
		d("$project", d("_id", 0, "name", d("$arrayElemAt", bson.A{"$_id", 0}), "nProducts", "$countOfProducts", "min", round("minPrice"), "avg", round("averagePrice"), "max", round("maxPrice"))),
		d("$sort", d("name", 1)),
	})
	var lines []string
	for _, row := range x.all("price ranges", cur, err) {
		lines = append(lines, fmt.Sprint(row["name"], row["nProducts"], row["min"], row["avg"], row["max"]))
	}
	x.same("price ranges", lines, []string{"Mountain Bikes3 300.01 301.01 302.01", "Road Bikes3 200.01 201.01 202.01", "Touring Bikes3 100 101 102"})
	_, err = products.Aggregate(ctx, bson.A{
		d("$match", d("price", d("$exists", true))),
		d("$group", append(d("_id", "$categoryName"), figures...)),
		d("$project", d("_id", 0, "category", "$_id", "nProducts", "$countOfProducts", "averagePrice", round("averagePrice"))),
		d("$sort", d("$averagePrice", -1)),
	})
	var refused mongo.CommandError
	got := "results in no order"
	if errors.As(err, &refused) {
		got = fmt.Sprintf("error %d", refused.Code)
	}
	x.same("sort by {$averagePrice: -1}", got, "results in no order")

	deleted, err := products.DeleteOne(ctx, d("name", "Yamba Surfboard 7"))
	x.ok("delete", err)
	x.same("deleted", deleted.DeletedCount, 1)
	x.ok("drop", products.Drop(ctx))
}

func expressSample(x *sample) {
	ctx, tasks := harness.Context(x.T), x.db.Collection("tasks")
	var ids []any
	for i := range 5 {
		r, err := tasks.InsertOne(ctx, d("taskName", fmt.Sprint("task ", i), "createDate", time.Now(), "__v", 0))
		x.ok("addTask", err)
		ids = append(ids, r.InsertedID)
	}
	x.ok("completeTask", tasks.FindOneAndUpdate(ctx, d("_id", ids[0]), d("$set", d("completed", true, "completedDate", time.Now()))).Err())
	x.ok("deleteTask", tasks.FindOneAndDelete(ctx, d("_id", ids[1])).Err())
	cur, err := tasks.Find(ctx, bson.D{})
	list := x.all("home", cur, err)
	done := slices.DeleteFunc(slices.Clone(list), func(t bson.M) bool { return t["completed"] != true })
	x.same("tasks", []int{len(list), len(done)}, []int{4, 1})
}

func mongooseSample(x *sample) {
	ctx, all := harness.Context(x.T), x.db.Collection("alldata")
	family := d("_type", "FamilyType", "lastName", "Volum", "parents", bson.A{d("firstName", "Thomas"), d("firstName", "Mary Kay")},
		"pets", bson.A{d("givenName", "Blackie")}, "address", d("country", "USA", "state", "WA", "city", "Seattle"))
	for _, doc := range []bson.D{family, d("_type", "VacationDestinationsType", "name", "Honolulu", "country", "USA")} {
		_, err := all.InsertOne(ctx, doc)
		x.ok("save", err)
	}
	n, err := all.CountDocuments(ctx, d("_type", "FamilyType"))
	x.ok("count", err)
	x.same("families", n, 1)
}

func bookstoreSample(x *sample) {
	ctx, books := harness.Context(x.T), x.db.Collection("books")
	var seed []mongo.WriteModel
	for i := range 12 {
		seed = append(seed, mongo.NewInsertOneModel().SetDocument(d("_id", i, "title", fmt.Sprint("book ", i), "author", "a", "img", "i", "rating", float64(i%5),
			"bookformat", []string{"Hardcover", "Paperback"}[i%2], "genre", bson.A{"Fiction"})))
	}
	_, err := books.BulkWrite(ctx, seed)
	x.ok("seed", err)
	filter := d("rating", d("$gt", 2), "bookformat", d("$in", bson.A{"Hardcover"}), "genre", d("$in", bson.A{"Fiction"}))
	page := options.Find().SetProjection(d("title", 1, "author", 1, "img", 1)).SetLimit(20)
	cur, err := books.Find(ctx, filter, page)
	x.same("filtered", len(x.all("filtered", cur, err)), 2)
	_, err = books.Find(ctx, bson.D{}, page.SetSort(d("rating", -1)))
	var refused mongo.CommandError
	x.same("a sort before its index", errors.As(err, &refused) && refused.Code == 2, true)
	_, err = books.Indexes().CreateOne(ctx, mongo.IndexModel{Keys: d("rating", 1)})
	x.ok("index", err)
	cur, err = books.Find(ctx, bson.D{}, page)
	x.same("by rating", len(x.all("by rating", cur, err)), 12)
	for _, update := range []bson.D{
		d("$push", d("reviewcomments", d("name", "n", "comment", "first"))), d("$push", d("reviewcomments", d("name", "n", "comment", "second"))),
		d("$unset", d("reviewcomments.0", 1)), d("$pull", d("reviewcomments", nil)),
	} {
		_, err := books.UpdateOne(ctx, d("_id", 1), update)
		x.ok("comment", err)
	}
	n, err := books.CountDocuments(ctx, d("_id", 1, "reviewcomments", d("$size", 1), "reviewcomments.0.comment", "second"))
	x.ok("comments", err)
	x.same("comments", n, 1)
}

// next waits for the next event of a change stream, and returns the value of "name" in the changed document.
func (x *sample) next(stream *mongo.ChangeStream) any {
	x.Helper()
	if !stream.Next(harness.Context(x.T)) {
		x.Fatalf("stream: %v", stream.Err())
	}
	var event struct{ FullDocument bson.M }
	x.ok("event", stream.Decode(&event))
	return event.FullDocument["name"]
}

func changestreamSample(x *sample) {
	ctx, coll, lease := harness.Context(x.T), x.db.Collection("docs"), x.db.Collection("lease")
	run(x.T, x.db, d("customAction", "CreateCollection", "collection", "lease", "offerThroughput", 400, "shardKey", "_id"))
	_, err := lease.InsertOne(ctx, d("_id", "owner", "hostName", "h", "resumeToken", "", "ownerHealthCheckRefreshTime", time.Now().UnixMilli()))
	x.ok("lease", err)
	x.ok("acquire", lease.FindOneAndUpdate(ctx, d("_id", "owner"), d("$set", d("ownerHealthCheckRefreshTime", time.Now().UnixMilli(), "hostName", "me"))).Err())
	run(x.T, x.db, d("customAction", "CreateCollection", "collection", "docs"))

	match := d("operationType", d("$in", bson.A{"update", "replace", "insert"}))
	project := d("$project", d("_id", 1, "ns", 1, "documentKey", 1, "fullDocument", 1))
	named := append(slices.Clone(match), bson.E{Key: "fullDocument.name", Value: "cosmosdb"})
	watch := func(match bson.D, set func(*options.ChangeStreamOptionsBuilder)) *mongo.ChangeStream {
		o := options.ChangeStream().SetFullDocument(options.UpdateLookup).SetMaxAwaitTime(200 * time.Millisecond)
		set(o)
		stream, err := coll.Watch(ctx, bson.A{d("$match", match), project}, o)
		x.ok("watch", err)
		x.Cleanup(func() { _ = stream.Close(ctx) })
		return stream
	}
	insert := func(name string) {
		_, err := coll.InsertOne(ctx, d("name", name))
		x.ok("insert", err)
	}
	stream := watch(match, func(*options.ChangeStreamOptionsBuilder) {})
	insert("doc-in-step-1")
	x.same("1: changes", x.next(stream), "doc-in-step-1")
	insert("doc-in-step-2")
	token := stream.ResumeToken()
	stream = watch(match, func(o *options.ChangeStreamOptionsBuilder) { o.SetResumeAfter(token) })
	x.same("2: resumed", x.next(stream), "doc-in-step-2")
	token = stream.ResumeToken()
	stream = watch(named, func(o *options.ChangeStreamOptionsBuilder) { o.SetResumeAfter(token) })
	insert("doc-in-step-3")
	insert("cosmosdb")
	x.same("3: filtered", x.next(stream), "cosmosdb")
	at := bson.Timestamp{T: uint32(time.Now().Unix()), I: 1}
	stream = watch(named, func(o *options.ChangeStreamOptionsBuilder) { o.SetStartAtOperationTime(&at) })
	insert("doc-in-step-4")
	insert("cosmosdb")
	x.same("4: since a time", x.next(stream), "cosmosdb")
}

func goSample(x *sample) {
	ctx, customers := harness.Context(x.T), x.db.Collection("customer")
	_, err := customers.InsertOne(ctx, d("_id", "3200B375", "firstName", "Emma", "salesOrderCount", 1))
	x.ok("insert", err)
	cur, err := customers.Find(ctx, d("_id", "3200B375"))
	x.same("query", len(x.all("query", cur, err)), 1)
	var statistics struct {
		ActivityID, CommandName                     string
		EstimateDelayFromRateLimitingInMilliseconds int
		RequestCharge                               float64
		RequestDurationInMilliseconds               int
		RetiredDueToRateLimiting                    bool
		OK                                          int
	}
	x.ok("statistics", x.db.RunCommand(ctx, d("getLastRequestStatistics", "1")).Decode(&statistics))
	x.same("statistics", []any{statistics.CommandName, statistics.OK, statistics.RequestCharge > 0 && !math.IsInf(statistics.RequestCharge, 0)}, []any{"find", 1, true})
}

func mgoSample(x *sample) {
	ctx, packages := harness.Context(x.T), x.db.Collection("package")
	_, err := packages.InsertOne(ctx, d("fullname", "react", "description", "A framework for building native apps with React.", "forkscount", 11392, "starscount", 48794))
	x.ok("insert", err)
	var found bson.M
	x.ok("find", packages.FindOne(ctx, d("fullname", "react")).Decode(&found))
	x.same("description", reflect.TypeOf(found["description"]), reflect.TypeFor[string]())
	update, err := packages.UpdateOne(ctx, d("_id", found["_id"]), d("$set", d("fullname", "react-native")))
	x.ok("update", err)
	removed, err := packages.DeleteOne(ctx, d("_id", found["_id"]))
	x.ok("remove", err)
	x.same("updated and removed", []int64{update.ModifiedCount, removed.DeletedCount}, []int64{1, 1})
}
