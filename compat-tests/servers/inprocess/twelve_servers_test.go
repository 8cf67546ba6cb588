package inprocess

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/compat-tests/rig/harness"
)

// ids returns the _ids of the documents that match a filter, in order.
func ids(t *testing.T, c *mongo.Collection, filter any, o ...options.Lister[options.FindOptions]) (out []any) {
	t.Helper()
	cur, err := c.Find(t.Context(), filter, append(o, options.Find().SetSort(bson.M{"_id": 1}))...)
	bsontest.Must(t, err)
	var docs []bson.M
	bsontest.Must(t, cur.All(t.Context(), &docs))
	for _, d := range docs {
		out = append(out, d["_id"])
	}
	return out
}

func insert(t *testing.T, c *mongo.Collection, doc any) {
	t.Helper()
	_, err := c.InsertOne(t.Context(), doc)
	bsontest.Must(t, err)
}

// TestOneCollection checks that a collection that one server creates by an insert is the same at another server, and at
// one that starts later: each reads the documents of the other, and an _id is unique.
func TestOneCollection(t *testing.T) {
	cluster := newCluster(t)
	a, b := start(t, cluster), start(t, cluster)
	insert(t, a.coll("x"), bson.M{"_id": 1})
	want(t, "read at b", ids(t, b.coll("x"), bson.M{}), []any{int32(1)})
	if _, err := b.coll("x").InsertOne(t.Context(), bson.M{"_id": 1}); !mongo.IsDuplicateKeyError(err) {
		t.Errorf("the same _id at b: %v", err)
	}
	insert(t, b.coll("x"), bson.M{"_id": 2})
	want(t, "read at a", ids(t, a.coll("x"), bson.M{}), []any{int32(1), int32(2)})
	c := start(t, cluster)
	want(t, "read at a new one", ids(t, c.coll("x"), bson.M{}), []any{int32(1), int32(2)})
}

// TestStream checks that a change stream at one server returns the writes of the other.
func TestStream(t *testing.T) {
	g := several(t, 2)
	insert(t, g[0].coll("x"), bson.M{"_id": 0})
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	s, err := g[1].coll("x").Watch(ctx, mongo.Pipeline{})
	bsontest.Must(t, err)
	defer s.Close(ctx)
	insert(t, g[0].coll("x"), bson.M{"_id": 1})
	if !s.Next(ctx) || s.Current.Lookup("documentKey", "_id").AsInt64() != 1 {
		t.Errorf("the stream has %v, %v", s.Current, s.Err())
	}
}

// TestIndexEverywhere checks that inserts at one server are in an index that was built at the other.
func TestIndexEverywhere(t *testing.T) {
	g := several(t, 2)
	insert(t, g[1].coll("x"), bson.M{"_id": 1, "a": 5})
	_, err := g[0].coll("x").Indexes().CreateOne(t.Context(), mongo.IndexModel{Keys: bson.M{"a": 1}})
	bsontest.Must(t, err)
	insert(t, g[1].coll("x"), bson.M{"_id": 2, "a": 5})
	insert(t, g[1].coll("x"), bson.M{"_id": 3, "a": bson.A{5, 6}})
	for i := range g {
		want(t, "by the index", ids(t, g[i].coll("x"), bson.M{"a": 5}, options.Find().SetHint(bson.M{"a": 1})), []any{int32(1), int32(2), int32(3)})
		want(t, "by a scan", ids(t, g[i].coll("x"), bson.M{"a": 5}, options.Find().SetHint(bson.M{"$natural": 1})), []any{int32(1), int32(2), int32(3)})
	}
}

// session is a raw client that sets session ids and transaction numbers itself.
type session struct {
	t    *testing.T
	conn *harness.Conn
}

func (g *gateway) session(t *testing.T) *session {
	t.Helper()
	conn, err := harness.DialAddr(strings.TrimSuffix(strings.TrimPrefix(g.URI, "mongodb://"), "/"))
	bsontest.Must(t, err)
	return &session{t, conn}
}

// run sends a command and returns the reply; if its ok is not 1, also an error with its text.
func (s *session) run(db string, cmd bson.D) (bson.Raw, error) {
	s.t.Helper()
	raw, err := bson.Marshal(cmd)
	bsontest.Must(s.t, err)
	reply, err := s.conn.Command(db, raw)
	if err != nil {
		return nil, err
	}
	if reply.Lookup("ok").AsFloat64() != 1 {
		return reply, errors.New(reply.String())
	}
	return reply, nil
}

// lsid returns a different session id for each number.
func lsid(n byte) bson.E {
	return bson.E{Key: "lsid", Value: bson.M{"id": bson.Binary{Subtype: 4, Data: append([]byte("fifteen bytes.."), n)}}}
}

// TestRetry checks that a retried write is recognised by a server that has not seen its session, by one that has, and
// by both at the same time.
func TestRetry(t *testing.T) {
	g := several(t, 2)
	n := func() int64 {
		var d struct{ N int64 }
		bsontest.Must(t, g[0].coll("x").FindOne(t.Context(), bson.M{"_id": 1}).Decode(&d))
		return d.N
	}
	at := []*session{g[0].session(t), g[1].session(t)}
	run := func(i int, number int64) error {
		_, err := at[i].run("test", bson.D{{Key: "update", Value: "x"},
			{Key: "updates", Value: bson.A{bson.M{"q": bson.M{"_id": 1}, "u": bson.M{"$inc": bson.M{"n": 1}}, "upsert": true}}},
			lsid(1), {Key: "txnNumber", Value: number}})
		return err
	}
	bsontest.Must(t, run(0, 1))
	bsontest.Must(t, run(1, 1))
	want(t, "sent again to one that has not seen the session", n(), 1)
	bsontest.Must(t, run(1, 2))
	bsontest.Must(t, run(0, 2))
	want(t, "sent again to one that has", n(), 2)
	gave := 0
	for number := int64(3); number < 43; number++ {
		done := make(chan error, 2)
		for i := range 2 {
			go func() { done <- run(i, number) }()
		}
		for range 2 {
			if err := <-done; err != nil {
				gave++
				if !strings.Contains(err.Error(), "RetryableWriteError") {
					t.Errorf("at the same time: %v", err)
				}
			}
		}
		bsontest.Must(t, run(int(number)%2, number))
		want(t, "sent to both at the same time", n(), number)
	}
	t.Logf("of 80 that came at the same time %d gave up with an error that drivers retry", gave)
}

// TestTransactionElsewhere checks that a statement of a transaction that another server has gets a
// TransientTransactionError, and that a commit sent to another server decides the outcome: it returns success
// if the transaction is committed, and otherwise the transaction can never be committed.
func TestTransactionElsewhere(t *testing.T) {
	g := several(t, 2)
	insert(t, g[0].coll("x"), bson.M{"_id": 0})
	a, b := g[0].session(t), g[1].session(t)
	begin := func(n byte) {
		_, err := a.run("test", bson.D{{Key: "insert", Value: "x"}, {Key: "documents", Value: bson.A{bson.M{"_id": int32(n)}}}, lsid(n),
			{Key: "txnNumber", Value: int64(1)}, {Key: "autocommit", Value: false}, {Key: "startTransaction", Value: true}})
		bsontest.Must(t, err)
	}
	commit := func(s *session, n byte) error {
		_, err := s.run("admin", bson.D{{Key: "commitTransaction", Value: 1}, lsid(n), {Key: "txnNumber", Value: int64(1)}, {Key: "autocommit", Value: false}})
		return err
	}
	begin(1)
	_, err := b.run("test", bson.D{{Key: "find", Value: "x"}, lsid(1), {Key: "txnNumber", Value: int64(1)}, {Key: "autocommit", Value: false}})
	if err == nil || !strings.Contains(err.Error(), "TransientTransactionError") {
		t.Errorf("a statement of a transaction of another gateway: %v", err)
	}
	bsontest.Must(t, commit(a, 1))
	bsontest.Must(t, commit(b, 1))
	begin(2)
	if err := commit(b, 2); err == nil || !strings.Contains(err.Error(), "NoSuchTransaction") {
		t.Errorf("a commit at a gateway that does not have the transaction: %v", err)
	}
	if err := commit(a, 2); err == nil {
		t.Error("a transaction is committed of which it was said that it is not")
	}
	want(t, "documents", ids(t, g[1].coll("x"), bson.M{}), []any{int32(0), int32(1)})
}

// TestCursorElsewhere checks that a getMore at another server gets CursorNotFound, which drivers handle; the
// message names the server that opened the cursor.
func TestCursorElsewhere(t *testing.T) {
	g := several(t, 2)
	for i := range 5 {
		insert(t, g[0].coll("x"), bson.M{"_id": i})
	}
	r, err := g[0].session(t).run("test", bson.D{{Key: "find", Value: "x"}, {Key: "batchSize", Value: 2}})
	bsontest.Must(t, err)
	_, err = g[1].session(t).run("test", bson.D{{Key: "getMore", Value: r.Lookup("cursor", "id").AsInt64()}, {Key: "collection", Value: "x"}})
	if err == nil || !strings.Contains(err.Error(), "CursorNotFound") || !strings.Contains(err.Error(), t.Name()+" opened it") {
		t.Errorf("a cursor at another gateway: %v", err)
	}
}

// TestDead checks that a server that is cut off delays a change at another server for at most ten times the length
// of a lease, and that the server applies the change when it is back.
func TestDead(t *testing.T) {
	g := several(t, 2)
	insert(t, g[0].coll("x"), bson.M{"_id": 1, "a": 1})
	g[1].away.Store(true)
	begun := time.Now()
	_, err := g[0].coll("x").Indexes().CreateOne(t.Context(), mongo.IndexModel{Keys: bson.M{"a": 1}})
	bsontest.Must(t, err)
	t.Logf("the first change took %v", time.Since(begun))
	if took := time.Since(begun); took > 10*lease {
		t.Errorf("a change waits for %v, the lease of who is gone is %v", took, lease)
	}
	g[1].away.Store(false)
	for try := 0; ; try++ { // the server is back, and must have applied the change
		_, err := g[1].coll("x").InsertOne(t.Context(), bson.M{"_id": 2, "a": 1})
		if err == nil || mongo.IsDuplicateKeyError(err) {
			break
		}
		if try > 50 {
			t.Fatal(err)
		}
	}
	want(t, "by the index", ids(t, g[0].coll("x"), bson.M{"a": 1}, options.Find().SetHint(bson.M{"a": 1})), []any{int32(1), int32(2)})
}

// TestCounts checks that counts include the writes of the other server.
func TestCounts(t *testing.T) {
	g := several(t, 2)
	for i := range 6 {
		insert(t, g[i%2].coll("x"), bson.M{"_id": i})
	}
	for i := range g {
		n, err := g[i].coll("x").EstimatedDocumentCount(t.Context())
		bsontest.Must(t, err)
		want(t, "estimatedDocumentCount", n, 6)
		n, err = g[i].coll("x").CountDocuments(t.Context(), bson.M{})
		bsontest.Must(t, err)
		want(t, "countDocuments", n, 6)
	}
}

// TestDropped checks that a collection that was dropped or renamed at one server is dropped or renamed at the other.
func TestDropped(t *testing.T) {
	g := several(t, 2)
	for round := range 5 {
		insert(t, g[1].coll("x"), bson.M{"_id": 1})
		bsontest.Must(t, g[0].coll("x").Drop(t.Context()))
		want(t, "after the drop", len(ids(t, g[1].coll("x"), bson.M{})), 0)
		insert(t, g[1].coll("x"), bson.M{"_id": round + 10})
		want(t, "inserted after the drop", ids(t, g[0].coll("x"), bson.M{}), []any{int32(round + 10)})
		bsontest.Must(t, g[1].Database("admin").RunCommand(t.Context(), bson.D{{Key: "renameCollection", Value: "test.x"}, {Key: "to", Value: "test.y"}, {Key: "dropTarget", Value: true}}).Err())
		want(t, "the old name", len(ids(t, g[0].coll("x"), bson.M{})), 0)
		want(t, "the new name", ids(t, g[0].coll("y"), bson.M{}), []any{int32(round + 10)})
	}
}

// TestUsers checks that a user that was created at one server can log in at the other, and can no longer log in there
// after dropUser.
func TestUsers(t *testing.T) {
	g := several(t, 2)
	run := func(at int, cmd bson.D) { bsontest.Must(t, g[at].Database("admin").RunCommand(t.Context(), cmd).Err()) }
	run(1, bson.D{{Key: "createUser", Value: "ann"}, {Key: "pwd", Value: "secret"}, {Key: "roles", Value: bson.A{"root"}}})
	as := connect(t, strings.Replace(g[0].URI, "mongodb://", "mongodb://ann:secret@", 1))
	bsontest.Must(t, as.Ping(t.Context(), nil))
	run(1, bson.D{{Key: "dropUser", Value: "ann"}})
	again := connect(t, strings.Replace(g[0].URI, "mongodb://", "mongodb://ann:secret@", 1))
	if err := again.Ping(t.Context(), nil); err == nil {
		t.Error("a user who was dropped logs in")
	}
}

// TestCausal checks causal consistency across servers: a session at one server that was advanced to the times of a
// session at another server reads the writes of that session.
func TestCausal(t *testing.T) {
	g := several(t, 2)
	insert(t, g[0].coll("x"), bson.M{"_id": 0, "n": 0})
	for n := int64(1); n <= 20; n++ {
		s, err := g[0].StartSession()
		bsontest.Must(t, err)
		bsontest.Must(t, mongo.WithSession(t.Context(), s, func(ctx context.Context) error {
			_, err := g[0].coll("x").UpdateOne(ctx, bson.M{"_id": 0}, bson.M{"$set": bson.M{"n": n}})
			return err
		}))
		other, err := g[1].StartSession()
		bsontest.Must(t, err)
		bsontest.Must(t, other.AdvanceClusterTime(s.ClusterTime()))
		bsontest.Must(t, other.AdvanceOperationTime(s.OperationTime()))
		var d struct{ N int64 }
		bsontest.Must(t, mongo.WithSession(t.Context(), other, func(ctx context.Context) error {
			return g[1].coll("x").FindOne(ctx, bson.M{"_id": 0}).Decode(&d)
		}))
		want(t, "a causal read at the other", d.N, n)
		s.EndSession(t.Context())
		other.EndSession(t.Context())
	}
}

// TestCapped checks that documents that three servers insert into a capped collection are in the order of the commits,
// the same at each server: a tailable cursor misses none. The collection also keeps a lower maximum number of
// documents.
func TestCapped(t *testing.T) {
	g := several(t, 3)
	bsontest.Must(t, g[0].Database("test").CreateCollection(t.Context(), "log", options.CreateCollection().SetCapped(true).SetSizeInBytes(1<<20).SetMaxDocuments(500)))
	insert(t, g[0].coll("log"), bson.M{"_id": "first"})
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	tail, err := g[1].coll("log").Find(ctx, bson.M{}, options.Find().SetCursorType(options.TailableAwait))
	bsontest.Must(t, err)
	defer tail.Close(ctx)
	const each = 40
	for i := range g {
		go func() {
			for n := range each {
				if _, err := g[i].coll("log").InsertOne(ctx, bson.M{"_id": fmt.Sprintf("%d-%d", i, n)}); err != nil {
					t.Errorf("an insert at %d: %v", i, err)
					cancel()
				}
			}
		}()
	}
	var seen []string
	for len(seen) < 1+each*len(g) && tail.Next(ctx) {
		seen = append(seen, tail.Current.Lookup("_id").String())
	}
	want(t, "documents that the tail has", len(seen), 1+each*len(g))
	for i := range g {
		cur, err := g[i].coll("log").Find(ctx, bson.M{})
		bsontest.Must(t, err)
		var docs []bson.Raw
		bsontest.Must(t, cur.All(ctx, &docs))
		var order []string
		for _, d := range docs {
			order = append(order, d.Lookup("_id").String())
		}
		want(t, "the order of insertion", order, seen)
	}
	bsontest.Must(t, g[2].Database("test").RunCommand(ctx, bson.D{{Key: "collMod", Value: "log"}, {Key: "cappedMax", Value: 20}}).Err())
	for n := range 6 {
		insert(t, g[n%3].coll("log"), bson.M{"_id": n})
	}
	for i := range g {
		left, err := g[i].coll("log").CountDocuments(ctx, bson.M{})
		bsontest.Must(t, err)
		want(t, "documents of a full collection", left, 20)
	}
	_, err = g[1].coll("log").DeleteMany(ctx, bson.M{"_id": bson.M{"$lt": 4}})
	bsontest.Must(t, err)
	for n := range 4 {
		insert(t, g[n%3].coll("log"), bson.M{"_id": 100 + n})
	}
	left, err := g[0].coll("log").CountDocuments(ctx, bson.M{})
	bsontest.Must(t, err)
	want(t, "documents after some were deleted", left, 20)
}

// TestCursorOnNext checks that a cursor on a collection that was renamed to the former name of another collection
// reads all documents. When the rename returns, every server has already ended the cursors on the other collection,
// so the new cursor is not ended in their place.
func TestCursorOnNext(t *testing.T) {
	g := several(t, 2)
	admin := g[0].Database("admin")
	for _, name := range []string{"x", "y"} {
		for i := range 5 {
			insert(t, g[0].coll(name), bson.M{"_id": i})
		}
	}
	for try := range 10 {
		for _, names := range [][2]string{{"x", "z"}, {"y", "x"}, {"z", "y"}} {
			bsontest.Must(t, admin.RunCommand(t.Context(), bson.D{{Key: "renameCollection", Value: "test." + names[0]}, {Key: "to", Value: "test." + names[1]}}).Err())
		}
		c, err := g[1].coll("x").Find(t.Context(), bson.M{}, options.Find().SetBatchSize(2))
		bsontest.Must(t, err)
		var found []bson.M
		if err := c.All(t.Context(), &found); err != nil || len(found) != 5 {
			t.Fatalf("after %d exchanges: %d documents, %v", try, len(found), err)
		}
	}
}

// TestCursorThroughReshard checks that a cursor continues over a collection that gets another shard key at
// another server.
func TestCursorThroughReshard(t *testing.T) {
	g := several(t, 2)
	admin := g[0].Database("admin")
	bsontest.Must(t, admin.RunCommand(t.Context(), bson.D{{Key: "shardCollection", Value: "test.x"}, {Key: "key", Value: bson.D{{Key: "_id", Value: "hashed"}}}}).Err())
	for i := range 9 {
		insert(t, g[0].coll("x"), bson.M{"_id": i, "k": i})
	}
	c, err := g[1].coll("x").Find(t.Context(), bson.M{}, options.Find().SetBatchSize(2))
	bsontest.Must(t, err)
	bsontest.Must(t, admin.RunCommand(t.Context(), bson.D{{Key: "reshardCollection", Value: "test.x"}, {Key: "key", Value: bson.D{{Key: "k", Value: 1}}}}).Err())
	var found []bson.M
	if err := c.All(t.Context(), &found); err != nil || len(found) != 9 {
		t.Errorf("%d documents, %v", len(found), err)
	}
}

// TestCountsElsewhere checks that counts, also by partition, include a write at another server as soon as it
// is acknowledged.
func TestCountsElsewhere(t *testing.T) {
	g := several(t, 3)
	admin := g[0].Database("admin")
	bsontest.Must(t, admin.RunCommand(t.Context(), bson.D{{Key: "shardCollection", Value: "test.x"}, {Key: "key", Value: bson.D{{Key: "k", Value: 1}}}}).Err())
	parts := func(g *gateway) (counts []int32) {
		c, err := g.coll("x").Aggregate(t.Context(), mongo.Pipeline{{{Key: "$collStats", Value: bson.M{"count": bson.M{}}}}})
		bsontest.Must(t, err)
		var docs []struct{ Count int32 }
		bsontest.Must(t, c.All(t.Context(), &docs))
		for _, d := range docs {
			counts = append(counts, d.Count)
		}
		return counts
	}
	n := int32(0)
	for round := range 5 {
		for i, at := range g {
			for range 7 {
				insert(t, at.coll("x"), bson.M{"_id": n, "k": n})
				n++
			}
			var stats struct{ Count int32 }
			bsontest.Must(t, g[(i+1)%3].Database("test").RunCommand(t.Context(), bson.D{{Key: "collStats", Value: "x"}}).Decode(&stats))
			want(t, "collStats at another gateway", stats.Count, n)
		}
		bsontest.Must(t, g[round%3].Database("admin").RunCommand(t.Context(), bson.D{{Key: "split", Value: "test.x"}, {Key: "middle", Value: bson.D{{Key: "k", Value: round*10 + 5}}}}).Err())
		for i := range g {
			counts, sum := parts(g[i]), int32(0)
			for _, c := range counts {
				sum += c
			}
			if len(counts) != round+2 || sum != n || counts[0] != 5 {
				t.Errorf("gateway %d shows partitions of %v documents, of %d in all", i, counts, n)
			}
		}
	}
}
