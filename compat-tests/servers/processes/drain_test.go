package processes

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/cantledb/cantle/compat-tests/rig/harness"
)

// duties returns the background jobs that the server at an address owns.
func duties(t *testing.T, c *mongo.Client, address string) (names []string) {
	t.Helper()
	d := listed(t, c)[address]
	own, _ := d["cantle"].(bson.D)
	for _, e := range own {
		if list, ok := e.Value.(bson.A); ok && e.Key == "duties" {
			for _, name := range list {
				if name != "expire" {
					names = append(names, fmt.Sprint(name))
				}
			}
		}
	}
	return names
}

// loops is the number of jobs that always have an owner. Expiry, which any server may take once a minute, is
// not among them.
const loops = 5

// lookEvery is the interval of polls for the owners of jobs.
const lookEvery = 50 * time.Millisecond

// cleared reports whether the driver gave an operation no connection because it had just learned that the
// server is shutting down. Nothing was sent. The Go driver (2.9) retries that in transactions only.
func cleared(err error) bool {
	return err != nil && strings.Contains(err.Error(), "was cleared because another operation failed")
}

// sent runs an operation that is one command or only reads, and repeats it while the driver gives it no
// connection.
func sent(f func() error) error {
	for {
		if err := f(); !cleared(err) {
			return err
		}
	}
}

// padded inserts n documents to read.
func padded(t *testing.T, coll *mongo.Collection, n int) {
	t.Helper()
	pad := make([]bson.M, n)
	for i := range pad {
		pad[i] = bson.M{"pad": true}
	}
	if _, err := coll.InsertMany(t.Context(), pad); err != nil {
		t.Fatal(err)
	}
}

// readPads reads in batches what padded has inserted, and fails if documents are missing.
func readPads(ctx context.Context, coll *mongo.Collection, n int, o ...options.Lister[options.FindOptions]) error {
	var docs []bson.D
	found, err := coll.Find(ctx, bson.M{"pad": true}, o...)
	if err == nil {
		err = found.All(ctx, &docs)
	}
	if err == nil && len(docs) != n {
		err = fmt.Errorf("%d documents of %d", len(docs), n)
	}
	return err
}

// follow watches a document whose n grows by one at a time, until the document is deleted, and then sends the
// last n.
func follow(t *testing.T, coll *mongo.Collection, id any) <-chan int64 {
	t.Helper()
	var stream *mongo.ChangeStream
	watch := func(more ...options.Lister[options.ChangeStreamOptions]) error {
		return sent(func() (err error) {
			stream, err = coll.Watch(t.Context(), mongo.Pipeline{{{Key: "$match", Value: bson.M{"documentKey._id": id}}}}, more...)
			return err
		})
	}
	if err := watch(); err != nil {
		t.Fatal(err)
	}
	events := make(chan int64)
	go func() {
		last := int64(0)
		defer func() { stream.Close(t.Context()); events <- last }()
		for {
			if !stream.Next(t.Context()) {
				if !cleared(stream.Err()) {
					t.Errorf("the stream ends: %v", stream.Err())
					return
				}
				if err := watch(options.ChangeStream().SetResumeAfter(stream.ResumeToken())); err != nil {
					t.Errorf("the stream does not go on: %v", err)
					return
				}
				continue
			}
			var e struct {
				Description struct {
					Fields struct{ N int64 } `bson:"updatedFields"`
				} `bson:"updateDescription"`
				Type string `bson:"operationType"`
			}
			if err := stream.Decode(&e); err != nil || e.Type == "delete" {
				return
			}
			if n := e.Description.Fields.N; last != 0 && n != last+1 {
				t.Errorf("the stream goes on with %d after %d", n, last)
			}
			last = e.Description.Fields.N
		}
	}()
	return events
}

// TestDrain checks that a server that is shut down releases its jobs and that another one takes them over; the time
// until then is printed. Clients with the addresses of both see no errors, even for operations that drivers do not
// retry: the server serves them until they have switched to the other.
func TestDrain(t *testing.T) {
	_, place := cluster(t)
	first := mustLaunch(t, place)
	second := mustLaunch(t, place)
	at := connect(t, second.URI)
	for len(duties(t, at, first.Addr))+len(duties(t, at, second.Addr)) < loops {
		time.Sleep(lookEvery)
	}
	t.Logf("before: %v and %v", duties(t, at, first.Addr), duties(t, at, second.Addr))
	coll := connect(t, hosts(first, second)).Database("test").Collection("c")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var wg sync.WaitGroup
	counts := make([]count, 4)
	for w := range counts {
		wg.Go(func() { counts[w] = increment(ctx, t, coll, w) })
	}
	const pads = 300 // more than one batch
	padded(t, coll, pads)
	// Each of these increments a document of its own, and must never fail.
	kinds := map[string]func(id string) error{
		"updateMany": func(id string) error {
			return sent(func() error {
				_, err := coll.UpdateMany(t.Context(), bson.M{"_id": id}, bson.M{"$inc": bson.M{"n": 1}})
				return err
			})
		},
		"find": func(id string) error {
			err := sent(func() error {
				_, err := coll.UpdateOne(t.Context(), bson.M{"_id": id}, bson.M{"$inc": bson.M{"n": 1}})
				return err
			})
			if err != nil {
				return err
			}
			return sent(func() error { return readPads(t.Context(), coll, pads) })
		},
		"transaction": func(id string) error {
			return coll.Database().Client().UseSession(t.Context(), func(ctx context.Context) error {
				_, err := mongo.SessionFromContext(ctx).WithTransaction(ctx, func(ctx context.Context) (any, error) {
					if err := coll.FindOne(ctx, bson.M{"_id": id}).Err(); err != nil {
						return nil, err
					}
					return coll.UpdateOne(ctx, bson.M{"_id": id}, bson.M{"$inc": bson.M{"n": 1}})
				})
				return err
			})
		},
	}
	type tally struct {
		atomic.Int64
		slowest time.Duration
	}
	done := map[string]*tally{}
	for id, add := range kinds {
		n := &tally{}
		done[id] = n
		if _, err := coll.InsertOne(t.Context(), bson.M{"_id": id, "n": 0}); err != nil {
			t.Fatal(err)
		}
		wg.Go(func() {
			for ctx.Err() == nil {
				begun := time.Now()
				if err := add(id); err != nil {
					t.Errorf("%s: %v", id, err)
					return
				}
				n.Add(1)
				n.slowest = max(n.slowest, time.Since(begun))
			}
		})
	}
	events := follow(t, coll, "updateMany")
	from := done["updateMany"].Load()
	wait(t.Context(), 500*time.Millisecond)
	if err := first.Stop(); err != nil {
		t.Error(err)
	}
	begun := time.Now()
	for len(duties(t, at, second.Addr)) < loops {
		time.Sleep(lookEvery)
	}
	t.Logf("another server has all the work after %v", time.Since(begun))
	if n := len(listed(t, at)); n != 1 {
		t.Errorf("%d servers are listed", n)
	}
	cancel()
	wg.Wait()
	for w, c := range counts {
		if c.unknown != 0 || c.acknowledged == 0 {
			t.Errorf("writer %d: %d increments, and %d undetermined", w, c.acknowledged, c.unknown)
		}
	}
	for id, n := range done {
		var doc struct{ N int64 }
		if err := coll.FindOne(t.Context(), bson.M{"_id": id}).Decode(&doc); err != nil || doc.N != n.Load() || doc.N == 0 {
			t.Errorf("%s: %d are there of %d, %v", id, doc.N, n.Load(), err)
		}
		t.Logf("%s: %d, the slowest in %v", id, doc.N, n.slowest)
	}
	if _, err := coll.DeleteOne(t.Context(), bson.M{"_id": "updateMany"}); err != nil {
		t.Fatal(err)
	}
	if last := <-events; last != done["updateMany"].Load() || last <= from {
		t.Errorf("the stream saw %d of %d", last, done["updateMany"].Load())
	}
	if err := second.Stop(); err != nil {
		t.Error(err)
	}
}

// TestDrainServes checks a server that is draining: monitoring connections get a reply at once, hello reports the
// shutdown, commands that run or arrive on open connections are executed, and new connections get errors.
func TestDrainServes(t *testing.T) {
	_, place := cluster(t)
	console := freePort(t)
	first := mustLaunch(t, place, "--console-listen", console)
	second := mustLaunch(t, place)
	coll := connect(t, second.URI).Database("test").Collection("c")
	if _, err := coll.InsertOne(t.Context(), bson.M{"_id": 1}); err != nil {
		t.Fatal(err)
	}
	long, short, watching := first.Dial(t), first.Dial(t), first.Dial(t)
	hello := runCommand(t, watching, bson.D{{Key: "hello", Value: 1}})
	var seen struct {
		TopologyVersion bson.Raw `bson:"topologyVersion"`
	}
	if err := bson.Unmarshal(hello, &seen); err != nil {
		t.Fatal(err)
	}
	waits := bson.D{{Key: "hello", Value: 1}, {Key: "topologyVersion", Value: seen.TopologyVersion}, {Key: "maxAwaitTimeMS", Value: 60_000}}
	send(t, watching, waits)
	const sleeps = 2 * time.Second
	send(t, long, bson.D{{Key: "find", Value: "c"}, {Key: "filter", Value: bson.M{"$where": fmt.Sprintf("sleep(%d) || true", sleeps.Milliseconds())}}})
	running := bson.D{{Key: "currentOp", Value: 1}, {Key: "ns", Value: "test.c"}, {Key: "$db", Value: "admin"}}
	for {
		if _, err := runCommand(t, short, running).LookupErr("inprog", "0"); err == nil {
			break
		}
		time.Sleep(lookEvery)
	}
	stopped := make(chan error)
	go func() { stopped <- first.Stop() }()

	told := receive(t, watching)
	if code, ms := told.Lookup("code").AsInt64(), told.Lookup("remainingQuiesceTimeMillis").AsInt64(); code != 91 || ms <= 0 || ms > 15_000 {
		t.Errorf("who watches is told %v", told)
	}
	if counter := told.Lookup("topologyVersion", "counter").AsInt64(); counter != 1 {
		t.Errorf("what it is told is no newer than before: %v", told)
	}
	if got := get(t, "http://"+console+"/readyz"); !strings.Contains(got, "stopping") {
		t.Errorf("/readyz says %q", got)
	}
	if doc := runCommand(t, short, bson.D{{Key: "insert", Value: "c"}, {Key: "documents", Value: bson.A{bson.M{"_id": 2}}}}); doc.Lookup("n").AsInt64() != 1 {
		t.Errorf("a write on an open connection: %v", doc)
	}
	if doc := runCommand(t, first.Dial(t), bson.D{{Key: "hello", Value: 1}}); doc.Lookup("code").AsInt64() != 91 {
		t.Errorf("a new connection: %v", doc)
	}
	select {
	case err := <-stopped:
		t.Errorf("the server did not wait for a command: %v", err)
	default:
	}
	if batch, err := receive(t, long).LookupErr("cursor", "firstBatch", "0", "_id"); err != nil || batch.AsInt64() != 1 {
		t.Errorf("the command that ran got %v, %v", batch, err)
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	if n, err := coll.CountDocuments(t.Context(), bson.M{}); n != 2 || err != nil {
		t.Errorf("%d documents, %v", n, err)
	}
	if err := second.Stop(); err != nil {
		t.Error(err)
	}
}

func send(t *testing.T, c *harness.Conn, command bson.D) {
	t.Helper()
	raw, err := bson.Marshal(command)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Send("test", raw, 0); err != nil {
		t.Fatal(err)
	}
}

func receive(t *testing.T, c *harness.Conn) bson.Raw {
	t.Helper()
	doc, err := c.Receive()
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// runCommand runs a command and returns its reply, also if that is an error.
func runCommand(t *testing.T, c *harness.Conn, command bson.D) bson.Raw {
	t.Helper()
	send(t, c, command)
	return receive(t, c)
}
