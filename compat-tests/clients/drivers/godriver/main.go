// Command godriver is the client program for the official Go driver. The package comment of
// compat-tests/clients/drivers describes its output.
package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readconcern"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"
)

var (
	uri    = os.Getenv("CANTLE_URI")
	one    = cmp.Or(os.Getenv("CANTLE_ONE_URI"), uri) // of one server, where there are several
	cosmos = os.Getenv("CANTLE_PERSONALITY") == "cosmos"
)

// areaSecondsMax bounds the duration of one area.
const areaSecondsMax = 60

func main() {
	failed := false
	for _, a := range []struct {
		name  string
		check func(*area)
	}{
		{"connect", connect}, {"crud", crud}, {"bulk", bulk}, {"bulkwrite", bulkWrite}, {"cursors", cursors}, {"indexes", indexes}, {"aggregation", aggregation},
		{"gridfs", files}, {"sessions", sessions}, {"transactions", transactions}, {"retryable", retryable},
		{"changestreams", changeStreams}, {"throttling", throttling}, {"errors", refusals}, {"compression", compression}, {"pool", pool}, {"hosts", hosts},
	} {
		if err := try(a.name, a.check); errors.As(err, new(skipped)) {
			fmt.Println("go", a.name, "skip", err)
			continue
		} else if err != nil {
			failed = true
			fmt.Println("go", a.name, "FAIL", strings.ReplaceAll(err.Error(), "\n", " | "))
			continue
		}
		fmt.Println("go", a.name, "ok")
	}
	if failed {
		os.Exit(1)
	}
}

func connect(a *area) {
	u, err := url.Parse(one)
	a.ok(err)
	join := "?"
	if strings.Contains(uri, "?") {
		join = "&"
	}
	direct, local := *u, *u
	direct.Path, local.Path = "/admin", "/some"
	query := u.Query()
	query.Set("directConnection", "true")
	query.Del("replicaSet")
	direct.RawQuery = query.Encode()
	local.Host = "localhost:" + u.Port()
	for _, s := range []string{
		uri, uri + join + "maxPoolSize=3&w=majority&journal=true", uri + join + "retryWrites=false&readPreference=primaryPreferred",
		direct.String(), local.String(),
	} {
		c := a.open(options.Client().ApplyURI(s))
		var hello struct{ Msg, SetName string }
		a.ok(c.Database("admin").RunCommand(a.ctx, d("hello", 1)).Decode(&hello))
		if cosmos {
			a.equal(hello.SetName, "globaldb")
		} else {
			a.equal(hello.Msg, "isdbgrid")
		}
		a.ok(c.Disconnect(a.ctx))
	}
	nobody := a.open(options.Client().ApplyURI("mongodb://127.0.0.1:1/").SetServerSelectionTimeout(200 * time.Millisecond))
	if err := nobody.Ping(a.ctx, nil); err == nil {
		a.fail("no error from nobody")
	}
}

func crud(a *area) {
	type item struct {
		ID   int `bson:"_id"`
		N    int
		Tags []string
		When time.Time
	}
	when := time.UnixMilli(1577934245006).UTC()
	_, err := a.coll.InsertOne(a.ctx, item{1, 1, []string{"a"}, when})
	a.ok(err)
	_, err = a.coll.InsertMany(a.ctx, []item{{ID: 2, N: 2}, {ID: 3, N: 3}})
	a.ok(err)
	var got item
	a.ok(a.coll.FindOne(a.ctx, d("tags", "a")).Decode(&got))
	a.equal(got.When.UTC(), when)
	up, err := a.coll.UpdateMany(a.ctx, d("_id", d("$gt", 1)), d("$inc", d("n", 10)))
	a.ok(err)
	a.equal(up.ModifiedCount, 2)
	up, err = a.coll.UpdateOne(a.ctx, d("_id", 9), d("$set", d("n", 9)), options.UpdateOne().SetUpsert(true))
	a.ok(err)
	a.equal(up.UpsertedID, 9)
	a.ok(a.coll.FindOneAndUpdate(a.ctx, d("_id", 9), mongo.Pipeline{d("$set", d("n", d("$add", bson.A{"$n", 1})))},
		options.FindOneAndUpdate().SetReturnDocument(options.After)).Decode(&got))
	a.equal(got.N, 10)
	a.ok(a.coll.FindOneAndReplace(a.ctx, d("_id", 9), d("n", 5)).Err())
	a.ok(a.coll.FindOneAndDelete(a.ctx, d("_id", 9)).Decode(&got))
	a.equal(got.N, 5)
	var ns []int
	a.ok(a.coll.Distinct(a.ctx, "n", d()).Decode(&ns))
	a.equal(ns, []int{1, 12, 13})
	a.equal(a.count(d("n", d("$gte", 12))), 2)
	gone, err := a.coll.DeleteMany(a.ctx, d())
	a.ok(err)
	a.equal(gone.DeletedCount, 3)
}

func bulk(a *area) {
	r, err := a.coll.BulkWrite(a.ctx, []mongo.WriteModel{
		mongo.NewInsertOneModel().SetDocument(d("_id", 1)), mongo.NewInsertOneModel().SetDocument(d("_id", 2)),
		mongo.NewUpdateManyModel().SetFilter(d()).SetUpdate(d("$set", d("seen", true))),
		mongo.NewReplaceOneModel().SetFilter(d("_id", 3)).SetReplacement(d("n", 3)).SetUpsert(true),
		mongo.NewDeleteOneModel().SetFilter(d("_id", 2)),
	})
	a.ok(err)
	a.equal([]int64{r.InsertedCount, r.ModifiedCount, r.UpsertedCount, r.DeletedCount}, []int64{2, 2, 1, 1})
	_, err = a.coll.InsertMany(a.ctx, []bson.D{d("_id", 1), d("_id", 20), d("_id", 3)}, options.InsertMany().SetOrdered(false))
	var some mongo.BulkWriteException
	if !errors.As(err, &some) || len(some.WriteErrors) != 2 || some.WriteErrors[1].Index != 2 {
		a.fail("%v", err)
	}
	size := 10_000
	if cosmos {
		size = 1000
	}
	docs := make([]bson.D, size)
	for i := range docs {
		docs[i] = d("_id", 1000+i)
	}
	_, err = a.coll.InsertMany(a.ctx, docs)
	a.ok(err)
	a.equal(a.count(d()), size+3)
}

func bulkWrite(a *area) {
	if cosmos {
		panic(stopped{skipped("the service says 7.0, which has no bulkWrite")})
	}
	pair := func(coll string, model mongo.ClientWriteModel) mongo.ClientBulkWrite {
		return mongo.ClientBulkWrite{Database: a.db.Name(), Collection: coll, Model: model}
	}
	insert := func(coll string, id int) mongo.ClientBulkWrite {
		return pair(coll, mongo.NewClientInsertOneModel().SetDocument(d("_id", id)))
	}
	r, err := a.client.BulkWrite(a.ctx, []mongo.ClientBulkWrite{
		insert("bulkwrite", 1), insert("bulkwrite", 2), insert("other", 1),
		pair("bulkwrite", mongo.NewClientUpdateOneModel().SetFilter(d()).SetUpdate(d("$set", d("last", true))).SetSort(d("_id", -1))),
		pair("bulkwrite", mongo.NewClientUpdateManyModel().SetFilter(d()).SetUpdate(d("$set", d("seen", true)))),
		pair("other", mongo.NewClientReplaceOneModel().SetFilter(d("_id", 3)).SetReplacement(d("n", 3)).SetUpsert(true)),
		pair("bulkwrite", mongo.NewClientDeleteOneModel().SetFilter(d("_id", 1))),
	}, options.ClientBulkWrite().SetVerboseResults(true))
	a.ok(err)
	a.equal([]int64{r.InsertedCount, r.MatchedCount, r.ModifiedCount, r.UpsertedCount, r.DeletedCount}, []int64{3, 3, 3, 1, 1})
	a.equal(r.UpdateResults[5].UpsertedID, 3)
	a.equal(a.count(d("_id", 2, "last", true)), 1)
	_, err = a.client.BulkWrite(a.ctx, []mongo.ClientBulkWrite{insert("other", 1), insert("bulkwrite", 3), insert("bulkwrite", 2)},
		options.ClientBulkWrite().SetOrdered(false))
	var some mongo.ClientBulkWriteException
	if !errors.As(err, &some) || len(some.WriteErrors) != 2 || some.WriteErrors[2].Code != 11000 || some.PartialResult.InsertedCount != 1 {
		a.fail("%v", err)
	}
}

func cursors(a *area) {
	a.fill(250)
	c, err := a.coll.Find(a.ctx, d(), options.Find().SetSort(d("_id", -1)).SetBatchSize(20).SetSkip(10).SetLimit(200))
	a.ok(err)
	var all []struct {
		ID int `bson:"_id"`
	}
	a.ok(c.All(a.ctx, &all))
	a.equal([]int{len(all), all[0].ID, all[199].ID}, []int{200, 239, 40})
	c, err = a.coll.Find(a.ctx, d(), options.Find().SetBatchSize(10))
	a.ok(err)
	id := c.ID()
	a.ok(c.Close(a.ctx))
	a.refused(43, a.db.RunCommand(a.ctx, d("getMore", id, "collection", "cursors")).Err())
	names, err := a.db.ListCollectionNames(a.ctx, d())
	a.ok(err)
	a.equal(names, []string{"cursors"})
}

func indexes(a *area) {
	_, err := a.coll.Indexes().CreateMany(a.ctx, []mongo.IndexModel{
		{Keys: d("a", 1, "b", -1)}, {Keys: d("at", 1), Options: options.Index().SetExpireAfterSeconds(3600)}, {Keys: d("w.$**", 1)},
	})
	a.ok(err)
	list, err := a.coll.Indexes().ListSpecifications(a.ctx)
	a.ok(err)
	a.equal(len(list), 4)
	var plan bson.Raw
	a.ok(a.db.RunCommand(a.ctx, d("explain", d("find", "indexes", "filter", d("a", 1)))).Decode(&plan))
	if !strings.Contains(plan.String(), "IXSCAN") {
		a.fail("%s", plan)
	}
	a.ok(a.coll.Indexes().DropOne(a.ctx, "a_1_b_-1"))
	a.refused(27, a.coll.Indexes().DropOne(a.ctx, "a_1_b_-1"))
	a.ok(a.coll.Indexes().DropAll(a.ctx))
}

func aggregation(a *area) {
	a.fill(100)
	c, err := a.coll.Aggregate(a.ctx, mongo.Pipeline{
		d("$match", d("v", d("$lt", 80))), d("$group", d("_id", "$g", "n", d("$sum", 1))), d("$sort", d("_id", 1)),
	}, options.Aggregate().SetAllowDiskUse(true).SetBatchSize(2))
	a.ok(err)
	var groups []struct {
		ID int `bson:"_id"`
		N  int
	}
	a.ok(c.All(a.ctx, &groups))
	a.equal(fmt.Sprint(groups), "[{0 20} {1 20} {2 20} {3 20}]")
	c, err = a.coll.Aggregate(a.ctx, mongo.Pipeline{d("$match", d("g", 0)), d("$merge", d("into", "merged"))})
	a.ok(err)
	a.ok(c.Close(a.ctx))
	n, err := a.db.Collection("merged").EstimatedDocumentCount(a.ctx)
	a.ok(err)
	a.equal(n, 25)
}

func files(a *area) {
	// Cosmos DB sorts only by indexed fields.
	_, err := a.db.Collection("fs.chunks").Indexes().CreateOne(a.ctx, mongo.IndexModel{Keys: d("n", 1)})
	a.ok(err)
	bucket := a.db.GridFSBucket(options.GridFSBucket().SetChunkSizeBytes(64 << 10))
	data := bytes.Repeat([]byte("cantle "), 150_000)
	id, err := bucket.UploadFromStream(a.ctx, "a.bin", bytes.NewReader(data))
	a.ok(err)
	down, err := bucket.OpenDownloadStream(a.ctx, id)
	a.ok(err)
	back, err := io.ReadAll(down)
	a.ok(err)
	a.equal(bytes.Equal(back, data), true)
	a.ok(bucket.Rename(a.ctx, id, "b.bin"))
	a.ok(bucket.Delete(a.ctx, id))
	n, err := a.db.Collection("fs.chunks").EstimatedDocumentCount(a.ctx)
	a.ok(err)
	a.equal(n, 0)
}

func sessions(a *area) {
	s, err := a.client.StartSession(options.Session().SetCausalConsistency(true))
	a.ok(err)
	ctx := mongo.NewSessionContext(a.ctx, s)
	_, err = a.coll.InsertOne(ctx, d("_id", 1))
	a.ok(err)
	a.equal(s.OperationTime() != nil, true)
	n, err := a.db.Collection("sessions", options.Collection().SetReadConcern(readconcern.Majority())).CountDocuments(ctx, d())
	a.ok(err)
	a.equal(n, 1)
	s.EndSession(a.ctx)
	if cosmos {
		return
	}
	s, err = a.client.StartSession(options.Session().SetSnapshot(true))
	a.ok(err)
	defer s.EndSession(a.ctx)
	ctx = mongo.NewSessionContext(a.ctx, s)
	for range 2 {
		n, err := a.coll.CountDocuments(ctx, d())
		a.ok(err)
		a.equal(n, 1)
		_, err = a.coll.InsertOne(a.ctx, d())
		a.ok(err)
	}
}

func transactions(a *area) {
	_, err := a.coll.InsertMany(a.ctx, []bson.D{d("_id", "a", "n", 100), d("_id", "b", "n", 0)})
	a.ok(err)
	move := func(ctx context.Context) (any, error) {
		if _, err := a.coll.UpdateOne(ctx, d("_id", "a"), d("$inc", d("n", -1))); err != nil {
			return nil, err
		}
		return a.coll.UpdateOne(ctx, d("_id", "b"), d("$inc", d("n", 1)))
	}
	var wait sync.WaitGroup
	problems := make(chan error, 8)
	for range 8 {
		wait.Go(func() {
			s, err := a.client.StartSession()
			if err == nil {
				_, err = s.WithTransaction(a.ctx, move, options.Transaction().SetReadConcern(readconcern.Snapshot()).SetWriteConcern(writeconcern.Majority()))
				s.EndSession(a.ctx)
			}
			problems <- err
		})
	}
	wait.Wait()
	close(problems)
	for err := range problems {
		a.ok(err)
	}
	a.equal(a.count(d("n", 8)), 1)
	single := a.open(options.Client().ApplyURI(one))
	defer single.Disconnect(a.ctx)
	here := single.Database(a.db.Name()).Collection(a.coll.Name())
	increment := func(s *mongo.Session) error {
		_, err := here.UpdateOne(mongo.NewSessionContext(a.ctx, s), d("_id", "a"), d("$inc", d("n", 1)))
		return err
	}
	first, err := single.StartSession()
	a.ok(err)
	second, err := single.StartSession()
	a.ok(err)
	a.ok(first.StartTransaction())
	a.ok(second.StartTransaction())
	a.ok(increment(first))
	err = increment(second)
	a.refused(112, err)
	var e mongo.ServerError
	a.equal(errors.As(err, &e) && e.HasErrorLabel("TransientTransactionError"), true)
	a.ok(first.AbortTransaction(a.ctx))
	a.equal(a.count(d("n", 8)), 1)
}

func retryable(a *area) {
	admin := a.client.Database("admin")
	fail := func(command string, pairs ...any) {
		a.ok(admin.RunCommand(a.ctx, d("configureFailPoint", "failCommand", "mode", d("times", 1),
			"data", append(d("failCommands", bson.A{command}, "appName", "go_retryable"), d(pairs...)...))).Err())
	}
	defer admin.RunCommand(a.ctx, d("configureFailPoint", "failCommand", "mode", "off"))
	fail("insert", "closeConnection", true)
	_, err := a.coll.InsertOne(a.ctx, d("_id", 1))
	a.ok(err)
	fail("update", "errorCode", 91, "errorLabels", bson.A{"RetryableWriteError"})
	_, err = a.coll.UpdateOne(a.ctx, d("_id", 1), d("$inc", d("n", 1)))
	a.ok(err)
	fail("aggregate", "errorCode", 11602)
	a.equal(a.count(d("n", 1)), 1)
	fail("insert", "errorCode", 11601)
	_, err = a.coll.InsertOne(a.ctx, d("_id", 2))
	a.refused(11601, err)
}

func changeStreams(a *area) {
	a.ok(a.db.CreateCollection(a.ctx, "changestreams"))
	pipeline := mongo.Pipeline{
		d("$match", d("operationType", d("$in", bson.A{"insert", "update", "replace"}))),
		d("$project", d("_id", 1, "fullDocument", 1, "ns", 1, "documentKey", 1)),
	}
	how := options.ChangeStream().SetFullDocument(options.UpdateLookup).SetMaxAwaitTime(200 * time.Millisecond)
	s, err := a.coll.Watch(a.ctx, pipeline, how)
	a.ok(err)
	insert := func(id int) {
		_, err := a.coll.InsertOne(a.ctx, d("_id", id))
		a.ok(err)
	}
	next := func(s *mongo.ChangeStream, id int) {
		if !s.Next(a.ctx) {
			a.fail("%v", s.Err())
		}
		a.equal(s.Current.Lookup("documentKey", "_id").AsInt64(), id)
	}
	insert(1)
	next(s, 1)
	token := s.ResumeToken()
	a.ok(s.Close(a.ctx))
	insert(2)
	s, err = a.coll.Watch(a.ctx, pipeline, how.SetResumeAfter(token))
	a.ok(err)
	next(s, 2)
	a.ok(s.Close(a.ctx))
}

func throttling(a *area) {
	a.ok(a.db.RunCommand(a.ctx, d("customAction", "CreateCollection", "collection", "throttling", "shardKey", "k", "offerThroughput", 400)).Err())
	docs := make([]bson.D, 1000)
	for i := range docs {
		docs[i] = d("_id", i, "k", i, "pad", strings.Repeat("x", 900))
	}
	left, rounds := docs, 0
	for ; len(left) > 900 || rounds == 0; rounds++ {
		_, err := a.coll.InsertMany(a.ctx, left, options.InsertMany().SetOrdered(false))
		var some mongo.BulkWriteException
		var none mongo.ServerError
		if rounds > 0 && !errors.As(err, &some) && errors.As(err, &none) && none.HasErrorCode(16500) {
			time.Sleep(300 * time.Millisecond) // even the first was not admitted
			continue
		}
		if !errors.As(err, &some) {
			a.fail("1 MB at once into 400 RU/s: %v", err)
		}
		var again []bson.D
		wait := 0
		for _, e := range some.WriteErrors {
			a.equal(e.Code, 16500)
			again = append(again, left[e.Index])
			m := regexp.MustCompile(`RetryAfterMs=(\d+)`).FindStringSubmatch(e.Message)
			if m == nil {
				a.fail("%s", e.Message)
			}
			wait, _ = strconv.Atoi(m[1])
		}
		left = again
		time.Sleep(time.Duration(wait+50) * time.Millisecond)
	}
	time.Sleep(1200 * time.Millisecond)
	retriesByLabels(a)
}

// retriesByLabels makes the server refuse whole commands: the driver repeats them, twice at most, because their
// errors have labels. Errors of an account of Azure Cosmos DB have no labels, so there the application has to repeat
// the commands.
// Spec: client-backpressure.
func retriesByLabels(a *area) {
	refuse := func(kind string, count int) {
		a.ok(a.db.RunCommand(a.ctx, d("customAction", "InjectThrottle", "kind", kind, "nth", 1, "count", count, "retryAfterMs", 20, "collection", "throttling")).Err())
	}
	insert := func(id int) func(*mongo.Collection) error {
		return func(c *mongo.Collection) error {
			_, err := c.InsertOne(a.ctx, d("_id", id, "k", id))
			return err
		}
	}
	find := func(c *mongo.Collection) error { return c.FindOne(a.ctx, d("_id", 5000, "k", 5000)).Err() }
	update := func(c *mongo.Collection) error {
		_, err := c.UpdateOne(a.ctx, d("_id", 5000, "k", 5000), d("$inc", d("n", 1)))
		return err
	}
	a.ok(insert(5000)(a.coll))
	for _, x := range []struct {
		kind, command string
		refused       int // refusals in a row
		do            func(*mongo.Collection) error
		sent          int
	}{
		{"read", "find", 2, find, 3}, {"write", "insert", 2, insert(5001), 3}, {"write", "update", 2, update, 3}, {"write", "insert", 9, insert(5002), 3},
	} {
		sent := 0
		client := a.open(options.Client().ApplyURI(one).SetMonitor(&event.CommandMonitor{Started: func(_ context.Context, e *event.CommandStartedEvent) {
			if e.CommandName == x.command {
				sent++
			}
		}}))
		refuse(x.kind, x.refused)
		err := x.do(client.Database(a.db.Name()).Collection(a.coll.Name()))
		a.ok(client.Disconnect(a.ctx))
		a.ok(a.db.RunCommand(a.ctx, d("customAction", "InjectThrottle", "off", true)).Err())
		if cosmos {
			x.sent = 1
		}
		a.equal(fmt.Sprint(x.command, sent), fmt.Sprint(x.command, x.sent))
		if x.refused < x.sent {
			a.ok(err)
			continue
		}
		a.refused(16500, err)
		var e mongo.ServerError
		errors.As(err, &e)
		a.equal(e.HasErrorLabel("SystemOverloadedError"), !cosmos)
		a.equal(e.HasErrorLabel("RetryableError"), !cosmos)
	}
	n, err := a.coll.CountDocuments(a.ctx, d("_id", d("$gte", 5000)))
	a.ok(err)
	want := 2
	if cosmos {
		want = 1
	}
	a.equal(int(n), want)
}

func refusals(a *area) {
	_, err := a.coll.InsertOne(a.ctx, d("_id", 1))
	a.ok(err)
	_, err = a.coll.InsertOne(a.ctx, d("_id", 1))
	a.equal(mongo.IsDuplicateKeyError(err), true)
	a.refused(59, a.db.RunCommand(a.ctx, d("noSuchCommand", 1)).Err())
	a.refused(2, a.coll.FindOne(a.ctx, d("a", d("$nope", 1))).Err())
	_, err = a.coll.Aggregate(a.ctx, mongo.Pipeline{d("$nope", 1)})
	a.refused(40324, err)
	a.refused(48, a.db.RunCommand(a.ctx, d("create", "errors", "capped", true, "size", 4096)).Err())
	slow := d("$where", "sleep(300) || true")
	a.refused(50, a.db.RunCommand(a.ctx, d("find", "errors", "filter", slow, "maxTimeMS", 50)).Err())
	short, cancel := context.WithTimeout(a.ctx, 100*time.Millisecond)
	defer cancel()
	a.equal(mongo.IsTimeout(a.coll.FindOne(short, slow).Err()), true)
	a.ok(a.coll.FindOne(a.ctx, d()).Err())
}

func compression(a *area) {
	text := strings.Repeat("cantle ", 50_000)
	for _, kind := range []string{"snappy", "zlib", "zstd"} {
		c := a.open(options.Client().ApplyURI(uri).SetCompressors([]string{kind}))
		coll := c.Database("clients_go").Collection("compression")
		_, err := coll.ReplaceOne(a.ctx, d("_id", 1), d("text", text), options.Replace().SetUpsert(true))
		a.ok(err)
		var got struct{ Text string }
		a.ok(coll.FindOne(a.ctx, d()).Decode(&got))
		a.equal(got.Text == text, true)
		a.ok(c.Disconnect(a.ctx))
	}
}

func pool(a *area) {
	a.fill(50)
	var made atomic.Int64
	few := a.open(options.Client().ApplyURI(one).SetMaxPoolSize(5).SetPoolMonitor(&event.PoolMonitor{Event: func(e *event.PoolEvent) {
		if e.Type == event.ConnectionCreated {
			made.Add(1)
		}
	}}))
	var wait sync.WaitGroup
	problems := make(chan error, 400)
	for i := range 400 {
		wait.Go(func() { problems <- few.Database("clients_go").Collection("pool").FindOne(a.ctx, d("_id", i%50)).Err() })
	}
	wait.Wait()
	close(problems)
	for err := range problems {
		a.ok(err)
	}
	a.equal(made.Load() <= 5, true)
	a.ok(few.Disconnect(a.ctx))
	for range 30 {
		c := a.open(options.Client().ApplyURI(one))
		a.ok(c.Ping(a.ctx, readpref.Nearest()))
		a.ok(c.Disconnect(a.ctx))
	}
	for tries := 0; ; tries++ {
		var s struct{ Connections struct{ Current int } }
		a.ok(a.client.Database("admin").RunCommand(a.ctx, d("serverStatus", 1)).Decode(&s))
		if s.Connections.Current < 20 {
			return
		}
		if tries > 100 {
			a.fail("%d connections are open", s.Connections.Current)
		}
		time.Sleep(100 * time.Millisecond)
	}
}
