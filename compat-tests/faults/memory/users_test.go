package memory

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/cantledb/cantle/compat-tests/rig/harness"
)

// as connects as an application of that name.
func as(t *testing.T, s *harness.Server, app string) *mongo.Collection {
	t.Helper()
	c, err := harness.Connect(s.URI, options.Client().SetAppName(app))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { harness.Disconnect(c) })
	return c.Database("memory").Collection("c")
}

// An application that holds all that it can get of the working memory leaves room for
// another; it is itself what it is refused for, and told so.
func TestApplicationsShareMemory(t *testing.T) {
	ctx := context.Background()
	s, db := start(t)
	fill(ctx, t, db.Collection("c"), documents)
	greedy, modest := as(t, s, "greedy"), as(t, s, "modest")
	sorted := bson.A{bson.D{{Key: "$sort", Value: bson.D{{Key: "k", Value: 1}}}}}
	// Each sort has two megabytes, and keeps them while a script looks at its first document
	// without end.
	endless := bson.D{{Key: "$project", Value: bson.D{{Key: "n", Value: bson.D{{Key: "$function", Value: bson.D{
		{Key: "body", Value: "function() { while (true) {} }"}, {Key: "args", Value: bson.A{}}, {Key: "lang", Value: "js"}}}}}}}}
	var wg sync.WaitGroup
	defer wg.Wait()
	defer kill(ctx, t, db.Client().Database("admin"), "greedy")
	refused := make(chan error, clients*4)
	for range clients * 4 {
		wg.Go(func() {
			_, err := greedy.Aggregate(ctx, append(sorted[:1:1], endless), options.Aggregate().SetAllowDiskUse(false))
			refused <- err
		})
	}
	var e mongo.CommandError
	if err := <-refused; !errors.As(err, &e) || e.Code != 292 || !strings.Contains(e.Message, "this user") {
		t.Errorf("the greedy one is refused with %v", err)
	}
	// Those of the greedy one that are refused hold what they have read until they end. When they
	// have, the others still run, and there is room.
	for range 3 {
		cur, err := modest.Aggregate(ctx, sorted, options.Aggregate().SetAllowDiskUse(false))
		for tries := 0; err != nil && tries < 200; tries++ {
			time.Sleep(20 * time.Millisecond)
			cur, err = modest.Aggregate(ctx, sorted, options.Aggregate().SetAllowDiskUse(false))
		}
		if err != nil {
			t.Fatalf("the modest one: %v; %+v", err, workOf(ctx, t, db))
		}
		_ = cur.Close(ctx)
	}
}

// Open transactions of an application, however many, leave room for those of another, also
// when it leaves and comes back.
func TestApplicationsShareUncommittedWrites(t *testing.T) {
	ctx := context.Background()
	s, db := start(t)
	if err := db.CreateCollection(ctx, "c"); err != nil {
		t.Fatal(err)
	}
	doc := bson.D{{Key: "s", Value: strings.Repeat("x", 2<<20)}}
	begin := func(c *mongo.Collection) error {
		session, err := c.Database().Client().StartSession()
		if err == nil {
			err = session.StartTransaction()
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { session.EndSession(ctx) })
		_, err = c.InsertOne(mongo.NewSessionContext(ctx, session), doc)
		return err
	}
	open := 0
	for range 2 {
		for greedy := as(t, s, "greedy"); begin(greedy) == nil; {
			open++
		}
	}
	if err := begin(as(t, s, "modest")); err != nil || open == 0 {
		t.Errorf("beside %d open transactions: %v; %+v", open, err, workOf(ctx, t, db))
	}
}

// kill ends the commands of an application.
func kill(ctx context.Context, t *testing.T, admin *mongo.Database, app string) {
	t.Helper()
	cur, err := admin.Aggregate(ctx, bson.A{bson.D{{Key: "$currentOp", Value: bson.D{}}}, bson.D{{Key: "$match", Value: bson.D{{Key: "appName", Value: app}}}}})
	if err != nil {
		t.Error(err)
		return
	}
	var ops []struct{ OpID any }
	if err := cur.All(ctx, &ops); err != nil || len(ops) == 0 {
		t.Error(ops, err)
	}
	for _, op := range ops {
		if err := admin.RunCommand(ctx, bson.D{{Key: "killOp", Value: 1}, {Key: "op", Value: op.OpID}}).Err(); err != nil {
			t.Error(err)
		}
	}
}

// The long commands of an application take turns with those of another, however many it runs,
// and so do its change streams.
func TestApplicationsTakeTurns(t *testing.T) {
	s, db := start(t)
	var begin struct {
		OperationTime bson.Timestamp `bson:"operationTime"`
	}
	if err := db.RunCommand(t.Context(), bson.D{{Key: "ping", Value: 1}}).Decode(&begin); err != nil {
		t.Fatal(err)
	}
	fill(t.Context(), t, db.Collection("c"), documents)
	busy := func(k string) bson.A {
		product := bson.D{{Key: "$map", Value: bson.D{{Key: "input", Value: bson.D{{Key: "$range", Value: bson.A{0, 200}}}},
			{Key: "in", Value: bson.D{{Key: "$multiply", Value: bson.A{"$$this", k}}}}}}}
		return bson.A{bson.D{{Key: "$addFields", Value: bson.D{{Key: "n", Value: bson.D{{Key: "$sum", Value: product}}}}}},
			bson.D{{Key: "$match", Value: bson.D{{Key: "n", Value: -1}}}}}
	}
	t.Run("aggregate", func(t *testing.T) {
		takeTurns(t, s, func(ctx context.Context, c *mongo.Collection) error {
			cur, err := c.Aggregate(ctx, busy("$k"))
			if err == nil {
				err = cur.Close(ctx)
			}
			return err
		})
	})
	t.Run("changes", func(t *testing.T) {
		// From the first change to the last, which all have to be computed and none is wanted.
		o := options.ChangeStream().SetStartAtOperationTime(&begin.OperationTime).SetMaxAwaitTime(time.Millisecond)
		takeTurns(t, s, func(ctx context.Context, c *mongo.Collection) error {
			cur, err := c.Watch(ctx, busy("$fullDocument.k"), o)
			if err != nil {
				return err
			}
			if cur.TryNext(ctx) {
				return errors.New("a change came through")
			}
			return errors.Join(cur.Err(), cur.Close(ctx))
		})
	})
}

// takeTurns lets one application run a command on 24 connections and another on one, and
// compares how often.
func takeTurns(t *testing.T, s *harness.Server, run func(ctx context.Context, c *mongo.Collection) error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	greedy, modest := as(t, s, "greedy"), as(t, s, "modest")
	counts := make(chan struct{}, 1<<20)
	for range 24 {
		wg.Go(func() {
			for {
				if err := run(ctx, greedy); err != nil {
					if ctx.Err() == nil {
						t.Error(err)
					}
					return
				}
				counts <- struct{}{}
			}
		})
	}
	for range 24 { // until all are at it
		<-counts
	}
	before := len(counts)
	const rounds = 5
	for range rounds {
		if err := run(ctx, modest); err != nil {
			t.Fatal(err)
		}
	}
	// In the time of one command of the modest one, each of 24 others would have ended one
	// if all had the same; as it is, the greedy one has as many lanes as the modest one
	// and what that leaves.
	ended := len(counts) - before
	t.Logf("%d commands of the greedy one, %d of the modest one", ended, rounds)
	if ended > rounds*16 {
		t.Errorf("%d commands of the greedy one ended while %d of the modest one did", ended, rounds)
	}
}

// Large messages of an application, however many it sends at once, leave another's room and do
// not stand before them.
func TestApplicationsShareTheInbox(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	s, _ := start(t)
	ping := func(c *mongo.Collection, bytes int) error {
		return c.Database().RunCommand(ctx, bson.D{{Key: "ping", Value: 1}, {Key: "comment", Value: strings.Repeat("x", bytes)}}).Err()
	}
	greedy, modest := as(t, s, "greedy"), as(t, s, "modest")
	const floods = 16
	counts := make(chan struct{}, 1<<20)
	for range floods {
		go func() {
			for ctx.Err() == nil {
				if ping(greedy, 15<<20) == nil {
					counts <- struct{}{}
				}
			}
		}()
	}
	for range floods { // until all are at it
		<-counts
	}
	before := len(counts)
	const rounds = 30
	for range rounds {
		for _, bytes := range []int{0, 300 << 10} {
			if err := ping(modest, bytes); err != nil {
				t.Errorf("a command of %d bytes: %v", bytes, err)
			}
		}
	}
	// First come, first served, a message of the modest one waited for one of each of the greedy one's.
	ended := len(counts) - before
	t.Logf("%d messages of the greedy one, %d of the modest one", ended, rounds)
	if ended > rounds*floods/2 {
		t.Errorf("%d messages of the greedy one came in while %d of the modest one did", ended, rounds)
	}
}
