package crash

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"

	"github.com/cantledb/cantle/compat-tests/faults/programme"
	"github.com/cantledb/cantle/compat-tests/rig/harness"
	"github.com/cantledb/cantle/internal/testenv"
)

// Shape of the load.
const (
	writers      = 4
	keysPerWrite = 200 // documents that each writer owns and changes repeatedly
	batch        = 5   // number of documents of one insertMany and of one transaction
)

// model holds the expected documents of one writer, for the comparison after a kill. The outcome of a write is
// either known, or undetermined because no reply came; then both outcomes are right.
type model struct {
	writer int
	in     string          // the collection; "" = chosen by the writer's number
	known  map[int32]int64 // _id → version of the last acknowledged write; 0 = deleted
	maybe  map[int32]int64 // _id → version of an undetermined write
	pairs  int64           // version of the last acknowledged transaction, which sets all documents of pair to it
	asked  int64           // version of the last transaction sent
	next   int64           // the next version
}

func TestKillDuringWrites(t *testing.T) {
	testenv.SkipWithURI(t)
	random, dir := begin(t)
	models := make([]*model, writers)
	for i := range models {
		models[i] = &model{writer: i, known: map[int32]int64{}, maybe: map[int32]int64{}, next: 1}
	}
	acknowledged, kills := 0, 0
	n := programme.Amount(t, "kill")
	programme.RecordAtEnd(t, "kill", 0, func() (int, string) {
		return kills, fmt.Sprintf("%d with %d acknowledged writes, %s", kills, acknowledged, programme.None(t, "lost"))
	})
	for round := range n {
		server, err := harness.Launch(harness.Options{Data: dir, Args: []string{"--sync=always"}})
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		if round == 0 {
			prepare(t, server)
		} else {
			check(t, server, models, round)
		}
		if t.Failed() {
			server.Kill()
			return
		}
		acknowledged += load(t, server, models, random, time.Duration(50+random.IntN(400))*time.Millisecond)
		kills++
		if mark := server.Trouble(); mark != nil {
			t.Fatalf("round %d: %v\n%s", round, mark, server.Log())
		}
	}
	server := harness.Start(t, harness.Options{Data: dir})
	check(t, server, models, n)
	t.Logf("%d kills, %d acknowledged writes", n, acknowledged)
	if acknowledged < n {
		t.Errorf("only %d writes were acknowledged: the load did not run", acknowledged)
	}
}

// begin draws the random seed of a test and creates its data folder, which is kept if the test fails.
func begin(t *testing.T) (random *rand.Rand, dir string) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	root, err := harness.Root()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(root, ".cache"), 0o755); err != nil {
		t.Fatal(err)
	}
	if dir, err = os.MkdirTemp(filepath.Join(root, ".cache"), "crash"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() && os.Getenv(harness.Planted) == "" {
			t.Logf("the data directory is kept: %s", dir)
			return
		}
		_ = os.RemoveAll(dir)
	})
	return rand.New(rand.NewPCG(seed, 0)), dir
}

// collections returns the two collections that the writers use, plain and sharded, with durable writes.
func collections(client *mongo.Client) []*mongo.Collection {
	return []*mongo.Collection{durable(client, "plain"), durable(client, "sharded")}
}

func durable(client *mongo.Client, name string) *mongo.Collection {
	journal := true
	o := options.Collection().SetWriteConcern(&writeconcern.WriteConcern{W: 1, Journal: &journal})
	return client.Database("crash").Collection(name, o)
}

// collectionOf returns the collection of a writer.
func collectionOf(client *mongo.Client, m *model) *mongo.Collection {
	if m.in != "" {
		return durable(client, m.in)
	}
	return collections(client)[m.writer%2]
}

// prepare shards one collection and creates the indexes.
func prepare(t *testing.T, s *harness.Server) {
	ctx := harness.Context(t)
	client := connect(t, s)
	defer client.Disconnect(ctx)
	err := client.Database("admin").RunCommand(ctx, bson.D{
		{Key: "shardCollection", Value: "crash.sharded"},
		{Key: "key", Value: bson.D{{Key: "_id", Value: "hashed"}}},
		{Key: "numInitialChunks", Value: 7},
	}).Err()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range collections(client) {
		for _, key := range []string{"version", "tags", "writer"} {
			if _, err := c.Indexes().CreateOne(ctx, mongo.IndexModel{Keys: bson.D{{Key: key, Value: 1}}}); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// connect returns a client of the server that does not retry, so that the test sees each missing reply.
func connect(t *testing.T, s *harness.Server) *mongo.Client {
	client, err := harness.Connect(s.URI, options.Client().SetRetryWrites(false).SetRetryReads(false).
		SetServerSelectionTimeout(20*time.Second)) // a machine under load may take seconds; the load ends with the server
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// load runs the writers of the models, kills the server after the duration d, and returns the number of
// acknowledged writes.
func load(t *testing.T, s *harness.Server, models []*model, random *rand.Rand, d time.Duration) int {
	return during(t, s, models, random, func(context.Context, *mongo.Client) {
		time.Sleep(d)
		s.Kill()
	})
}

// during runs the writers of the models while fn runs and ends the server, and returns the number of acknowledged
// writes.
func during(t *testing.T, s *harness.Server, models []*model, random *rand.Rand, fn func(ctx context.Context, client *mongo.Client)) int {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	client := connect(t, s)
	defer client.Disconnect(ctx) // ctx has ended by then, so this sends nothing to the dead server
	var group sync.WaitGroup
	counts := make([]int, len(models))
	for i, m := range models {
		own := rand.New(rand.NewPCG(random.Uint64(), uint64(i)))
		group.Go(func() {
			for {
				err := m.write(ctx, client, own)
				if unknown(err) {
					return
				}
				if err != nil {
					t.Errorf("writer %d: %v", m.writer, err)
					return
				}
				counts[i]++
			}
		})
	}
	fn(ctx, client)
	cancel() // no reply will come any more
	group.Wait()
	total := 0
	for _, n := range counts {
		total += n
	}
	return total
}

// unknown reports whether an operation that returned err may or may not have happened, because the server ended.
// That includes the driver's error that its connections were closed because others broke.
func unknown(err error) bool {
	var pool driver.RetryablePoolError
	return err != nil && (errors.As(err, &pool) || mongo.IsNetworkError(err) || errors.Is(err, mongo.ErrClientDisconnected) ||
		mongo.IsTimeout(err) || isSelection(err))
}

// isSelection reports whether an error is no reply of the server. Most often the driver has found no server and
// sent nothing.
func isSelection(err error) bool {
	var command mongo.CommandError
	var write mongo.WriteException
	var bulk mongo.BulkWriteException
	return !errors.As(err, &command) && !errors.As(err, &write) && !errors.As(err, &bulk)
}

// write does one random write of the model's writer and records its outcome in the model.
func (m *model) write(ctx context.Context, client *mongo.Client, random *rand.Rand) error {
	coll := collectionOf(client, m)
	version := m.next
	m.next++
	switch kind := random.IntN(10); {
	case kind < 5: // replace or create one document
		id := m.id(random)
		m.maybe[id] = version
		_, err := coll.ReplaceOne(ctx, bson.D{{Key: "_id", Value: id}}, m.document(id, version), options.Replace().SetUpsert(true))
		if err == nil {
			m.acknowledge(id, version)
		}
		return err
	case kind < 6: // delete one document
		id := m.id(random)
		m.maybe[id] = 0
		_, err := coll.DeleteOne(ctx, bson.D{{Key: "_id", Value: id}})
		if err == nil {
			m.acknowledge(id, 0)
		}
		return err
	case kind < 8: // several documents in one command: each may or may not be there afterwards
		models := make([]mongo.WriteModel, batch)
		first := m.id(random)
		ids := make([]int32, batch)
		for i := range batch {
			ids[i] = m.base() + (first-m.base()+int32(i))%keysPerWrite
			m.maybe[ids[i]] = version
			models[i] = mongo.NewReplaceOneModel().SetFilter(bson.D{{Key: "_id", Value: ids[i]}}).
				SetReplacement(m.document(ids[i], version)).SetUpsert(true)
		}
		_, err := coll.BulkWrite(ctx, models)
		if err == nil {
			for _, id := range ids {
				m.acknowledge(id, version)
			}
		}
		return err
	default: // a transaction over documents of all partitions: all of them or none
		m.asked = version
		err := m.transaction(ctx, client, coll, version)
		var labeled mongo.LabeledError
		switch {
		case err == nil:
			m.pairs = version
		case errors.As(err, &labeled) && labeled.HasErrorLabel("TransientTransactionError") && !mongo.IsNetworkError(err):
			m.asked = m.pairs // certainly aborted by a conflict
			return nil
		}
		return err
	}
}

// transaction sets all documents of the writer's transactions (see pair) to one version, in a transaction.
func (m *model) transaction(ctx context.Context, client *mongo.Client, coll *mongo.Collection, version int64) error {
	session, err := client.StartSession()
	if err != nil {
		return err
	}
	defer session.EndSession(ctx)
	if err := session.StartTransaction(); err != nil {
		return err
	}
	inside := mongo.NewSessionContext(ctx, session)
	for i := range batch {
		id := m.pair(i)
		_, err := coll.ReplaceOne(inside, bson.D{{Key: "_id", Value: id}}, m.document(id, version), options.Replace().SetUpsert(true))
		if err != nil {
			return err
		}
	}
	return session.CommitTransaction(ctx)
}

// acknowledge records a write that certainly happened.
func (m *model) acknowledge(id int32, version int64) {
	m.known[id] = version
	delete(m.maybe, id)
}

// base is the first _id of the writer.
func (m *model) base() int32 { return int32(m.writer * 10_000) }

// id draws one of the writer's documents.
func (m *model) id(random *rand.Rand) int32 { return m.base() + random.Int32N(keysPerWrite) }

// pair returns the _id of the i-th of the documents that each transaction of the writer sets together.
func (m *model) pair(i int) int32 { return m.base() + 5000 + int32(i) }

// document returns the document with an _id at a version. All its fields follow from these two, so a document that
// mixes two writes is detected.
func (m *model) document(id int32, version int64) bson.D {
	tags := bson.A{}
	for i := range version % 4 {
		tags = append(tags, fmt.Sprintf("t%d", version+i))
	}
	return bson.D{
		{Key: "_id", Value: id}, {Key: "writer", Value: int32(m.writer)}, {Key: "version", Value: version},
		{Key: "tags", Value: tags}, {Key: "filler", Value: filler(id, version)},
	}
}

// filler makes text of varying length.
func filler(id int32, version int64) string {
	b := make([]byte, (int64(id)*31+version*17)%700)
	for i := range b {
		b[i] = 'a' + byte((version+int64(i))%26)
	}
	return string(b)
}

// check compares the data of the restarted server with the models, and stores in them which undetermined writes
// have happened.
func check(t *testing.T, s *harness.Server, models []*model, round int) {
	ctx := harness.Context(t)
	client, err := harness.Connect(s.URI) // with a longer timeout than connect, which is for a server that may be dead
	if err != nil {
		t.Error(err)
		return
	}
	defer client.Disconnect(ctx)
	for _, m := range models {
		found, err := m.read(ctx, collectionOf(client, m))
		if err != nil {
			t.Errorf("round %d, writer %d: %v", round, m.writer, err)
			return
		}
		m.settle(t, found, round)
	}
	for _, c := range collections(client) {
		validate(t, ctx, c, round)
	}
}

// read returns the versions of the writer's documents in a collection, by _id, and checks each document's content.
func (m *model) read(ctx context.Context, coll *mongo.Collection) (map[int32]int64, error) {
	cursor, err := coll.Find(ctx, bson.D{{Key: "writer", Value: int32(m.writer)}})
	if err != nil {
		return nil, err
	}
	defer cursor.Close(ctx)
	found := map[int32]int64{}
	for cursor.Next(ctx) {
		id, _ := cursor.Current.Lookup("_id").AsInt64OK()
		version, _ := cursor.Current.Lookup("version").AsInt64OK()
		want, err := bson.Marshal(m.document(int32(id), version))
		if err != nil {
			return nil, err
		}
		if string(want) != string(cursor.Current) {
			return nil, fmt.Errorf("document %d of version %d is damaged: %s", id, version, cursor.Current)
		}
		if _, twice := found[int32(id)]; twice {
			return nil, fmt.Errorf("document %d came twice", id)
		}
		found[int32(id)] = version
	}
	return found, cursor.Err()
}

// settle compares the versions of the writer's documents found after a restart with the model, which then holds
// the found versions.
func (m *model) settle(t *testing.T, found map[int32]int64, round int) {
	for id := m.base(); id < m.base()+keysPerWrite; id++ {
		got, known := found[id], m.known[id]
		open, isOpen := m.maybe[id]
		if got != known && (!isOpen || got != open) {
			t.Errorf("round %d: document %d has version %d; acknowledged was %d, open was %d (%v)", round, id, got, known, open, isOpen)
		}
		m.acknowledge(id, got)
	}
	first := found[m.pair(0)]
	for i := range batch {
		if got := found[m.pair(i)]; got != first {
			t.Errorf("round %d: a transaction of writer %d is half there: versions %d and %d", round, m.writer, first, got)
		}
	}
	if first != m.pairs && first != m.asked {
		t.Errorf("round %d: transaction of writer %d has version %d; acknowledged was %d, open was %d", round, m.writer, first, m.pairs, m.asked)
	}
	m.pairs, m.asked = first, first
}

// validate runs the command validate on a collection, which compares indexes with documents, and fails on
// differences.
func validate(t *testing.T, ctx context.Context, c *mongo.Collection, round int) {
	var reply bson.Raw
	err := c.Database().RunCommand(ctx, bson.D{{Key: "validate", Value: c.Name()}, {Key: "full", Value: true}}).Decode(&reply)
	if err != nil {
		t.Errorf("round %d: validate %s: %v", round, c.Name(), err)
		return
	}
	if valid, ok := reply.Lookup("valid").BooleanOK(); !ok || !valid {
		t.Errorf("round %d: %s is not valid: %s", round, c.Name(), reply)
	}
}
