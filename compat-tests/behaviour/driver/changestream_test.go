package driver

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/cantledb/cantle/compat-tests/rig/harness"
	"github.com/cantledb/cantle/internal/testenv"
)

// event holds the fields of a change event that the tests check.
type event struct {
	ID            bson.Raw       `bson:"_id"`
	OperationType string         `bson:"operationType"`
	ClusterTime   bson.Timestamp `bson:"clusterTime"`
	FullDocument  bson.D         `bson:"fullDocument"`
	Before        bson.D         `bson:"fullDocumentBeforeChange"`
	DocumentKey   bson.D         `bson:"documentKey"`
	Update        bson.D         `bson:"updateDescription"`
	TxnNumber     *int64         `bson:"txnNumber"`
	LSID          bson.D         `bson:"lsid"`
}

// watch opens a change stream.
func (f *fixture) watch(pipeline any, o ...options.Lister[options.ChangeStreamOptions]) *mongo.ChangeStream {
	f.Helper()
	s, err := f.coll.Watch(f.ctx, pipeline, o...)
	f.ok(err)
	f.Cleanup(func() { s.Close(context.Background()) })
	return s
}

// next waits for the next event.
func (f *fixture) next(s *mongo.ChangeStream) (e event) {
	f.Helper()
	if !s.Next(f.ctx) {
		f.Fatalf("no event: %v", s.Err())
	}
	f.ok(s.Decode(&e))
	return e
}

func TestWatch(t *testing.T) {
	each(t, func(f *fixture) {
		f.ok(f.db.CreateCollection(f.ctx, "images", options.CreateCollection().SetChangeStreamPreAndPostImages(d("enabled", true))))
		f.coll = f.db.Collection("images")
		s := f.watch(mongo.Pipeline{}, options.ChangeStream().SetFullDocument(options.UpdateLookup).SetFullDocumentBeforeChange(options.WhenAvailable))
		f.insert(d("_id", 1, "a", 1))
		_, err := f.coll.UpdateOne(f.ctx, d("_id", 1), d("$set", d("a", 2)))
		f.ok(err)
		_, err = f.coll.ReplaceOne(f.ctx, d("_id", 1), d("b", 1))
		f.ok(err)
		_, err = f.coll.DeleteOne(f.ctx, d("_id", 1))
		f.ok(err)
		f.ok(f.coll.Drop(f.ctx))

		e := f.next(s)
		f.equal("insert", []any{e.OperationType, e.FullDocument, e.DocumentKey}, []any{"insert", d("_id", int32(1), "a", int32(1)), d("_id", int32(1))})
		first := e.ID
		e = f.next(s)
		f.equal("update", []any{e.OperationType, e.FullDocument, e.Before}, []any{"update", bson.D(nil), d("_id", int32(1), "a", int32(1))})
		f.equal("description", e.Update, d("updatedFields", d("a", int32(2)), "removedFields", bson.A{}, "truncatedArrays", bson.A{}))
		e = f.next(s)
		f.equal("replace", []any{e.OperationType, e.FullDocument, e.Before}, []any{"replace", d("_id", int32(1), "b", int32(1)), d("_id", int32(1), "a", int32(2))})
		e = f.next(s)
		f.equal("delete", []any{e.OperationType, e.Before, e.DocumentKey}, []any{"delete", d("_id", int32(1), "b", int32(1)), d("_id", int32(1))})
		f.equal("drop", f.next(s).OperationType, "drop")
		f.equal("invalidate", f.next(s).OperationType, "invalidate")
		if s.Next(f.ctx) || s.Err() != nil || s.ID() != 0 {
			f.Errorf("after invalidate: id %d, %v", s.ID(), s.Err())
		}
		// fullDocument: required returns the stored post-image of an update; if there is none, it is an error.
		s = f.watch(mongo.Pipeline{}, options.ChangeStream().SetResumeAfter(first).SetFullDocument(options.Required))
		f.equal("post-image", f.next(s).FullDocument, d("_id", int32(1), "a", int32(2)))
	})
}

// TestWatchTransaction checks that a change stream returns all changes of a transaction in their order, with one time
// and with the transaction's number.
func TestWatchTransaction(t *testing.T) {
	each(t, func(f *fixture) {
		s := f.watch(mongo.Pipeline{})
		session, err := f.client.StartSession()
		f.ok(err)
		defer session.EndSession(f.ctx)
		_, err = session.WithTransaction(f.ctx, func(ctx context.Context) (any, error) {
			for i := range 10 {
				if _, err := f.coll.InsertOne(ctx, d("_id", i)); err != nil {
					return nil, err
				}
			}
			return nil, nil
		})
		f.ok(err)
		f.insert(d("_id", 10))
		var at bson.Timestamp
		for i := range 10 {
			e := f.next(s)
			f.equal("key", e.DocumentKey, d("_id", int32(i)))
			if i == 0 {
				at = e.ClusterTime
			}
			f.equal("time", e.ClusterTime, at)
			if e.TxnNumber == nil || len(e.LSID) != 2 {
				f.Errorf("event %+v names no transaction", e)
			}
		}
		if e := f.next(s); e.TxnNumber != nil || e.ClusterTime == at {
			f.Errorf("event %+v belongs to no transaction", e)
		}
	})
}

// TestWatchSplits checks change streams while shards split: writers change documents, and readers stop and resume all
// the time. Each reader must receive each change exactly once, and the changes of a document in their order.
func TestWatchSplits(t *testing.T) {
	server := harness.Start(t, harness.Options{})
	client := server.Client(t)
	f := &fixture{T: t, ctx: harness.Context(t), client: client, db: client.Database("driver")}
	f.coll = f.db.Collection("splits")
	f.shard("driver.splits", bson.D{{Key: "_id", Value: "hashed"}}, 2)
	const writers, readers, changes = 8, 4, 150
	start := f.watch(mongo.Pipeline{}).ResumeToken()
	var group sync.WaitGroup
	for w := range writers {
		group.Go(func() {
			for i := range changes {
				if _, err := f.coll.UpdateOne(f.ctx, d("_id", w), d("$inc", d("n", 1)), options.UpdateOne().SetUpsert(true)); err != nil {
					f.Errorf("writer %d: change %d: %v", w, i, err)
					return
				}
			}
		})
	}
	group.Go(func() {
		for i := range 4 {
			cmd := bson.D{{Key: "split", Value: "driver.splits"}, {Key: "find", Value: d("_id", i)}}
			if err := client.Database("admin").RunCommand(f.ctx, cmd).Err(); err != nil {
				f.Errorf("split: %v", err)
			}
		}
	})
	for r := range readers {
		group.Go(func() {
			seen, token := map[int64]int{}, start
			for total := 0; total < writers*changes; {
				s, err := f.coll.Watch(f.ctx, mongo.Pipeline{}, options.ChangeStream().SetResumeAfter(token).SetBatchSize(int32(5+r)))
				if err != nil {
					f.Errorf("reader %d: %v", r, err)
					return
				}
				for n := 0; n < 40 && total < writers*changes && s.Next(f.ctx); n++ {
					doc, _ := s.Current.Lookup("documentKey", "_id").AsInt64OK()
					want := seen[doc] + 1
					got, ok := s.Current.Lookup("updateDescription", "updatedFields", "n").AsInt64OK()
					if !ok {
						got, _ = s.Current.Lookup("fullDocument", "n").AsInt64OK()
					}
					if int(got) != want {
						f.Errorf("reader %d: document %d: change %d, want %d", r, doc, got, want)
						s.Close(f.ctx)
						return
					}
					seen[doc] = want
					total++
				}
				if s.Err() != nil {
					f.Errorf("reader %d: %v", r, s.Err())
					return
				}
				token = s.ResumeToken()
				s.Close(f.ctx)
			}
		})
	}
	group.Wait()
}

// TestWatchPartitions checks that the change streams of all partitions of a collection together return every change
// once, even after a split.
func TestWatchPartitions(t *testing.T) {
	server := harness.Start(t, harness.Options{})
	client := server.Client(t)
	f := &fixture{T: t, ctx: harness.Context(t), client: client, db: client.Database("driver")}
	f.coll = f.db.Collection("partitions")
	f.shard("driver.partitions", bson.D{{Key: "_id", Value: "hashed"}}, 3)
	var reply struct {
		Tokens []bson.Raw `bson:"resumeAfterTokens"`
	}
	f.ok(f.db.RunCommand(f.ctx, d("customAction", "GetChangeStreamTokens", "collection", "partitions")).Decode(&reply))
	f.equal("tokens", len(reply.Tokens), 3)
	seen, used := map[int64]int{}, 0
	for round := range 2 {
		docs := make([]any, 100)
		for i := range docs {
			docs[i] = d("_id", round*100+i)
		}
		f.insert(docs...)
		used = 0
		for p, token := range reply.Tokens {
			s := f.watch(mongo.Pipeline{}, options.ChangeStream().SetResumeAfter(token).SetMaxAwaitTime(50*time.Millisecond))
			before := len(seen)
			for s.TryNext(f.ctx) {
				id, _ := s.Current.Lookup("documentKey", "_id").AsInt64OK()
				if seen[id]++; seen[id] > 1 {
					t.Errorf("change of %d came twice", id)
				}
			}
			f.ok(s.Err())
			if len(seen) > before {
				used++
			}
			reply.Tokens[p] = s.ResumeToken()
		}
		f.equal(fmt.Sprintf("changes after round %d", round), len(seen), (round+1)*100)
		f.ok(client.Database("admin").RunCommand(f.ctx, bson.D{{Key: "split", Value: "driver.partitions"}, {Key: "find", Value: d("_id", 1)}}).Err())
	}
	if used < 2 {
		t.Errorf("%d of 3 streams delivered anything", used)
	}
}

// TestWatchRestart checks that a change stream can be resumed after the server was killed and restarted, and after
// its collection was sharded, renamed and dropped.
func TestWatchRestart(t *testing.T) {
	testenv.SkipWithURI(t)
	o := harness.Options{Data: t.TempDir()}
	server, err := harness.Launch(o)
	if err != nil {
		t.Fatal(err)
	}
	client, err := harness.Connect(server.URI)
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{T: t, ctx: harness.Context(t), client: client, db: client.Database("driver")}
	f.coll = f.db.Collection("c")
	f.insert(d("_id", 0))
	s, err := f.coll.Watch(f.ctx, mongo.Pipeline{})
	f.ok(err)
	f.insert(d("_id", 1), d("_id", 2))
	f.equal("first", f.next(s).DocumentKey, d("_id", int32(1)))
	token := s.ResumeToken()
	f.shard("driver.c", bson.D{{Key: "a", Value: "hashed"}}, 3)
	f.insert(d("_id", 3, "a", 7))
	f.ok(client.Database("admin").RunCommand(f.ctx, bson.D{{Key: "renameCollection", Value: "driver.c"}, {Key: "to", Value: "driver.old"}}).Err())
	f.insert(d("_id", 4))
	f.ok(f.db.Collection("old").Drop(f.ctx))
	f.ok(client.Disconnect(f.ctx))
	server.Kill()

	again := harness.Start(t, o)
	f.client = again.Client(t)
	f.db = f.client.Database("driver")
	f.coll = f.db.Collection("c")
	s = f.watch(mongo.Pipeline{}, options.ChangeStream().SetResumeAfter(token))
	f.equal("second", f.next(s).DocumentKey, d("_id", int32(2)))
	f.equal("with shard key", f.next(s).DocumentKey, d("a", int32(7), "_id", int32(3)))
	f.equal("rename", f.next(s).OperationType, "rename")
	f.equal("invalidate", f.next(s).OperationType, "invalidate")
	s = f.watch(mongo.Pipeline{}, options.ChangeStream().SetStartAfter(s.ResumeToken()))
	f.equal("of the new collection", f.next(s).DocumentKey, d("_id", int32(4)))
}

// waiting returns when at least n change streams of the server wait for a change. If it cannot read the operations, it
// fails the test and returns.
func (f *fixture) waiting(n int) {
	for {
		var reply struct{ Inprog []bson.Raw }
		err := f.client.Database("admin").RunCommand(f.ctx, d("currentOp", 1, "op", "getmore")).Decode(&reply)
		if err != nil {
			f.Error(err)
			return
		}
		if len(reply.Inprog) >= n {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// TestIdleStreams checks that a change stream that waits gets a change when the change happens, even while 100 other
// streams wait. The maximum wait of the streams, an hour, is longer than the test.
func TestIdleStreams(t *testing.T) {
	server := harness.Start(t, harness.Options{})
	client := server.Client(t, options.Client().SetMaxPoolSize(200))
	f := &fixture{T: t, ctx: harness.Context(t), client: client, db: client.Database("driver")}
	f.coll = f.db.Collection("idle")
	f.insert(d("_id", 0))
	const streams = 100
	ctx, cancel := context.WithCancel(t.Context()) // without a deadline, because the driver shortens waits to it
	defer time.AfterFunc(2*time.Minute, cancel).Stop()
	f.ctx = ctx
	var group sync.WaitGroup
	for range streams {
		s := f.watch(mongo.Pipeline{}, options.ChangeStream().SetMaxAwaitTime(time.Hour))
		group.Go(func() {
			for s.Next(ctx) {
			}
		})
	}
	s := f.watch(mongo.Pipeline{}, options.ChangeStream().SetMaxAwaitTime(time.Hour))
	var writer sync.WaitGroup
	writer.Go(func() {
		f.waiting(streams + 1)
		f.insert(d("_id", 1))
	})
	f.equal("the change", f.next(s).DocumentKey, d("_id", int32(1)))
	writer.Wait()
	cancel()
	group.Wait()
}
