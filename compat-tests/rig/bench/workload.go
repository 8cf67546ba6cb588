package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"

	"github.com/cantledb/cantle/compat-tests/rig/harness"
)

// workload is a mix of operations and the numbers of clients it runs with.
type workload struct {
	name    string
	durable bool // every write waits for the disk
	indexed bool // needs the index on number
	whole   bool // reads all documents, of which the stub has none
	clients []int
	// next runs one operation; dice is uniform in [0, 100).
	next func(c *client, ctx context.Context, dice int) error
}

// workloads are the mixes of operations that are measured, in the order in which they run. The letters are YCSB's; D
// (reads of the latest inserts) is left out.
var workloads = []workload{
	{name: "A", clients: few, next: func(c *client, ctx context.Context, dice int) error {
		if dice < 50 {
			return c.read(ctx)
		}
		return c.update(ctx)
	}},
	{name: "B", clients: few, next: func(c *client, ctx context.Context, dice int) error {
		if dice < 95 {
			return c.read(ctx)
		}
		return c.update(ctx)
	}},
	{name: "C", clients: few, next: func(c *client, ctx context.Context, dice int) error { return c.read(ctx) }},
	// Workloads over the whole collection, before others make it larger.
	{name: "count", whole: true, clients: one, next: func(c *client, ctx context.Context, dice int) error { return c.count(ctx) }},
	{name: "drain", whole: true, clients: one, next: func(c *client, ctx context.Context, dice int) error { return c.drain(ctx) }},
	{name: "group", whole: true, clients: one, next: func(c *client, ctx context.Context, dice int) error { return c.group(ctx) }},
	{name: "E", clients: few, next: func(c *client, ctx context.Context, dice int) error {
		if dice < 95 {
			return c.scan(ctx)
		}
		return c.insert(ctx)
	}},
	{name: "F", clients: few, next: func(c *client, ctx context.Context, dice int) error {
		if dice < 50 {
			return c.read(ctx)
		}
		if err := c.read(ctx); err != nil {
			return err
		}
		return c.update(ctx)
	}},
	{name: "durable-insert", durable: true, clients: many, next: func(c *client, ctx context.Context, dice int) error { return c.insert(ctx) }},
	{name: "durable-update", durable: true, clients: many, next: func(c *client, ctx context.Context, dice int) error { return c.update(ctx) }},
	// Two inserts in a transaction: compare with twice a durable insert.
	{name: "transaction", durable: true, clients: few, next: func(c *client, ctx context.Context, dice int) error { return c.transact(ctx) }},
	// Cost and gain of an index: compare with C and with each other.
	{name: "find-indexed", indexed: true, clients: few, next: func(c *client, ctx context.Context, dice int) error { return c.find(ctx) }},
	{name: "update-plain", indexed: true, clients: few, next: func(c *client, ctx context.Context, dice int) error { return c.set(ctx, "plain") }},
	{name: "update-indexed", indexed: true, clients: few, next: func(c *client, ctx context.Context, dice int) error { return c.set(ctx, "number") }},
}

// Numbers of clients. Durable writes share their syncs (group commit), which shows with many clients.
var (
	one  = []int{1}
	few  = []int{1, 16}
	many = []int{1, 16, 64}
)

// known reports whether a workload exists.
func known(name string) bool {
	return name == "load" || name == streamsName || name == tailsName || name == latencyName || isFlat(name) || isAggregation(name) || slices.ContainsFunc(workloads, func(w workload) bool { return w.name == name })
}

// Shape of a document: _id, a unique number, another one that is never indexed, and ten fields of text make
// about 1 KB.
const (
	fields     = 10
	fieldBytes = 90
	loadBatch  = 1000
	scanMax    = 100
)

// runner holds one target while it is measured.
type runner struct {
	settings settings
	name     string
	uri      string
	pid      int
	mongo    *mongo.Client
	plain    *mongo.Collection
	durable  *mongo.Collection
	inserted atomic.Int64 // no document has a higher _id
}

// newRunner connects to a target and prepares an empty collection.
func newRunner(ctx context.Context, s settings, name, uri string, pid int) (*runner, error) {
	m, err := harness.Connect(uri, options.Client().SetMaxPoolSize(256))
	if err != nil {
		return nil, err
	}
	db := m.Database("bench")
	journal := true
	r := &runner{
		settings: s, name: name, uri: uri, pid: pid, mongo: m, plain: db.Collection("usertable"),
		durable: db.Collection("usertable", options.Collection().SetWriteConcern(&writeconcern.WriteConcern{W: 1, Journal: &journal})),
	}
	if err := db.Drop(ctx); err != nil {
		return nil, err
	}
	if s.shards > 0 && name == cantleName {
		err = m.Database("admin").RunCommand(ctx, bson.D{
			{Key: "shardCollection", Value: "bench.usertable"},
			{Key: "key", Value: bson.D{{Key: "_id", Value: "hashed"}}},
			{Key: "numInitialChunks", Value: s.shards},
		}).Err()
	}
	return r, err
}

// close ends the connections.
func (r *runner) close() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	_ = r.mongo.Disconnect(ctx)
}

// load inserts the documents in batches of a thousand. Its result counts each document as an operation.
func (r *runner) load(ctx context.Context) (result, error) {
	random := rand.New(rand.NewPCG(1, 1))
	m := r.begin("load", 1)
	for first := 0; first < r.settings.documents; first += loadBatch {
		batch := make([]any, 0, loadBatch)
		for id := first; id < min(first+loadBatch, r.settings.documents); id++ {
			batch = append(batch, document(random, int64(id)))
		}
		start := time.Now()
		if _, err := r.plain.InsertMany(ctx, batch); err != nil {
			return result{}, fmt.Errorf("load: %w", err)
		}
		m.add(time.Since(start), len(batch))
	}
	r.inserted.Store(int64(r.settings.documents))
	return m.end(), nil
}

// index builds the index on number. Its result counts each document as an operation.
func (r *runner) index(ctx context.Context) (result, error) {
	n, err := r.plain.EstimatedDocumentCount(ctx)
	if err != nil {
		return result{}, err
	}
	m := r.begin("index-build", 1)
	start := time.Now()
	if _, err := r.plain.Indexes().CreateOne(ctx, mongo.IndexModel{Keys: bson.D{{Key: "number", Value: 1}}}); err != nil {
		return result{}, fmt.Errorf("index-build: %w", err)
	}
	m.add(time.Since(start), int(n))
	return m.end(), nil
}

// measure runs a workload for a while.
func (r *runner) measure(ctx context.Context, w workload, clients int, d time.Duration) (result, error) {
	m := r.begin(w.name, clients)
	deadline := time.Now().Add(d)
	var group sync.WaitGroup
	parts := make([][]time.Duration, clients)
	errs := make([]error, clients)
	for i := range clients {
		group.Go(func() {
			c := newClient(r, w, uint64(i))
			for time.Now().Before(deadline) && ctx.Err() == nil {
				start := time.Now()
				if err := w.next(c, ctx, c.random.IntN(100)); err != nil {
					errs[i] = fmt.Errorf("workload %s: %w", w.name, err)
					return
				}
				parts[i] = append(parts[i], time.Since(start))
			}
		})
	}
	group.Wait()
	for _, part := range parts {
		m.latencies = append(m.latencies, part...)
		m.operations += len(part)
	}
	return m.end(), errors.Join(errs...)
}

// client runs the operations of one goroutine.
type client struct {
	runner *runner
	coll   *mongo.Collection
	random *rand.Rand
	zipf   *rand.Zipf
}

// newClient makes a client with a random sequence of its own. Keys are drawn from a
// Zipf distribution, some far more often than others, as in YCSB (whose exponent of
// 0.99 this library does not offer; 1.01 is next to it).
func newClient(r *runner, w workload, seed uint64) *client {
	random := rand.New(rand.NewPCG(seed, 7))
	c := &client{runner: r, coll: r.plain, random: random, zipf: rand.NewZipf(random, 1.01, 1, uint64(r.settings.documents-1))}
	if w.durable {
		c.coll = r.durable
	}
	return c
}

// key draws the _id of a loaded document. Popular keys are scattered over the range.
func (c *client) key() int64 {
	const prime = 1_000_003
	return int64(c.zipf.Uint64() * prime % uint64(c.runner.settings.documents))
}

// read gets one document by _id.
func (c *client) read(ctx context.Context) error {
	_, err := c.coll.FindOne(ctx, bson.D{{Key: "_id", Value: c.key()}}).Raw()
	return err
}

// update sets one field of one document.
func (c *client) update(ctx context.Context) error {
	field := fmt.Sprintf("field%d", c.random.IntN(fields))
	u := bson.D{{Key: "$set", Value: bson.D{{Key: field, Value: text(c.random)}}}}
	got, err := c.coll.UpdateOne(ctx, bson.D{{Key: "_id", Value: c.key()}}, u)
	if err == nil && got.MatchedCount != 1 {
		err = fmt.Errorf("update matched %d documents", got.MatchedCount)
	}
	return err
}

// insert adds one document.
func (c *client) insert(ctx context.Context) error {
	_, err := c.coll.InsertOne(ctx, document(c.random, c.runner.inserted.Add(1)))
	return err
}

// scan reads up to a hundred documents in order of _id.
func (c *client) scan(ctx context.Context) error {
	limit := 1 + c.random.Int64N(scanMax)
	cursor, err := c.coll.Find(ctx, bson.D{{Key: "_id", Value: bson.D{{Key: "$gte", Value: c.key()}}}},
		options.Find().SetSort(bson.D{{Key: "_id", Value: 1}}).SetLimit(limit))
	if err != nil {
		return err
	}
	defer cursor.Close(ctx)
	n := int64(0)
	for cursor.Next(ctx) {
		n++
	}
	if n == 0 || n > limit {
		return fmt.Errorf("scan with limit %d returned %d documents: %w", limit, n, cursor.Err())
	}
	return cursor.Err()
}

// scatter returns a unique number for an _id, in an order that is unrelated to that of the _ids.
func scatter(id int64) int64 { return int64(uint64(id) * 0x9E3779B97F4A7C15 >> 1) }

// find gets one document by its number.
func (c *client) find(ctx context.Context) error {
	_, err := c.coll.FindOne(ctx, bson.D{{Key: "number", Value: scatter(c.key())}}).Raw()
	return err
}

// set gives a field of one document another number.
func (c *client) set(ctx context.Context, field string) error {
	got, err := c.coll.UpdateByID(ctx, c.key(), bson.D{{Key: "$set", Value: bson.D{{Key: field, Value: c.random.Int64()}}}})
	if err == nil && got.MatchedCount != 1 {
		err = fmt.Errorf("update matched %d documents", got.MatchedCount)
	}
	return err
}

// document makes a document of about 1 KB.
func document(random *rand.Rand, id int64) bson.D {
	d := make(bson.D, 0, fields+3)
	d = append(d, bson.E{Key: "_id", Value: id}, bson.E{Key: "number", Value: scatter(id)}, bson.E{Key: "plain", Value: id})
	for i := range fields {
		d = append(d, bson.E{Key: fmt.Sprintf("field%d", i), Value: text(random)})
	}
	return d
}

// text makes the value of a field: letters that do not compress away.
func text(random *rand.Rand) string {
	b := make([]byte, fieldBytes)
	for i := range b {
		b[i] = 'a' + byte(random.IntN(26))
	}
	return string(b)
}
