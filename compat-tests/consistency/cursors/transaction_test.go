package cursors

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/cantledb/cantle/compat-tests/consistency/histories"
	"github.com/cantledb/cantle/compat-tests/faults/programme"
)

// document returns a document with a key and a version v. Its fields g and h are computed from the key, so they
// never change; g and v are indexed.
func document(key, version int) bson.D {
	return bson.D{{Key: "_id", Value: key}, {Key: "v", Value: version}, {Key: "g", Value: groupOf(key)}, {Key: "h", Value: heapOf(key)}, {Key: "filler", Value: string(make([]byte, key*37%300))}}
}

func groupOf(key int) int { return key * 7919 % 1009 }
func heapOf(key int) int  { return key * 31 % 503 }

// rowOf returns the key and the version of a document.
func rowOf(raw bson.Raw) (histories.Row, error) {
	key, ok := raw.Lookup("_id").AsInt64OK()
	version, is := raw.Lookup("v").AsInt64OK()
	if !ok || !is {
		return histories.Row{}, fmt.Errorf("a document without key or version: %s", raw)
	}
	if g, _ := raw.Lookup("g").AsInt64OK(); int(g) != groupOf(int(key)) {
		return histories.Row{}, fmt.Errorf("a damaged document: %s", raw)
	}
	return histories.Row{Key: int(key), Version: int(version)}, nil
}

// question is a find or an aggregate that a test sends, with its filter, its sort and its hint, as sent and as
// functions that compute the expected result.
type question struct {
	what    string
	filter  bson.D
	matches func(r histories.Row) bool // the filter as a function, nil = all rows
	sort    bson.D
	order   func(a, b histories.Row) int // the sort as a function, nil = none
	hint    any
	stages  bool // sent as an aggregate
	batch   int32
}

func byKey(a, b histories.Row) int   { return cmp.Compare(a.Key, b.Key) }
func byGroup(a, b histories.Row) int { return cmp.Compare(groupOf(a.Key), groupOf(b.Key)) }
func byHeap(a, b histories.Row) int  { return cmp.Compare(heapOf(a.Key), heapOf(b.Key)) }
func byV(a, b histories.Row) int     { return cmp.Compare(a.Version, b.Version) }

// reversed returns the reverse of an order.
func reversed(order func(a, b histories.Row) int) func(a, b histories.Row) int {
	return func(a, b histories.Row) int { return order(b, a) }
}

// on returns a condition on a field.
func on(field string, condition any) bson.D { return bson.D{{Key: field, Value: condition}} }

// drawQuestion draws a random find or aggregate over documents with keys from low to high.
func drawQuestion(r *rand.Rand, low, high int) question {
	q := question{batch: []int32{1, 2, 7, 50, 101, 180, 1000}[r.IntN(7)], stages: r.IntN(3) == 0}
	from := low + r.IntN(high-low)
	switch r.IntN(9) {
	case 0:
		q.what, q.hint = "a scan", on("$natural", 1)
	case 1:
		q.what = "everything"
	case 2:
		q.what, q.sort, q.order = "by _id", on("_id", 1), byKey
	case 3:
		q.what, q.sort, q.order = "by _id backwards", on("_id", -1), reversed(byKey)
	case 4:
		q.what, q.sort, q.order, q.hint = "by g", on("g", 1), byGroup, on("g", 1)
	case 5:
		q.what, q.sort, q.order, q.hint = "by g backwards", on("g", -1), reversed(byGroup), on("g", 1)
	case 6:
		half := r.IntN(1009)
		q.what, q.filter, q.hint = "a range of g", on("g", on("$gte", half)), on("g", 1)
		q.matches = func(r histories.Row) bool { return groupOf(r.Key) >= half }
	case 7:
		q.what, q.sort, q.order, q.hint = "by v", on("v", 1), byV, on("v", 1)
	case 8:
		q.what, q.sort, q.order = "sorted by h", on("h", 1), byHeap
	}
	if q.filter == nil && r.IntN(3) == 0 {
		q.what += ", a range of _id"
		q.filter, q.matches = on("_id", on("$gte", from)), func(r histories.Row) bool { return r.Key >= from }
	}
	return q
}

func (q question) String() string {
	by := "find"
	if q.stages {
		by = "aggregate"
	}
	return fmt.Sprintf("%s %s in batches of %d", by, q.what, q.batch)
}

// open opens a cursor.
func (q question) open(ctx context.Context, coll *mongo.Collection) (*mongo.Cursor, error) {
	filter := q.filter
	if filter == nil {
		filter = bson.D{}
	}
	if !q.stages {
		o := options.Find().SetBatchSize(q.batch)
		if q.sort != nil {
			o.SetSort(q.sort)
		}
		if q.hint != nil {
			o.SetHint(q.hint)
		}
		return coll.Find(ctx, filter, o)
	}
	pipeline := mongo.Pipeline{on("$match", filter)}
	if q.sort != nil {
		pipeline = append(pipeline, on("$sort", q.sort))
	}
	o := options.Aggregate().SetBatchSize(q.batch)
	if q.hint != nil {
		o.SetHint(q.hint)
	}
	return coll.Aggregate(ctx, append(pipeline, on("$match", bson.D{})), o)
}

// reading is a cursor of the transaction.
type reading struct {
	question
	histories.Cursor
	from   *mongo.Cursor
	name   string // of the collection
	closed bool
}

// batch reads the next batch.
func (r *reading) batch(ctx context.Context) error {
	if !r.from.Next(ctx) {
		r.Ended, r.closed = r.from.Err() == nil, true
		return r.from.Err()
	}
	for {
		row, err := rowOf(r.from.Current)
		if err != nil {
			return err
		}
		r.Rows = append(r.Rows, row)
		if r.from.RemainingBatchLength() == 0 {
			break
		}
		r.from.Next(ctx)
	}
	if len(r.Rows) > len(r.Opened)+len(r.Own) { // more rows than any correct result has
		r.closed = true
	}
	return nil
}

// txn is one transaction of a test: it reads by several cursors, in batches, and writes between the batches.
type txn struct {
	*testing.T
	rng     *rand.Rand
	db      *mongo.Database
	names   []string               // of collections, in the order of their creation
	has     map[string]map[int]int // versions in the transaction, by collection and key
	open    []*reading
	version int
	crowd   []*mongo.Cursor // other cursors: reading them makes the server park the transaction's
	writes  int
}

// keysMax is the upper bound of keys. Between the keys with a document there are many without one, for inserts.
const keysMax = 4000

// pick draws a random key that has a document in the transaction if there is true, otherwise one that has none. ok
// is false if it finds none in 100 tries.
func (x *txn) pick(coll string, there bool) (key int, ok bool) {
	for range 100 {
		key = x.rng.IntN(keysMax)
		if x.rng.IntN(3) == 0 {
			key %= 200 // in the range that cursors have probably read already
		}
		if (x.has[coll][key] != 0) == there {
			return key, true
		}
	}
	return 0, false
}

// wrote records a write for all cursors of the collection.
func (x *txn) wrote(coll string, key, version int) {
	x.writes++
	for _, r := range x.open {
		if r.name == coll {
			r.Own = append(r.Own, histories.Row{Key: key, Version: version})
		}
	}
	if x.has[coll][key] = version; version == 0 {
		delete(x.has[coll], key)
	}
}

// insert adds documents to a collection.
func (x *txn) insert(ctx context.Context, coll string, n int) error {
	var docs []any
	fresh := map[int]int{}
	for range n {
		if key, ok := x.pick(coll, false); ok && fresh[key] == 0 {
			x.version++
			fresh[key] = x.version
			docs = append(docs, document(key, x.version))
		}
	}
	if len(docs) == 0 {
		return nil
	}
	if _, err := x.db.Collection(coll).InsertMany(ctx, docs); err != nil {
		return fmt.Errorf("insert into %s: %w", coll, err)
	}
	for key, version := range fresh {
		x.wrote(coll, key, version)
	}
	return nil
}

// change writes a new version of a document.
func (x *txn) change(ctx context.Context, coll string, key int) error {
	x.version++
	res, err := x.db.Collection(coll).UpdateOne(ctx, on("_id", key), on("$set", on("v", x.version)))
	if err != nil {
		return fmt.Errorf("update in %s: %w", coll, err)
	}
	if res.ModifiedCount != 1 {
		x.Errorf("an update of document %d of %s, which is there, changed %d", key, coll, res.ModifiedCount)
	}
	x.wrote(coll, key, x.version)
	return nil
}

// write makes one or several random writes to one of the transaction's collections, often one with an open cursor.
func (x *txn) write(ctx context.Context) error {
	coll := x.names[x.rng.IntN(len(x.names))]
	if len(x.open) > 0 && x.rng.IntN(2) == 0 {
		coll = x.open[x.rng.IntN(len(x.open))].name
	}
	switch x.rng.IntN(8) {
	case 0, 1:
		return x.insert(ctx, coll, 1)
	case 2:
		return x.insert(ctx, coll, 1+x.rng.IntN(200))
	case 3:
		key, ok := x.pick(coll, true)
		if !ok {
			return nil
		}
		if _, err := x.db.Collection(coll).DeleteOne(ctx, on("_id", key)); err != nil {
			return fmt.Errorf("delete in %s: %w", coll, err)
		}
		x.wrote(coll, key, 0)
	case 4: // all of a range
		from := x.rng.IntN(keysMax)
		x.version++
		if _, err := x.db.Collection(coll).UpdateMany(ctx, on("_id", bson.D{{Key: "$gte", Value: from}, {Key: "$lt", Value: from + 300}}), on("$set", on("v", x.version))); err != nil {
			return fmt.Errorf("update of many in %s: %w", coll, err)
		}
		for _, key := range slices.Sorted(maps.Keys(x.has[coll])) {
			if key >= from && key < from+300 {
				x.wrote(coll, key, x.version)
			}
		}
	case 5, 6: // the rows that were read last
		if len(x.open) > 0 {
			if r := x.open[x.rng.IntN(len(x.open))]; len(r.Rows) > 0 {
				for _, row := range r.Rows[max(0, len(r.Rows)-1-x.rng.IntN(5)):] {
					if x.has[r.name][row.Key] != 0 {
						if err := x.change(ctx, r.name, row.Key); err != nil {
							return err
						}
					}
				}
			}
		}
	default:
		if key, ok := x.pick(coll, true); ok {
			return x.change(ctx, coll, key)
		}
	}
	return nil
}

// begin opens a cursor.
func (x *txn) begin(ctx context.Context) error {
	r := &reading{question: drawQuestion(x.rng, 0, keysMax), name: x.names[x.rng.IntN(len(x.names))]}
	r.Order, r.Opened = r.order, map[int]int{}
	for key, version := range x.has[r.name] {
		if r.matches == nil || r.matches(histories.Row{Key: key, Version: version}) {
			r.Opened[key] = version
		}
	}
	var err error
	if r.from, err = r.question.open(ctx, x.db.Collection(r.name)); err != nil {
		return fmt.Errorf("%s of %s: %w", r, r.name, err)
	}
	x.open = append(x.open, r)
	return r.batch(ctx)
}

// park reads from all cursors of the crowd, so that a single server parks the cursors of the transaction.
func (x *txn) park(ctx context.Context) error {
	for _, c := range x.crowd {
		if !c.Next(ctx) {
			return fmt.Errorf("a cursor of the crowd ended: %w", c.Err())
		}
	}
	return nil
}

// run runs the transaction; an error ends it.
func (x *txn) run(ctx, outside context.Context) error {
	first := x.rng.IntN(3) > 0 // otherwise a cursor is opened before the first write
	for _, coll := range x.names {
		if first && x.rng.IntN(4) > 0 {
			if err := x.insert(ctx, coll, x.rng.IntN(500)); err != nil {
				return err
			}
		}
	}
	for range 30 {
		var err error
		switch n := x.rng.IntN(12); {
		case n == 0 || len(x.open) == 0:
			err = x.begin(ctx)
		case n < 6:
			if r := x.open[x.rng.IntN(len(x.open))]; !r.closed {
				err = r.batch(ctx)
			}
		case n == 11 && x.rng.IntN(3) == 0:
			err = x.park(outside)
		default:
			err = x.write(ctx)
		}
		if err != nil {
			return err
		}
	}
	for _, r := range x.open {
		for !r.closed {
			if err := r.batch(ctx); err != nil {
				return fmt.Errorf("%s of %s, after %d rows: %w", r.question, r.name, len(r.Rows), err)
			}
			if x.rng.IntN(20) == 0 {
				if err := x.write(ctx); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// judge returns the violations of the transaction's cursors.
func (x *txn) judge() (wrong []string) {
	for _, r := range x.open {
		for _, text := range r.Judge() {
			wrong = append(wrong, fmt.Sprintf("%s of %s, %d documents, %d own writes: %s", r.question, r.name, len(r.Opened), len(r.Own), text))
		}
	}
	return wrong
}

// content returns the version of each document of a collection, by key.
func content(ctx context.Context, coll *mongo.Collection) (map[int]int, error) {
	cursor, err := coll.Find(ctx, bson.D{})
	if err != nil {
		return nil, err
	}
	out := map[int]int{}
	for cursor.Next(ctx) {
		row, err := rowOf(cursor.Current)
		if err != nil {
			return nil, err
		}
		out[row.Key] = row.Version
	}
	return out, cursor.Err()
}

// transact runs one random transaction, drawn by a seed, on three new collections, each of which has several partitions
// with probability 1/3. It returns the violations that the checks found, and the numbers of rows and of writes.
func transact(t *testing.T, client *mongo.Client, seed uint64, crowd []*mongo.Cursor) (wrong []string, rows, writes int) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	x := &txn{T: t, rng: rand.New(rand.NewPCG(seed, 0)), db: client.Database(fmt.Sprintf("txn%d", seed)), has: map[string]map[int]int{}, crowd: crowd}
	x.names = []string{"a", "b", "c"}
	ok := func(err error) {
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
	for i, name := range x.names {
		if i == x.rng.IntN(3) {
			key := []bson.D{on("_id", "hashed"), on("g", 1), on("_id", 1)}[x.rng.IntN(3)]
			ok(client.Database("admin").RunCommand(ctx, bson.D{{Key: "shardCollection", Value: x.db.Name() + "." + name}, {Key: "key", Value: key}}).Err())
			for _, at := range []int{1000, 2000} {
				_ = client.Database("admin").RunCommand(ctx, bson.D{{Key: "split", Value: x.db.Name() + "." + name}, {Key: "find", Value: document(at, 0)[:3]}}).Err()
			}
		} else {
			ok(x.db.CreateCollection(ctx, name))
		}
		_, err := x.db.Collection(name).Indexes().CreateMany(ctx, []mongo.IndexModel{{Keys: on("g", 1)}, {Keys: on("v", 1)}})
		ok(err)
		x.has[name] = map[int]int{}
		ok(x.insert(ctx, name, x.rng.IntN(400)))
	}
	session, err := client.StartSession()
	ok(err)
	defer session.EndSession(ctx)
	ok(session.StartTransaction())
	inside := mongo.NewSessionContext(ctx, session)
	err = x.run(inside, ctx)
	wrong = x.judge()
	if err != nil {
		_ = session.AbortTransaction(inside)
		wrong = append(wrong, err.Error())
	} else {
		ok(session.CommitTransaction(inside))
		for _, name := range x.names {
			has, err := content(ctx, x.db.Collection(name))
			ok(err)
			if !maps.Equal(has, x.has[name]) {
				wrong = append(wrong, fmt.Sprintf("%s has %d documents after the commit that are not the %d that were written", name, len(has), len(x.has[name])))
			}
		}
	}
	for _, r := range x.open {
		rows += len(r.Rows)
	}
	ok(x.db.Drop(ctx))
	return wrong, rows, x.writes
}

// crowd opens 300 cursors, so many that a single server parks most of them.
func crowd(t *testing.T, client *mongo.Client) (out []*mongo.Cursor) {
	ctx := t.Context()
	coll := client.Database("crowd").Collection("c")
	docs := make([]any, 2000)
	for i := range docs {
		docs[i] = document(i, 1)
	}
	if _, err := coll.InsertMany(ctx, docs); err != nil {
		t.Fatal(err)
	}
	for range 300 {
		c, err := coll.Find(ctx, bson.D{}, options.Find().SetBatchSize(1))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close(context.Background()) })
		out = append(out, c)
	}
	return out
}

// TestInTransactions runs random transactions that write between the batches of their cursors, to the collection of
// the cursor and to others, and checks that each cursor returns the documents in the state that they had at its
// opening.
func TestInTransactions(t *testing.T) {
	first, all, sum := firstSeed(t), 0, 0
	programme.RecordAtEnd(t, "cursors", first, func() (int, string) {
		return sum, fmt.Sprintf("%d transactions that write between batches, %s rows", all, programme.None(t, "wrong"))
	})
	for _, e := range engines {
		t.Run(e.name, func(t *testing.T) {
			client := e.start(t).client(t)
			others := crowd(t, client)
			begun, runs, rows, writes := time.Now(), 0, 0, 0
			for seed := first; time.Since(begun) < due(e.share) && !t.Failed(); seed++ {
				wrong, n, w := transact(t, client, seed, others)
				for _, text := range wrong {
					t.Errorf("CANTLE_SEED=%d: %s", seed, text)
				}
				runs, rows, writes = runs+1, rows+n, writes+w
			}
			t.Logf("%d transactions, %d rows, %d writes between batches", runs, rows, writes)
			if rows == 0 || writes == 0 {
				t.Error("nothing happened")
			}
			all, sum = all+runs, sum+rows
		})
	}
}
