package follower

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/cantledb/cantle/compat-tests/rig/harness"
)

// fork promotes the follower, while write writes to the primary what the follower does not get: the primary does not reach the
// place of backups meanwhile. It returns when the former primary has written its rollback files.
func (p servers) fork(write func(c *mongo.Client)) {
	p.T.Helper()
	away := p.Backups + ".away"
	time.Sleep(2 * time.Second) // what was written before is copied
	if err := os.Rename(p.Backups, away); err != nil {
		p.T.Fatal(err)
	}
	write(p.Direct(p.Primary))
	if err := syscall.Kill(p.Primary.PID(), syscall.SIGSTOP); err != nil {
		p.T.Fatal(err)
	}
	_ = os.RemoveAll(p.Backups)
	if err := os.Rename(away, p.Backups); err != nil {
		p.T.Fatal(err)
	}
	p.Promote()
	if err := syscall.Kill(p.Primary.PID(), syscall.SIGCONT); err != nil {
		p.T.Fatal(err)
	}
	p.Await(func() error {
		if !strings.Contains(p.Primary.Log(), "ater writes") {
			return fmt.Errorf("no rollback files; the log:\n%s", p.Primary.Log())
		}
		return nil
	})
}

// run runs a command, which has to succeed.
func (p servers) run(c *mongo.Client, db string, command bson.D) {
	p.T.Helper()
	if err := c.Database(db).RunCommand(harness.Context(p.T), command).Err(); err != nil {
		p.T.Fatalf("%v: %v", command, err)
	}
}

// TestRollbackFiles forks a primary from its follower, with collections that are sharded, resharded, renamed and dropped after
// their documents were written: the newest version of each document that is there is in one rollback file, once, and the
// log has the number of the others. So it is with documents whose shard keys were changed, and with users.
func TestRollbackFiles(t *testing.T) {
	p := startPair(t)
	ctx := harness.Context(t)
	docs := func(from, n int) (list []any) {
		for i := from; i < from+n; i++ {
			list = append(list, bson.D{{Key: "_id", Value: i}, {Key: "k", Value: i}})
		}
		return list
	}
	insert := func(c *mongo.Client, coll string, from, n int) {
		if _, err := c.Database("t").Collection(coll).InsertMany(ctx, docs(from, n)); err != nil {
			t.Fatal(err)
		}
	}
	before := p.Direct(p.Primary)
	p.run(before, "admin", bson.D{{Key: "shardCollection", Value: "t.moved"}, {Key: "key", Value: bson.D{{Key: "k", Value: 1}}}})
	insert(before, "moved", 1000, 2)
	p.fork(func(c *mongo.Client) {
		db := c.Database("t")
		insert(c, "twice", 0, 30)
		if _, err := db.Collection("twice").Indexes().CreateOne(ctx, mongo.IndexModel{Keys: bson.D{{Key: "k", Value: 1}}}); err != nil {
			t.Fatal(err)
		}
		p.run(c, "admin", bson.D{{Key: "shardCollection", Value: "t.twice"}, {Key: "key", Value: bson.D{{Key: "_id", Value: 1}}}})
		if _, err := db.Collection("twice").UpdateOne(ctx, bson.D{{Key: "_id", Value: 3}}, bson.D{{Key: "$set", Value: bson.D{{Key: "n", Value: 1}}}}); err != nil {
			t.Fatal(err)
		}
		p.run(c, "admin", bson.D{{Key: "reshardCollection", Value: "t.twice"}, {Key: "key", Value: bson.D{{Key: "k", Value: 1}}}})
		insert(c, "twice", 30, 5)
		if _, err := db.Collection("twice").DeleteOne(ctx, bson.D{{Key: "_id", Value: 7}}); err != nil { // 1 deleted
			t.Fatal(err)
		}
		insert(c, "renamed", 100, 4)
		p.run(c, "admin", bson.D{{Key: "renameCollection", Value: "t.renamed"}, {Key: "to", Value: "t.other"}})
		insert(c, "dropped", 200, 6) // 6 deleted
		if err := db.Collection("dropped").Drop(ctx); err != nil {
			t.Fatal(err)
		}
		if _, err := db.Collection("moved").UpdateOne(ctx, bson.D{{Key: "_id", Value: 1000}, {Key: "k", Value: 1000}}, bson.D{{Key: "$set", Value: bson.D{{Key: "k", Value: 5}}}}); err != nil {
			t.Fatal(err)
		}
		p.run(c, "admin", bson.D{{Key: "createUser", Value: "later"}, {Key: "pwd", Value: "later"}, {Key: "roles", Value: bson.A{}}})
	})
	got := rolledBack(t, p.First)
	for i := range 35 {
		if got[i] != (i != 7) {
			t.Errorf("document %d of the resharded collection: %v", i, got[i])
		}
	}
	for _, i := range []int{100, 101, 102, 103, 1000} {
		if !got[i] {
			t.Errorf("document %d is in no file", i)
		}
	}
	if len(got) != 34+4+1 {
		t.Errorf("%d documents are in the files: %v", len(got), got)
	}
	if want := "the 39 documents that they inserted or changed"; !strings.Contains(p.Primary.Log(), want) {
		t.Errorf("the log does not have %q", want)
	}
	if want := ", 7 were deleted"; !strings.Contains(p.Primary.Log(), want) {
		t.Errorf("the log does not have %q", want)
	}
	if want := "1 users, roles or settings were changed"; !strings.Contains(p.Primary.Log(), want) {
		t.Errorf("the log does not have %q", want)
	}
	if err := p.Primary.Stop(); err != nil {
		t.Error(err)
	}
	for _, text := range []string{"ledger of request units", "history will have a gap"} {
		if strings.Contains(p.Primary.Log(), text) {
			t.Errorf("the log has %q", text)
		}
	}
}

// TestRollbackOfUsers forks a primary by a change of users alone: the log has it, although there are no
// rollback files.
func TestRollbackOfUsers(t *testing.T) {
	p := startPair(t)
	p.fork(func(c *mongo.Client) {
		p.run(c, "admin", bson.D{{Key: "createUser", Value: "later"}, {Key: "pwd", Value: "later"}, {Key: "roles", Value: bson.A{}}})
	})
	if log := p.Primary.Log(); strings.Contains(log, "acknowledged no later writes") || !strings.Contains(log, "1 users, roles or settings were changed, which are in no file") {
		t.Error("the log does not have the user")
	}
	if n := len(rolledBack(t, p.First)); n != 0 {
		t.Errorf("%d documents are in rollback files", n)
	}
}

// TestDeposedStreams has a change stream and a tailable cursor open on a primary that another server replaces. The stream
// continues at the new primary, by itself; both cursors end with an error and cannot be opened there again.
func TestDeposedStreams(t *testing.T) {
	p := startPair(t)
	ctx := harness.Context(t)
	old := p.Direct(p.Primary).Database("shop")
	if err := old.CreateCollection(ctx, "capped", options.CreateCollection().SetCapped(true).SetSizeInBytes(1<<20)); err != nil {
		t.Fatal(err)
	}
	if _, err := old.Collection("capped").InsertOne(ctx, bson.D{{Key: "_id", Value: 1}}); err != nil {
		t.Fatal(err)
	}
	time.Sleep(2 * time.Second) // both are copied
	stream, err := p.Both().Database("shop").Collection("orders").Watch(ctx, mongo.Pipeline{}, options.ChangeStream().SetMaxAwaitTime(20*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close(ctx)
	ended := make(chan error, 2)
	tail := func(command bson.D) {
		session, err := old.Client().StartSession()
		if err != nil {
			t.Fatal(err)
		}
		ctx := mongo.NewSessionContext(ctx, session)
		reply, err := old.RunCommand(ctx, command).Raw()
		if err != nil {
			t.Fatal(err)
		}
		id, coll := reply.Lookup("cursor", "id").Int64(), strings.TrimPrefix(reply.Lookup("cursor", "ns").StringValue(), "shop.")
		go func() {
			for {
				if err := old.RunCommand(ctx, bson.D{{Key: "getMore", Value: id}, {Key: "collection", Value: coll}, {Key: "maxTimeMS", Value: 20000}}).Err(); err != nil {
					ended <- err
					return
				}
			}
		}()
	}
	watch := bson.D{{Key: "aggregate", Value: "orders"}, {Key: "pipeline", Value: bson.A{bson.D{{Key: "$changeStream", Value: bson.D{}}}}}, {Key: "cursor", Value: bson.D{}}}
	find := bson.D{{Key: "find", Value: "capped"}, {Key: "tailable", Value: true}, {Key: "awaitData", Value: true}}
	tail(watch)
	tail(find)
	p.Promote()
	labels := 0
	for range 2 {
		select {
		case err := <-ended:
			if got, text := code(err); got != 10107 {
				t.Errorf("a cursor ends with %d %s", got, text)
			}
			if e, ok := err.(mongo.CommandError); ok && e.HasErrorLabel("ResumableChangeStreamError") {
				labels++
			}
		case <-time.After(15 * time.Second):
			t.Fatal("a cursor does not end")
		}
	}
	if labels != 1 {
		t.Errorf("%d errors are labelled as those of a change stream", labels)
	}
	for _, command := range []bson.D{watch, find} {
		command = append(command, bson.E{Key: "$readPreference", Value: bson.D{{Key: "mode", Value: "secondary"}}})
		if got, text := code(raw(ctx, t, p.Primary.Addr, "shop", command)); got != 10107 {
			t.Errorf("%s at the former primary: %d %s", command[0].Key, got, text)
		}
	}
	if err := old.Collection("orders").FindOne(ctx, bson.D{{Key: "_id", Value: 1}}).Err(); err != nil {
		t.Errorf("another read at the former primary: %v", err)
	}
	if _, err := p.Both().Database("shop").Collection("orders").InsertOne(ctx, bson.D{{Key: "_id", Value: 77}}); err != nil {
		t.Fatal(err)
	}
	if !stream.Next(ctx) {
		t.Fatalf("the stream has ended: %v", stream.Err())
	}
	if id := stream.Current.Lookup("documentKey", "_id"); id.Int32() != 77 {
		t.Errorf("the stream continues with %s", stream.Current)
	}
}
