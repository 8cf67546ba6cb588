package crash

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/cantledb/cantle/compat-tests/faults/programme"
	"github.com/cantledb/cantle/compat-tests/rig/harness"
	"github.com/cantledb/cantle/internal/testenv"
)

// The steps of structure changes, as package jobs names them, at which a fail point can make the server kill
// itself.
var (
	rewriteSteps = []string{"begun", "copying", "copied", "applied", "blocked", "ready"}
	reshapeSteps = []string{"prepared", "counted", "moving", "moved", "settled"}
	cappedSteps  = []string{"capped frozen", "capped copied"}
)

// ballast is the number of documents that no client changes, so that a job over the collection needs several
// transactions.
const ballast = 3000

// structure is a test case: a command that changes the structure of a collection, and the steps at which the
// server can be killed in it.
type structure struct {
	name  string
	steps []string
	run   func(f *killing) error
	more  int // number of partitions that the command adds, at whichever step the process ended
	// undo gives a collection that the command rewrites its former shard key back, for the next round. It is nil
	// for a command that keeps the shard key. A rewrite starts again after a kill, and ends with the shard key
	// key.
	undo func(f *killing) error
	key  bson.D
}

// state is the structure of the collection.
type state struct {
	key    string
	chunks int // -1 for any number
}

// killing is the test's state between the start of a server and its death: a client, and the commands of the test.
type killing struct {
	*testing.T
	ctx    context.Context
	client *mongo.Client
	random *rand.Rand
}

// TestKillDuringStructureChanges kills the process at each step of each structure change under load. No
// acknowledged write may be lost and no document duplicated, all must be found by shard key and by every index,
// and the collection must have the new structure after the restart; a rewrite runs again. Leftovers must not
// prevent the next change.
func TestKillDuringStructureChanges(t *testing.T) {
	testenv.SkipWithURI(t)
	rounds := 1
	if programme.Column() != programme.Run {
		rounds = 20
	}
	if strings.HasPrefix(testenv.Storage(), "tikv") {
		rounds = 1 // only one round, because after each kill the next server waits some 20 s for the lease to expire
	}
	random, dir := begin(t)
	models := make([]*model, writers)
	for i := range models {
		models[i] = &model{writer: i, in: "jobs", known: map[int32]int64{}, maybe: map[int32]int64{}, next: 1}
	}
	ranged, hashed := bson.D{{Key: "_id", Value: 1}}, bson.D{{Key: "_id", Value: "hashed"}}
	changes := []structure{
		{name: "shardCollection", steps: rewriteSteps, run: rekey("shardCollection", ranged), undo: unshard, key: ranged},
		{name: "split", steps: reshapeSteps, run: split, more: 1},
		{name: "mergeChunks", steps: reshapeSteps, run: merge, more: -1},
		{name: "reshardCollection", steps: rewriteSteps, run: rekey("reshardCollection", hashed), undo: rekey("reshardCollection", ranged), key: hashed},
		{name: "unshardCollection", steps: rewriteSteps, run: unshard, undo: rekey("shardCollection", hashed)},
		{name: "convertToCapped", steps: cappedSteps, run: func(f *killing) error {
			return f.client.Database("crash").RunCommand(f.ctx, bson.D{{Key: "convertToCapped", Value: "log"}, {Key: "size", Value: 1 << 20}}).Err()
		}},
	}
	acknowledged, kills := 0, 0
	programme.RecordAtEnd(t, "kill", 0, func() (int, string) {
		return kills, fmt.Sprintf("%d while a structure changed, with %d acknowledged writes, %s", kills, acknowledged, programme.None(t, "lost"))
	})
	first := true
	var want *state // after a kill
	for range rounds {
		for _, change := range changes {
			// The last run is without a kill, so that the collection has the structure that the next change needs.
			for i, step := range append(slices.Clone(change.steps), "") {
				o := harness.Options{Data: dir, Args: []string{"--sync=always", "--enable-test-commands"}}
				server, err := harness.Launch(o)
				if err != nil {
					t.Fatalf("%s after %d kills: %v", change.name, kills, err)
				}
				if first {
					first = false
					fill(t, server)
				}
				inspect(t, server, models, kills, want)
				if t.Failed() {
					server.Kill()
					return
				}
				acknowledged += during(t, server, models, random, func(ctx context.Context, client *mongo.Client) {
					f := &killing{t, ctx, client, random}
					if change.undo != nil && i > 0 { // the change was completed although the server was killed
						if err := change.undo(f); err != nil {
							t.Errorf("%s undone: %v", change.name, err)
						}
					}
					want = f.round(change, step)
					server.Kill()
				})
				kills++
				if err := server.Trouble(); err != nil {
					t.Fatalf("%s, %q: %v\n%s", change.name, step, err, server.Log())
				}
			}
		}
	}
	server := harness.Start(t, harness.Options{Data: dir})
	inspect(t, server, models, kills, nil)
	if acknowledged < kills {
		t.Errorf("only %d writes were acknowledged: the load did not run", acknowledged)
	}
}

// round runs one structure change. Unless step is "", the server kills itself at that step, and round returns the
// structure that the collection must have after the restart. It returns nil if step is "" or it fails before the
// change.
func (f *killing) round(change structure, step string) *state {
	if step == "" {
		if err := change.run(f); err != nil {
			f.Errorf("%s: %v", change.name, err)
		}
		return nil
	}
	if err := f.rest(); err != nil {
		f.Error(err)
		return nil
	}
	skip := 0
	if step == "copying" || step == "moving" { // reached once per transaction
		skip = f.random.IntN(3)
	}
	err := f.admin(bson.D{{Key: "configureFailPoint", Value: "killAtJobStep"}, {Key: "mode", Value: bson.D{{Key: "skip", Value: skip}}},
		{Key: "data", Value: bson.D{{Key: "step", Value: step}, {Key: "pauseMS", Value: f.random.IntN(30)}}}})
	if err != nil {
		f.Error(err)
		return nil
	}
	before, err := f.state()
	if err != nil {
		f.Error(err)
		return nil
	}
	f.Logf("%s at %q: %+v", change.name, step, before)
	if err := change.run(f); !unknown(err) {
		f.Errorf("%s did not come to %q: %v", change.name, step, err)
	}
	before.chunks += change.more
	if change.undo != nil {
		before = state{chunks: -1}
		if change.key != nil {
			before.key = document(f, change.key).String()
		}
	}
	return &before
}

// rest waits until the background jobs that the server has resumed at its start are done: otherwise, on a slow
// store, the fail point would kill it in one of them instead of in the change. In $currentOp background operations
// have negative opids.
func (f *killing) rest() error {
	for f.ctx.Err() == nil {
		cursor, err := f.client.Database("admin").Aggregate(f.ctx, mongo.Pipeline{{{Key: "$currentOp", Value: bson.D{}}},
			{{Key: "$match", Value: bson.D{{Key: "opid", Value: bson.D{{Key: "$lt", Value: 0}}}, {Key: "ns", Value: "crash.jobs"}}}}})
		if err != nil {
			return err
		}
		var running []bson.M
		if err := cursor.All(f.ctx, &running); err != nil || len(running) == 0 {
			return err
		}
	}
	return f.ctx.Err()
}

func (f *killing) admin(cmd bson.D) error {
	return f.client.Database("admin").RunCommand(f.ctx, cmd).Err()
}

// settled returns the structure of the collection, after a rewrite that runs again has ended.
func (f *killing) settled(want *state) (now state, err error) {
	for range 1200 {
		if now, err = f.state(); err != nil || want.chunks >= 0 {
			return now, err
		}
		if now.chunks = -1; now == *want {
			return now, f.rest()
		}
		time.Sleep(50 * time.Millisecond)
	}
	return now, err
}

// state reads the shard key of the collection, "" for none, and the number of its partitions.
func (f *killing) state() (s state, err error) {
	config := f.client.Database("config")
	raw, err := config.Collection("collections").FindOne(f.ctx, bson.D{{Key: "_id", Value: "crash.jobs"}}).Raw()
	if err == nil {
		s.key = raw.Lookup("key").String()
	} else if err != mongo.ErrNoDocuments {
		return s, err
	}
	n, err := config.Collection("chunks").CountDocuments(f.ctx, bson.D{})
	s.chunks = int(n)
	return s, err
}

// rekey gives the collection a shard key.
func rekey(command string, key bson.D) func(f *killing) error {
	return func(f *killing) error {
		return f.admin(bson.D{{Key: command, Value: "crash.jobs"}, {Key: "key", Value: key}})
	}
}

// unshard takes the shard key away.
func unshard(f *killing) error {
	return f.admin(bson.D{{Key: "unshardCollection", Value: "crash.jobs"}})
}

func document(f *killing, d bson.D) bson.Raw {
	raw, err := bson.Marshal(d)
	if err != nil {
		f.Error(err)
	}
	return raw
}

// split splits the partition of a random document that no client changes, before that document.
func split(f *killing) error {
	at := int32(1_000_000 + f.random.IntN(ballast))
	return f.admin(bson.D{{Key: "split", Value: "crash.jobs"}, {Key: "middle", Value: bson.D{{Key: "_id", Value: at}}}})
}

// merge merges the last two partitions, which hold the documents that no client changes.
func merge(f *killing) error {
	cursor, err := f.client.Database("config").Collection("chunks").Find(f.ctx, bson.D{}, options.Find().SetSort(bson.D{{Key: "min", Value: 1}}))
	if err != nil {
		return err
	}
	var chunks []struct{ Min, Max bson.Raw }
	if err := cursor.All(f.ctx, &chunks); err != nil {
		return err
	}
	if len(chunks) < 2 {
		f.Error("there is nothing to merge")
		return nil
	}
	i := len(chunks) - 2 // the last two hold the ballast
	return f.admin(bson.D{{Key: "mergeChunks", Value: "crash.jobs"}, {Key: "bounds", Value: bson.A{chunks[i].Min, chunks[i+1].Max}}})
}

// fill makes the collections.
func fill(t *testing.T, s *harness.Server) {
	ctx := harness.Context(t)
	client := connect(t, s)
	defer client.Disconnect(ctx)
	coll := durable(client, "jobs")
	for _, key := range []string{"version", "tags", "writer"} {
		if _, err := coll.Indexes().CreateOne(ctx, mongo.IndexModel{Keys: bson.D{{Key: key, Value: 1}}}); err != nil {
			t.Fatal(err)
		}
	}
	m := &model{writer: -1}
	var docs, log []any
	for i := range int32(ballast) {
		docs = append(docs, m.document(1_000_000+i, int64(i%50)))
		log = append(log, bson.D{{Key: "_id", Value: i}})
	}
	for name, docs := range map[string][]any{"jobs": docs, "log": log} {
		if _, err := durable(client, name).InsertMany(ctx, docs); err != nil {
			t.Fatal(err)
		}
	}
}

// inspect compares the data and the structure of a collection with the models and want, after the server has
// started again.
func inspect(t *testing.T, s *harness.Server, models []*model, kills int, want *state) {
	ctx := harness.Context(t)
	client := connect(t, s)
	defer client.Disconnect(ctx)
	coll := durable(client, "jobs")
	if want != nil {
		f := &killing{T: t, ctx: ctx, client: client}
		if now, err := f.settled(want); err != nil || now != *want {
			t.Errorf("after %d kills the collection lies as %+v, want %+v: %v", kills, now, *want, err)
		}
	}
	ids := bson.A{}
	for _, m := range append(models, &model{writer: -1, in: "jobs"}) {
		found, err := m.read(ctx, coll)
		if err != nil {
			t.Errorf("after %d kills, writer %d: %v", kills, m.writer, err)
			return
		}
		for id := range found {
			ids = append(ids, id)
		}
		if m.writer >= 0 {
			m.settle(t, found, kills)
		} else if len(found) != ballast {
			t.Errorf("after %d kills there are %d of %d documents of the ballast", kills, len(found), ballast)
		}
	}
	// Each document is found by its shard key, and the collection has no others.
	byKey, err := coll.CountDocuments(ctx, bson.D{{Key: "_id", Value: bson.D{{Key: "$in", Value: ids}}}})
	if err != nil || int(byKey) != len(ids) {
		t.Errorf("after %d kills %d of %d documents are found by their keys: %v", kills, byKey, len(ids), err)
	}
	all, err := coll.CountDocuments(ctx, bson.D{}, options.Count().SetHint(bson.D{{Key: "$natural", Value: 1}}))
	counted, err2 := coll.EstimatedDocumentCount(ctx)
	if err != nil || err2 != nil || int(all) != len(ids) || counted != all {
		t.Errorf("after %d kills a scan finds %d documents, indexes %d, the count is %d: %v, %v", kills, all, len(ids), counted, err, err2)
	}
	validate(t, ctx, coll, kills)
	inspectLog(t, ctx, client)
}

// inspectLog checks the collection log, which convertToCapped changes: it has all its documents, accepts writes, and no
// copy of it is left.
func inspectLog(t *testing.T, ctx context.Context, client *mongo.Client) {
	soon, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	coll := durable(client, "log")
	if _, err := coll.InsertOne(soon, bson.D{{Key: "late", Value: true}}); err != nil {
		t.Errorf("the log takes no writes: %v", err)
	}
	if n, err := coll.CountDocuments(ctx, bson.D{{Key: "late", Value: nil}}); err != nil || n != ballast {
		t.Errorf("the log has %d of %d documents: %v", n, ballast, err)
	}
	names, err := client.Database("crash").ListCollectionNames(ctx, bson.D{})
	slices.Sort(names)
	if err != nil || !slices.Equal(names, []string{"jobs", "log"}) {
		t.Errorf("collections %v: %v", names, err)
	}
	validate(t, ctx, coll, 0)
}
