package follower

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readconcern"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"

	"github.com/cantledb/cantle/compat-tests/rig/harness"
	"github.com/cantledb/cantle/compat-tests/rig/pair"
)

// servers are the two servers of a test.
type servers struct{ *pair.Pair }

// startPair starts both servers over a place of backups in a folder.
func startPair(t *testing.T) servers {
	t.Helper()
	return servers{pair.InFolder(t)}
}

// code returns the code and the text of a command's error.
func code(err error) (int32, string) {
	var e mongo.CommandError
	if errors.As(err, &e) {
		return e.Code, e.Message
	}
	return 0, fmt.Sprint(err)
}

// TestReads reads from the follower as drivers do: by read preferences over one connection string with both hosts, with
// causal consistency, and without a read preference, which is refused. Writes are refused.
func TestReads(t *testing.T) {
	p := startPair(t)
	ctx := harness.Context(t)
	both := p.Connect("mongodb://" + strings.Join(p.Ports, ",") + "/?replicaSet=rs0")
	coll := both.Database("shop").Collection("orders")
	copied := both.Database("shop").Collection("orders", options.Collection().SetReadPreference(readpref.Secondary()))

	session, err := both.StartSession(options.Session().SetCausalConsistency(true))
	if err != nil {
		t.Fatal(err)
	}
	defer session.EndSession(ctx)
	causal := mongo.NewSessionContext(ctx, session)
	for n := 3; n < 8; n++ { // a read of the secondary sees the write before it
		if _, err := coll.InsertOne(causal, bson.D{{Key: "_id", Value: n}, {Key: "n", Value: n}}); err != nil {
			t.Fatal(err)
		}
		if err := copied.FindOne(causal, bson.D{{Key: "n", Value: n}}).Err(); err != nil {
			t.Fatalf("document %d is not there after its write: %v", n, err)
		}
	}
	if n, err := copied.CountDocuments(causal, bson.D{}); err != nil || n != 7 {
		t.Errorf("%d documents: %v", n, err)
	}
	if n, err := copied.EstimatedDocumentCount(ctx); err != nil || n != 7 {
		t.Errorf("the counters have %d documents: %v", n, err)
	}
	if cursor, err := copied.Find(ctx, bson.D{}, options.Find().SetBatchSize(2)); err != nil {
		t.Error(err)
	} else {
		var docs []bson.D
		if err := cursor.All(ctx, &docs); err != nil || len(docs) != 7 {
			t.Errorf("a cursor has %d documents: %v", len(docs), err)
		}
	}

	alone := p.Direct(p.Follower).Database("shop")
	hello, err := alone.RunCommand(ctx, bson.D{{Key: "hello", Value: 1}}).Raw()
	if err != nil {
		t.Fatal(err)
	}
	if hello.Lookup("secondary").Boolean() != true || hello.Lookup("isWritablePrimary").Boolean() != false || hello.Lookup("setName").StringValue() != "rs0" ||
		hello.Lookup("hosts", "1").StringValue() != p.Ports[0] || hello.Lookup("me").StringValue() != p.Ports[1] {
		t.Errorf("hello: %s", hello)
	}
	status, err := alone.Client().Database("admin").RunCommand(ctx, bson.D{{Key: "replSetGetStatus", Value: 1}}).Raw()
	if err != nil || status.Lookup("myState").Int32() != 2 || status.Lookup("members", "0", "stateStr").StringValue() != "SECONDARY" {
		t.Errorf("replSetGetStatus: %s, %v", status, err)
	}
	if lag, err := p.Status(p.Follower, "follower.lagSeconds"); err != nil || lag.Double() < 0 || lag.Double() > 60 {
		t.Errorf("follower.lagSeconds: %v, %v", lag, err)
	}

	preference := func(mode string) bson.E {
		return bson.E{Key: "$readPreference", Value: bson.D{{Key: "mode", Value: mode}}}
	}
	for _, x := range []struct {
		command bson.D
		code    int32
		text    string
	}{
		{bson.D{{Key: "insert", Value: "orders"}, {Key: "documents", Value: bson.A{bson.D{{Key: "_id", Value: 100}}}}}, 10107, "not primary"},
		{bson.D{{Key: "update", Value: "orders"}, {Key: "updates", Value: bson.A{bson.D{{Key: "q", Value: bson.D{{Key: "_id", Value: "none"}}}, {Key: "u", Value: bson.D{}}}}}}, 10107, "not primary"},
		{bson.D{{Key: "create", Value: "more"}}, 10107, "not primary"},
		{bson.D{{Key: "dropDatabase", Value: 1}}, 10107, "not primary"},
		{bson.D{{Key: "createUser", Value: "u"}, {Key: "pwd", Value: "p"}, {Key: "roles", Value: bson.A{}}}, 10107, "not primary"},
		{bson.D{{Key: "aggregate", Value: "orders"}, {Key: "pipeline", Value: bson.A{bson.D{{Key: "$out", Value: "more"}}}}, {Key: "cursor", Value: bson.D{}}}, 10107, "not primary"},
		{bson.D{{Key: "find", Value: "orders"}}, 13435, "not primary and secondaryOk=false"},
		{bson.D{{Key: "listCollections", Value: 1}, preference("primary")}, 13435, "not primary and secondaryOk=false"},
	} {
		if got, text := code(raw(ctx, t, p.Follower.Addr, "shop", x.command)); got != x.code || text != x.text {
			t.Errorf("%v: %d %s", x.command, got, text)
		}
	}
	for _, c := range []bson.D{{{Key: "setClusterParameter", Value: bson.D{{Key: "defaultMaxTimeMS", Value: bson.D{{Key: "readOperations", Value: 5}}}}}}, {{Key: "setUserWriteBlockMode", Value: 1}, {Key: "global", Value: true}}} {
		if got, text := code(raw(ctx, t, p.Follower.Addr, "admin", c)); got != 10107 {
			t.Errorf("%v: %d %s", c, got, text)
		}
	}
	for _, c := range []bson.D{{{Key: "ping", Value: 1}}, {{Key: "buildInfo", Value: 1}}, {{Key: "find", Value: "orders"}, preference("nearest")}} {
		if err := raw(ctx, t, p.Follower.Addr, "shop", c); err != nil {
			t.Errorf("%v: %v", c, err)
		}
	}

	// A time that the primary has not reached yet is waited for, up to maxTimeMS.
	late := bson.Timestamp{T: uint32(time.Now().Unix()) + 30, I: 1}
	wait := bson.D{{Key: "find", Value: "orders"}, {Key: "maxTimeMS", Value: 300}, {Key: "readConcern", Value: bson.D{{Key: "afterClusterTime", Value: late}}}, preference("secondary")}
	begun := time.Now()
	if got, text := code(raw(ctx, t, p.Follower.Addr, "shop", wait)); got != 50 || time.Since(begun) < 300*time.Millisecond {
		t.Errorf("a later time: %d %s after %v", got, text, time.Since(begun))
	}
}

// raw runs a command without the read preference that the driver adds for a single server, and returns its error.
func raw(_ context.Context, t *testing.T, addr, db string, command bson.D) error {
	t.Helper()
	c, err := harness.DialAddr(addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	body, err := bson.Marshal(command)
	if err != nil {
		t.Fatal(err)
	}
	reply, err := c.Command(db, body)
	if err != nil {
		t.Fatal(err)
	}
	if e, failed := reply.Lookup("code").Int32OK(); failed {
		return mongo.CommandError{Code: e, Message: reply.Lookup("errmsg").StringValue()}
	}
	return nil
}

// TestChanges checks that the follower's caches see what is applied below them: new, renamed and dropped collections,
// indexes, users, and a change stream.
func TestChanges(t *testing.T) {
	p := startPair(t)
	ctx := harness.Context(t)
	shop := p.Direct(p.Primary).Database("shop")
	reading := options.Database().SetReadPreference(readpref.Secondary())
	copied := p.Direct(p.Follower).Database("shop", reading)
	stream, err := copied.Watch(ctx, mongo.Pipeline{})
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close(ctx)
	if n, err := copied.Collection("orders").CountDocuments(ctx, bson.D{{Key: "n", Value: 2}}); err != nil || n != 1 {
		t.Fatalf("%d documents by the index: %v", n, err)
	}
	if _, err := shop.Collection("orders").InsertOne(ctx, bson.D{{Key: "_id", Value: 3}, {Key: "n", Value: 3}}); err != nil {
		t.Fatal(err)
	}
	if !stream.Next(ctx) || stream.Current.Lookup("fullDocument", "_id").AsInt64() != 3 {
		t.Errorf("the change stream has %v, %v", stream.Current, stream.Err())
	}

	if err := shop.Collection("orders").Indexes().DropOne(ctx, "n_1"); err != nil {
		t.Fatal(err)
	}
	if _, err := shop.Collection("orders").InsertOne(ctx, bson.D{{Key: "_id", Value: 4}, {Key: "n", Value: 4}}); err != nil {
		t.Fatal(err)
	}
	if _, err := shop.Collection("new").InsertOne(ctx, bson.D{{Key: "_id", Value: 1}, {Key: "x", Value: bson.A{1, 2}}}); err != nil {
		t.Fatal(err)
	}
	if _, err := shop.Collection("new").Indexes().CreateOne(ctx, mongo.IndexModel{Keys: bson.D{{Key: "x", Value: 1}}}); err != nil {
		t.Fatal(err)
	}
	if err := shop.RunCommand(ctx, bson.D{{Key: "createUser", Value: "ann"}, {Key: "pwd", Value: "p"}, {Key: "roles", Value: bson.A{"read"}}}).Err(); err != nil {
		t.Fatal(err)
	}
	p.Await(func() error {
		users, err := copied.RunCommand(ctx, bson.D{{Key: "usersInfo", Value: "ann"}}).Raw()
		if err == nil && len(users.Lookup("users").Array()) < 10 {
			err = errors.New("the user is not there")
		}
		return err
	})
	// Everything before the user is there, too.
	for query, want := range map[string]int64{"orders n": 1, "new x": 1} {
		name, field, _ := strings.Cut(query, " ")
		value := map[string]int{"n": 4, "x": 2}[field]
		if n, err := copied.Collection(name).CountDocuments(ctx, bson.D{{Key: field, Value: value}}); err != nil || n != want {
			t.Errorf("%s: %d documents: %v", query, n, err)
		}
	}
	for name, want := range map[string]int{"orders": 1, "new": 2} {
		if specs, err := copied.Collection(name).Indexes().ListSpecifications(ctx); err != nil || len(specs) != want {
			t.Errorf("%s has the indexes %v: %v", name, specs, err)
		}
	}
	if err := shop.Client().Database("admin").RunCommand(ctx, bson.D{{Key: "renameCollection", Value: "shop.new"}, {Key: "to", Value: "shop.old"}}).Err(); err != nil {
		t.Fatal(err)
	}
	if err := shop.Collection("orders").Drop(ctx); err != nil {
		t.Fatal(err)
	}
	p.Await(func() error {
		names, err := copied.ListCollectionNames(ctx, bson.D{{Key: "name", Value: bson.D{{Key: "$in", Value: bson.A{"orders", "new", "old"}}}}})
		if err == nil && strings.Join(names, " ") != "old" {
			err = fmt.Errorf("the collections are %v", names)
		}
		return err
	})
	if n, err := copied.Collection("orders").CountDocuments(ctx, bson.D{}); err != nil || n != 0 {
		t.Errorf("the dropped collection has %d documents: %v", n, err)
	}
}

// TestKilled kills the follower again and again while the primary is written to. After each start it continues, no write
// is missing or there twice, and the whole copy is consistent.
func TestKilled(t *testing.T) {
	p := startPair(t)
	ctx := harness.Context(t)
	acid := p.Direct(p.Primary)
	ended, all := make(chan struct{}), sync.WaitGroup{}
	written := int64(0)
	all.Go(func() { // each transaction adds one to two counters and a document
		coll := acid.Database("shop").Collection("sums")
		for n := 0; ; n++ {
			select {
			case <-ended:
				return
			default:
			}
			session, err := acid.StartSession()
			if err != nil {
				t.Error(err)
				return
			}
			_, err = session.WithTransaction(ctx, func(ctx context.Context) (any, error) {
				for _, id := range []string{"a", "b"} {
					if _, err := coll.UpdateOne(ctx, bson.D{{Key: "_id", Value: id}}, bson.D{{Key: "$inc", Value: bson.D{{Key: "n", Value: 1}}}}, options.UpdateOne().SetUpsert(true)); err != nil {
						return nil, err
					}
				}
				return coll.InsertOne(ctx, bson.D{{Key: "_id", Value: n}, {Key: "k", Value: n % 7}})
			})
			session.EndSession(ctx)
			if err != nil {
				t.Error(err)
				return
			}
			written++
		}
	})
	check := func() (sum int64) {
		t.Helper()
		coll := p.Direct(p.Follower).Database("shop").Collection("sums", options.Collection().SetReadPreference(readpref.Secondary()).SetReadConcern(readconcern.Snapshot()))
		cursor, err := coll.Aggregate(ctx, bson.A{bson.D{{Key: "$group", Value: bson.D{{Key: "_id", Value: nil},
			{Key: "docs", Value: bson.D{{Key: "$sum", Value: bson.D{{Key: "$cond", Value: bson.A{bson.D{{Key: "$isNumber", Value: "$_id"}}, 1, 0}}}}}},
			{Key: "sums", Value: bson.D{{Key: "$push", Value: "$n"}}}}}}})
		if err != nil {
			t.Error(err)
			return 0
		}
		var got []struct {
			Docs int64   `bson:"docs"`
			Sums []int64 `bson:"sums"`
		}
		if err := cursor.All(ctx, &got); err != nil {
			t.Error(err)
			return 0
		}
		if len(got) == 0 {
			return 0
		}
		if g := got[0]; len(g.Sums) != 2 || g.Sums[0] != g.Docs || g.Sums[1] != g.Docs {
			t.Errorf("half a transaction is visible, or one twice: %+v", g)
		}
		return got[0].Docs
	}
	for range 4 {
		for range 5 {
			check()
			time.Sleep(150 * time.Millisecond)
		}
		p.Follower.Kill()
		p.StartFollower()
		check()
	}
	close(ended)
	all.Wait()
	p.Await(func() error {
		if n := check(); n != written {
			return fmt.Errorf("%d of %d transactions are applied", n, written)
		}
		return nil
	})
	validate, err := p.Direct(p.Follower).Database("shop", options.Database().SetReadPreference(readpref.Secondary())).RunCommand(ctx, bson.D{{Key: "validate", Value: "sums"}}).Raw()
	if err != nil || !validate.Lookup("valid").Boolean() {
		t.Errorf("validate: %v, %v", validate, err)
	}
}
