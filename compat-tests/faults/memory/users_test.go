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

// as connects as an application with that name.
func as(t *testing.T, s *harness.Server, app string) *mongo.Collection {
	t.Helper()
	c, err := harness.Connect(s.URI, options.Client().SetAppName(app))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { harness.Disconnect(c) })
	return c.Database("memory").Collection("c")
}

// TestApplicationsShareMemory checks that an application that takes as much of the working memory as it can leaves
// some to another application. Further commands of the first are refused, with an error that names it as the
// cause.
func TestApplicationsShareMemory(t *testing.T) {
	ctx := context.Background()
	s, db := start(t)
	fill(ctx, t, db.Collection("c"), documents)
	greedy, modest := as(t, s, "greedy"), as(t, s, "modest")
	sorted := bson.A{bson.D{{Key: "$sort", Value: bson.D{{Key: "k", Value: 1}}}}}
	// Each sort holds two megabytes, and keeps them while a script runs without end on its first document.
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
	// The greedy application's refused commands hold what they have read until they end. After that its admitted
	// commands still run, and there is memory for the modest application.
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

// TestApplicationsShareUncommittedWrites checks that the open transactions of one application, however many, leave
// memory for the transactions of another application, also when the former connects once more.
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

// TestApplicationsTakeTurns checks that the long commands of two applications take turns, however many one of them
// sends, and so do their change streams.
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
		compareShares(t, s, func(ctx context.Context, c *mongo.Collection) error {
			cur, err := c.Aggregate(ctx, busy("$k"))
			if err == nil {
				err = cur.Close(ctx)
			}
			return err
		})
	})
	t.Run("changes", func(t *testing.T) {
		// The stream reads from the first change to the last: the server has to compute all events, of which the
		// pipeline matches none.
		o := options.ChangeStream().SetStartAtOperationTime(&begin.OperationTime).SetMaxAwaitTime(time.Millisecond)
		compareShares(t, s, func(ctx context.Context, c *mongo.Collection) error {
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

// compareShares lets one application run a command on 24 connections and another one on a single connection, and
// checks that the first completes at most 16 times as many commands.
func compareShares(t *testing.T, s *harness.Server, run func(ctx context.Context, c *mongo.Collection) error) {
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
	for range 24 { // until all have started
		<-counts
	}
	before := len(counts)
	const rounds = 5
	for range rounds {
		if err := run(ctx, modest); err != nil {
			t.Fatal(err)
		}
	}
	// If processor time were divided by command, 24 commands of the greedy application would end in the time of
	// one of the modest. It is divided by application, except that the greedy one also gets the processors that
	// the modest one leaves idle.
	ended := len(counts) - before
	t.Logf("%d commands of the greedy one, %d of the modest one", ended, rounds)
	if ended > rounds*16 {
		t.Errorf("%d commands of the greedy one ended while %d of the modest one did", ended, rounds)
	}
}

// TestApplicationsShareTheInbox checks that large messages that one application sends, however many at once, leave
// memory for the messages of another, which do not wait for a message on each connection of the former.
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
	for range floods { // until all have started
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
	// If messages were read first come, first served, each message of the modest application would wait for one
	// message on each connection of the greedy one.
	ended := len(counts) - before
	t.Logf("%d messages of the greedy one, %d of the modest one", ended, rounds)
	if ended > rounds*floods/2 {
		t.Errorf("%d messages of the greedy one came in while %d of the modest one did", ended, rounds)
	}
}
