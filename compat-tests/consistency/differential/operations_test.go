package differential

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/cantledb/cantle/compat-tests/faults/programme"
	"github.com/cantledb/cantle/compat-tests/rig/harness"
	"github.com/cantledb/cantle/internal/casefile"
)

// variant is one way of storing the documents.
type variant struct {
	name    string
	key     string // the field of the shard key; "" is unsharded
	shards  int    // hashed over so many; 0 is a ranged key
	indexed bool
	suffix  bson.D // the suffix of the shard key; nil is none
}

var variants = [...]variant{
	{"plain", "", 0, false, nil},
	{"sharded7", "_id", 7, false, nil},
	{"sharded8", "s", 8, false, nil},
	{"ranged", "s", 0, false, nil},
	{"indexed", "", 0, true, nil},
	{"shardedindexed", "_id", 7, true, nil},
	{"spread", "s", 8, false, bson.D{{Key: "from", Value: "n"}, {Key: "buckets", Value: 3}}},
	{"dealt", "s", 8, true, bson.D{{Key: "random", Value: true}, {Key: "buckets", Value: 20}}},
}

// operationsPerRun is the length of one list of operations.
const operationsPerRun = 150

func TestMetamorphic(t *testing.T) {
	server := harness.Start(t, harness.Options{})
	client := server.Client(t)
	runs := 0
	programme.RecordAtEnd(t, "random", first(t), func() (int, string) {
		return runs * operationsPerRun * len(variants), fmt.Sprintf("%d lists of %d operations on %d ways to keep documents", runs, operationsPerRun, len(variants))
	})
	for seed := range dueSeeds(t, operationsPerRun*len(variants), 1) {
		ops, indexes := drawn(seed)
		runs++
		if failure := run(t, client, indexes, ops); failure != nil {
			t.Logf("CANTLE_SEED=%d, operation %d: %s", seed, failure.at, failure.what)
			short := shrink(t, client, indexes, ops[:failure.at+1])
			t.Fatalf("CANTLE_SEED=%d, operation %d: %s\n\nindexes %s\nshrunk to\n%s\n%s", seed, failure.at, failure.what, text(bson.D{{Key: "indexes", Value: indexes}}), script(short),
				run(t, client, indexes, short).String())
		}
	}
}

// drawn returns the operations and the indexes of a seed.
func drawn(seed uint64) ([]op, bson.A) {
	g := newGenerator(seed)
	ops := make([]op, operationsPerRun)
	for i := range ops {
		ops[i] = g.next()
	}
	return ops, g.indexes()
}

// failure is the first difference of a run.
type failure struct {
	at   int
	what string
}

// String returns the difference as text; for nil, that the run does not fail every time.
func (f *failure) String() string {
	if f == nil {
		return "(which does not fail every time)"
	}
	return f.what
}

// runMost is the maximum duration of one run, also over a simulated cluster with all faults, where some replies
// arrive only after the server has resolved an undetermined commit.
const runMost = 4 * time.Minute

// database is the database of the runs.
const database = "differential"

// run applies a list of operations to the collections of all variants and to the model, all empty at first, and
// returns the first difference; nil if there is none.
func run(t *testing.T, client *mongo.Client, indexes bson.A, ops []op) *failure {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), runMost)
	defer cancel()
	db := client.Database(database)
	if err := db.Drop(ctx); err != nil {
		t.Fatal(err)
	}
	for _, v := range variants {
		if err := v.prepare(ctx, client, indexes); err != nil {
			t.Fatalf("%s: %v", v.name, err)
		}
	}
	m := &model{docs: map[int32]bson.D{}}
	for i, o := range ops {
		shardValue := get(m.docs[o.id], "s")
		want := m.apply(o)
		if f := everywhere(i, o.String(), want, func(v variant) (string, error) { return v.apply(ctx, db.Collection(v.name), o, shardValue) }); f != nil {
			return f
		}
		if i%10 == 9 || i == len(ops)-1 {
			if f := compareAll(ctx, db, m, i); f != nil {
				return f
			}
		}
	}
	return nil
}

// bounds are the values at which the variant with a ranged shard key is split: between types, and between values of
// s.
var bounds = []any{0, "", "b", "c"}

// shard shards a variant's collection.
func (v variant) shard(ctx context.Context, admin *mongo.Database) error {
	ns := database + "." + v.name
	if v.shards > 0 {
		command := bson.D{
			{Key: "shardCollection", Value: ns},
			{Key: "key", Value: bson.D{{Key: v.key, Value: "hashed"}}}, {Key: "numInitialChunks", Value: v.shards},
		}
		if v.suffix != nil {
			command = append(command, bson.E{Key: "suffix", Value: v.suffix})
		}
		return admin.RunCommand(ctx, command).Err()
	}
	if err := admin.RunCommand(ctx, bson.D{{Key: "shardCollection", Value: ns}, {Key: "key", Value: bson.D{{Key: v.key, Value: 1}}}}).Err(); err != nil {
		return err
	}
	for _, at := range bounds {
		if err := admin.RunCommand(ctx, bson.D{{Key: "split", Value: ns}, {Key: "middle", Value: bson.D{{Key: v.key, Value: at}}}}).Err(); err != nil {
			return err
		}
	}
	return nil
}

// prepare creates a variant's collection.
func (v variant) prepare(ctx context.Context, client *mongo.Client, indexes bson.A) error {
	if v.key != "" {
		if err := v.shard(ctx, client.Database("admin")); err != nil {
			return err
		}
	}
	if !v.indexed {
		return nil
	}
	return client.Database(database).RunCommand(ctx, bson.D{{Key: "createIndexes", Value: v.name}, {Key: "indexes", Value: indexes}}).Err()
}

// apply runs an operation on a collection of this variant, and returns its outcome as text in the form that the
// model has. shardValue is the field s of the document that a single update changes.
func (v variant) apply(ctx context.Context, c *mongo.Collection, o op, shardValue any) (string, error) {
	switch o.kind {
	case "insert":
		docs := make([]any, len(o.docs))
		for i, doc := range o.docs {
			docs[i] = doc
		}
		if v.key == "s" {
			return v.insertOneByOne(ctx, c, o.docs)
		}
		got, err := c.InsertMany(ctx, docs, options.InsertMany().SetOrdered(false))
		var bulk mongo.BulkWriteException
		if errors.As(err, &bulk) && !slices.ContainsFunc(bulk.WriteErrors, func(e mongo.BulkWriteError) bool { return e.Code != 11000 }) {
			return fmt.Sprintf("inserted %d", len(docs)-len(bulk.WriteErrors)), nil
		}
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("inserted %d", len(got.InsertedIDs)), nil
	case "find":
		cursor, err := c.Find(ctx, o.filter, options.Find().SetSort(o.sort).SetSkip(o.skip).SetLimit(o.limit).SetBatchSize(o.batch))
		if err != nil {
			return "", err
		}
		var docs []bson.D
		err = cursor.All(ctx, &docs)
		return lines(docs), err
	case "count":
		n, err := c.CountDocuments(ctx, o.filter)
		return fmt.Sprintf("count %d", n), err
	case "group":
		return group(ctx, c, o.filter)
	case "updateOne":
		got, err := c.UpdateOne(ctx, v.single(o.id, shardValue), o.update)
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("matched %d", got.MatchedCount), nil
	case "upsert":
		if _, absent := shardValue.(missing); v.key == "s" && absent {
			// In a sharded collection, an upsert must name the shard key, and cannot name a value that is missing.
			return v.upsertByHand(ctx, c, o)
		}
		got, err := c.UpdateOne(ctx, v.single(o.id, shardValue), o.update, options.UpdateOne().SetUpsert(true))
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("matched %d", got.MatchedCount), nil
	case "updateMany":
		got, err := c.UpdateMany(ctx, o.filter, o.update)
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("matched %d", got.MatchedCount), nil
	case "delete":
		got, err := c.DeleteMany(ctx, o.filter)
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("deleted %d", got.DeletedCount), nil
	}
	panic(o.kind)
}

// insertOneByOne inserts documents into the collection that is sharded by s. There an _id is unique only for each
// value of s, so documents whose _id exists with another s are left out, as other variants refuse them.
func (v variant) insertOneByOne(ctx context.Context, c *mongo.Collection, docs []bson.D) (string, error) {
	n := 0
	for _, doc := range docs {
		have, err := c.CountDocuments(ctx, doc[:1])
		if err != nil {
			return "", err
		}
		if have > 0 {
			continue
		}
		if _, err := c.InsertOne(ctx, doc); err != nil {
			return "", err
		}
		n++
	}
	return fmt.Sprintf("inserted %d", n), nil
}

// upsertByHand does an upsert of a document without s in two commands: it updates the document, or inserts the
// document that the upsert would insert.
func (v variant) upsertByHand(ctx context.Context, c *mongo.Collection, o op) (string, error) {
	got, err := c.UpdateOne(ctx, v.single(o.id, missing{}), o.update)
	if err == nil && got.MatchedCount == 0 {
		_, err = c.InsertOne(ctx, updated(bson.D{{Key: "_id", Value: o.id}}, o.update))
		return "matched 0", err
	}
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("matched %d", got.MatchedCount), nil
}

// single returns the filter for a single document, with the value of the shard key that this variant has.
func (v variant) single(id int32, shardValue any) bson.D {
	filter := bson.D{{Key: "_id", Value: id}}
	if v.key == "s" {
		if _, absent := shardValue.(missing); absent {
			shardValue = nil
		}
		filter = append(filter, bson.E{Key: "s", Value: shardValue})
	}
	return filter
}

// group counts documents by n with a pipeline.
func group(ctx context.Context, c *mongo.Collection, filter bson.D) (string, error) {
	cursor, err := c.Aggregate(ctx, bson.A{
		bson.D{{Key: "$match", Value: filter}},
		bson.D{{Key: "$group", Value: bson.D{{Key: "_id", Value: "$n"}, {Key: "c", Value: bson.D{{Key: "$sum", Value: 1}}}}}},
	})
	if err != nil {
		return "", err
	}
	var docs []bson.D
	if err := cursor.All(ctx, &docs); err != nil {
		return "", err
	}
	var out []string
	for _, doc := range docs {
		out = append(out, fmt.Sprintf("%s: %v", groupName(get(doc, "_id")), get(doc, "c")))
	}
	slices.Sort(out)
	return strings.Join(out, "\n"), nil
}

// compareAll compares the whole contents of the collection of every variant with the model.
func compareAll(ctx context.Context, db *mongo.Database, m *model, at int) *failure {
	everything := op{kind: "find", filter: bson.D{}, sort: bson.D{{Key: "_id", Value: int32(1)}}, batch: 100}
	return everywhere(at, "content", lines(m.find(everything)), func(v variant) (string, error) {
		return v.apply(ctx, db.Collection(v.name), everything, missing{})
	})
}

// everywhere runs a question in all variants at the same time, and returns a failure for the first variant whose
// answer differs from that of the model.
func everywhere(at int, what, want string, ask func(v variant) (string, error)) *failure {
	var group sync.WaitGroup
	var found [len(variants)]*failure
	for i, v := range variants {
		group.Go(func() {
			got, err := ask(v)
			switch {
			case err != nil:
				found[i] = &failure{at, fmt.Sprintf("%s: %s: %v", v.name, what, err)}
			case got != want:
				found[i] = &failure{at, fmt.Sprintf("%s: %s\n(- model, + %s)\n%s", v.name, what, v.name, casefile.Diff(want, got))}
			}
		})
	}
	group.Wait()
	for _, f := range found {
		if f != nil {
			return f
		}
	}
	return nil
}

// shrinkRunsMax and shrinkMost bound the work of shrinking.
const (
	shrinkRunsMax = 150
	shrinkMost    = 2 * time.Minute
)

// shrink removes operations as long as the rest still fails.
func shrink(t *testing.T, client *mongo.Client, indexes bson.A, ops []op) []op {
	runs, until := 0, time.Now().Add(shrinkMost)
	for size := len(ops) / 2; size > 0; size /= 2 {
		for first := 0; first+size <= len(ops) && runs < shrinkRunsMax && time.Now().Before(until); {
			without := slices.Concat(ops[:first], ops[first+size:])
			runs++
			if f := run(t, client, indexes, without); f != nil {
				ops = without[:f.at+1]
			} else {
				first += size
			}
		}
	}
	return ops
}

// script prints operations as the commands of a case file.
func script(ops []op) string {
	var b strings.Builder
	for _, o := range ops {
		b.WriteString(o.String())
		b.WriteByte('\n')
	}
	return b.String()
}

// String prints an operation as a command in shell notation.
func (o op) String() string {
	switch o.kind {
	case "insert":
		docs := make([]string, len(o.docs))
		for i, doc := range o.docs {
			docs[i] = text(doc)
		}
		return fmt.Sprintf("{insert: \"c\", documents: [%s], ordered: false}", strings.Join(docs, ", "))
	case "find":
		return fmt.Sprintf("{find: \"c\", filter: %s, sort: %s, skip: %d, limit: %d, batchSize: %d}", text(o.filter), text(o.sort), o.skip, o.limit, o.batch)
	case "count":
		return fmt.Sprintf("{count: \"c\", query: %s}", text(o.filter))
	case "group":
		return fmt.Sprintf("{aggregate: \"c\", pipeline: [{$match: %s}, {$group: {_id: \"$n\", c: {$sum: 1}}}], cursor: {}}", text(o.filter))
	case "delete":
		return fmt.Sprintf("{delete: \"c\", deletes: [{q: %s, limit: 0}]}", text(o.filter))
	case "updateMany":
		return fmt.Sprintf("{update: \"c\", updates: [{q: %s, u: %s, multi: true}]}", text(o.filter), text(o.update))
	}
	return fmt.Sprintf("{update: \"c\", updates: [{q: {_id: %d}, u: %s, upsert: %v}]}", o.id, text(o.update), o.kind == "upsert")
}
