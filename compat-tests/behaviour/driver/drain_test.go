package driver

import (
	"context"
	"reflect"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/cantledb/cantle/compat-tests/rig/harness"
)

// TestDrainWakesWaiters checks that a server that shuts down does not wait for getMores that wait for new data: each
// gets the error 11600, on which drivers switch to another server, and the process ends without an error. Without the
// interruption they would wait longer than the maximum time of a drain, and the process would end with an error.
func TestDrainWakesWaiters(t *testing.T) {
	server, err := harness.Launch(harness.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Kill()
	client, err := harness.Connect(server.URI)
	if err != nil {
		t.Fatal(err)
	}
	goodbye, cancel := context.WithCancel(context.Background())
	defer client.Disconnect(goodbye) // without waiting: the server is gone
	defer cancel()
	f := &fixture{T: t, ctx: harness.Context(t), client: client, db: client.Database("driver")}
	f.ok(f.db.RunCommand(f.ctx, d("create", "log", "capped", true, "size", 4096)).Err())
	_, err = f.db.Collection("log").InsertOne(f.ctx, d("_id", 1))
	f.ok(err)

	opens := map[string]struct {
		db      string
		command bson.D
	}{
		"log":             {"driver", d("find", "log", "tailable", true, "awaitData", true)},
		"oplog.rs":        {"local", d("find", "oplog.rs", "tailable", true, "awaitData", true)},
		"$cmd.aggregate":  {"admin", d("aggregate", 1, "pipeline", bson.A{d("$changeStream", d("allChangesForCluster", true))}, "cursor", d())},
		"of a collection": {"driver", d("aggregate", "log", "pipeline", bson.A{d("$changeStream", d())}, "cursor", d())},
	}
	answers := make(chan error, len(opens))
	for what, open := range opens {
		db := client.Database(open.db)
		var reply struct {
			Cursor struct {
				ID int64
				NS string
			}
		}
		session, err := client.StartSession()
		f.ok(err)
		ctx := mongo.NewSessionContext(f.ctx, session) // a cursor belongs to its session
		f.ok(db.RunCommand(ctx, open.command).Decode(&reply))
		coll := what
		if what == "of a collection" {
			coll = "log"
		}
		more := bson.D{{Key: "getMore", Value: reply.Cursor.ID}, {Key: "collection", Value: coll}, {Key: "maxTimeMS", Value: 60_000}}
		go func() { answers <- db.RunCommand(ctx, more).Err() }()
	}
	// All getMores wait as soon as the server lists them.
	for running := 0; running < len(opens); time.Sleep(10 * time.Millisecond) {
		select {
		case err := <-answers:
			t.Fatalf("a getMore ended by itself: %v", err)
		default:
		}
		c, err := client.Database("admin").Aggregate(f.ctx, mongo.Pipeline{d("$currentOp", d()), d("$match", d("op", "getmore"))})
		f.ok(err)
		var ops []bson.M
		f.ok(c.All(f.ctx, &ops))
		running = len(ops)
	}
	if err := server.Stop(); err != nil {
		t.Errorf("the server ended with %v", err)
	}
	for range opens {
		f.code(<-answers, 11600)
	}
}

// TestDrainGivesUp checks that a command that still runs at the end of the drain (--drain) is interrupted, and that
// its client gets the error 11600: for a retryable write or a transaction with the label by which drivers retry.
func TestDrainGivesUp(t *testing.T) {
	server, err := harness.Launch(harness.Options{Args: []string{"--drain", "1s"}})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Kill()
	raw := func(command bson.D) bson.Raw {
		b, err := bson.Marshal(command)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	setup := server.Dial(t)
	if _, err := setup.Command("driver", raw(d("insert", "c", "documents", bson.A{d("_id", 1)}))); err != nil {
		t.Fatal(err)
	}
	session := func(n byte) bson.D { return d("id", bson.Binary{Subtype: 4, Data: append(make([]byte, 15), n)}) }
	long := d("$where", "while (true) {}") // can be interrupted, as all scripts
	cases := map[string]struct {
		command bson.D
		labels  bson.A
	}{
		"read":        {command: d("find", "c", "filter", long)},
		"transaction": {d("find", "c", "filter", long, "lsid", session(1), "txnNumber", int64(1), "startTransaction", true, "autocommit", false), bson.A{"TransientTransactionError"}},
		"write":       {d("update", "c", "updates", bson.A{d("q", long, "u", d("$set", d("a", 1)))}, "lsid", session(2), "txnNumber", int64(1)), bson.A{"RetryableWriteError"}},
	}
	conns := map[string]*harness.Conn{}
	for name, c := range cases {
		conns[name] = server.Dial(t)
		if err := conns[name].Send("driver", raw(c.command), 0); err != nil {
			t.Fatal(err)
		}
	}
	for running := 0; running < len(cases); time.Sleep(10 * time.Millisecond) {
		reply, err := setup.Command("admin", raw(d("currentOp", 1, "ns", "driver.c")))
		if err != nil {
			t.Fatal(err)
		}
		ops, err := reply.Lookup("inprog").Array().Values()
		if err != nil {
			t.Fatal(err)
		}
		running = len(ops)
	}
	if err := server.Stop(); err == nil {
		t.Error("that commands had to be interrupted is no failure of the process")
	}
	for name, c := range cases {
		reply, err := conns[name].Receive()
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var told struct {
			Code   int32
			Labels bson.A `bson:"errorLabels"`
		}
		if err := bson.Unmarshal(reply, &told); err != nil || told.Code != 11600 || !reflect.DeepEqual(told.Labels, c.labels) {
			t.Errorf("%s: %v", name, reply)
		}
	}
}
