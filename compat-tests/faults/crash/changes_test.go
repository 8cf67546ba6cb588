package crash

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/cantledb/cantle/compat-tests/faults/programme"
	"github.com/cantledb/cantle/compat-tests/rig/harness"
	"github.com/cantledb/cantle/internal/testenv"
)

// Shape of the load on change streams.
const (
	changeWriters = 8
	changedDocs   = 24 // each counts its changes in a field
	catchUpMax    = time.Minute
)

// era is the time between a start and a kill of the server: a client, and a context that ends with it.
type era struct {
	ctx    context.Context
	client *mongo.Client
}

func (e *era) coll() *mongo.Collection { return e.client.Database("crash").Collection("counters") }

// last runs a final operation, such as closing a cursor, on a server that may be gone, for at most a second.
func (e *era) last(do func(ctx context.Context)) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(e.ctx), time.Second)
	defer cancel()
	do(ctx)
}

// reader follows a change stream through all lives of the server, and checks the order of its events.
type reader struct {
	pipeline mongo.Pipeline
	options  func() *options.ChangeStreamOptionsBuilder
	wants    func(id int64) bool

	token bson.Raw
	seen  map[int64]int64 // the last change seen of each document
	total int
}

// read resumes the change stream and reads up to most events, or until two tries have found none. It
// returns nil also if the server was killed meanwhile.
func (r *reader) read(e *era, most int) error {
	s, err := e.coll().Watch(e.ctx, r.pipeline, r.options().SetResumeAfter(r.token).SetMaxAwaitTime(100*time.Millisecond))
	if err != nil {
		return ended(e, err)
	}
	defer e.last(func(ctx context.Context) { _ = s.Close(ctx) })
	for empty := 0; most > 0 && empty < 2; { // a batch may be empty although events follow
		if !s.TryNext(e.ctx) {
			if s.Err() != nil {
				break
			}
			empty++
			continue
		}
		most--
		id, _ := s.Current.Lookup("documentKey", "_id").AsInt64OK()
		n, ok := s.Current.Lookup("updateDescription", "updatedFields", "n").AsInt64OK()
		if !ok {
			return fmt.Errorf("an event without a count: %s", s.Current)
		}
		if n != r.seen[id]+1 {
			return fmt.Errorf("document %d: change %d came after %d", id, n, r.seen[id])
		}
		r.seen[id] = n
		r.total++
	}
	if t := s.ResumeToken(); t != nil {
		r.token = append(bson.Raw(nil), t...)
	}
	return ended(e, s.Err())
}

// ended returns nil for an error that is expected after the kill of the server, which happens a moment before the
// era ends, and otherwise err.
func ended(e *era, err error) error {
	if e.ctx.Err() != nil || unknown(err) {
		return nil
	}
	return err
}

// TestChangesThroughKills checks that change streams survive kills: writers increment counters in documents, one
// at a time or two in a transaction, while the collection is split, merged and resharded and the server is killed
// again and again. Readers resume all the time, and each must see every change that its pipeline matches exactly
// once, and those of a document in order.
func TestChangesThroughKills(t *testing.T) {
	testenv.SkipWithURI(t)
	random, dir := begin(t)
	lives := max(programme.Amount(t, "kill")/20, 1)
	plain := func(batch int32) func() *options.ChangeStreamOptionsBuilder {
		return func() *options.ChangeStreamOptionsBuilder { return options.ChangeStream().SetBatchSize(batch) }
	}
	all := func(int64) bool { return true }
	even := bson.A{}
	for id := 0; id < changedDocs; id += 2 {
		even = append(even, id)
	}
	readers := []*reader{
		{options: plain(1), wants: all},
		{options: plain(0), wants: all},
		{options: func() *options.ChangeStreamOptionsBuilder { return plain(7)().SetFullDocument(options.UpdateLookup) }, wants: all},
		{options: plain(0), wants: func(id int64) bool { return id%2 == 0 },
			pipeline: mongo.Pipeline{{{Key: "$match", Value: bson.D{{Key: "operationType", Value: "update"}, {Key: "documentKey._id", Value: bson.D{{Key: "$in", Value: even}}}}}}}},
	}
	var moved, written atomic.Int64
	kills := 0
	programme.RecordAtEnd(t, "kill", 0, func() (int, string) {
		return kills, fmt.Sprintf("%d while changes were read: %d writes, %d splits, merges and reshardings, %d events, %s", kills, written.Load(), moved.Load(), readers[0].total, programme.None(t, "lost"))
	})
	for life := range lives {
		server, err := harness.Launch(harness.Options{Data: dir})
		if err != nil {
			t.Fatalf("life %d: %v", life, err)
		}
		e, end := begun(t, server)
		if life == 0 {
			prepareCounters(t, e, readers)
		}
		var group sync.WaitGroup
		for i := range changeWriters {
			group.Go(func() { written.Add(count(t, e, rand.New(rand.NewPCG(uint64(life), uint64(i))))) })
		}
		for i, r := range readers {
			group.Go(func() {
				for e.ctx.Err() == nil {
					if err := r.read(e, 1+rand.IntN(60)); err != nil {
						t.Errorf("life %d, reader %d: %v", life, i, err)
						return
					}
				}
			})
		}
		group.Go(func() { moved.Add(move(e, rand.New(rand.NewPCG(uint64(life), 99)))) })
		time.Sleep(time.Duration(300+random.IntN(1200)) * time.Millisecond)
		server.Kill()
		kills++
		end()
		group.Wait()
		if mark := server.Trouble(); mark != nil {
			t.Fatalf("life %d: %v\n%s", life, mark, server.Log())
		}
		if t.Failed() {
			return
		}
	}
	e, end := begun(t, harness.Start(t, harness.Options{Data: dir}))
	defer end()
	var final []struct {
		ID int64 `bson:"_id"`
		N  int64 `bson:"n"`
	}
	found, err := e.coll().Find(e.ctx, bson.D{})
	if err == nil {
		err = found.All(e.ctx, &final)
	}
	if err != nil || len(final) != changedDocs {
		t.Fatalf("%d documents at the end, %v", len(final), err)
	}
	for i, r := range readers {
		deadline := time.Now().Add(catchUpMax)
		for behind := true; behind && time.Now().Before(deadline); {
			if err := r.read(e, 1000); err != nil {
				t.Fatalf("reader %d: %v", i, err)
			}
			behind = false
			for _, d := range final {
				behind = behind || r.wants(d.ID) && r.seen[d.ID] < d.N
			}
		}
		for _, d := range final {
			want := d.N
			if !r.wants(d.ID) {
				want = 0
			}
			if r.seen[d.ID] != want {
				t.Errorf("reader %d saw %d changes of document %d, which has had %d", i, r.seen[d.ID], d.ID, want)
			}
		}
	}
	if moved.Load() == 0 && lives > 1 || readers[0].total < lives { // a single life may be too short for a move
		t.Error("nothing happened")
	}
}

// begun connects to a started server and returns its era; end ends the era and disconnects its client.
func begun(t *testing.T, server *harness.Server) (e *era, end func()) {
	// The short timeout is for the driver's last messages to a server that is dead.
	client, err := harness.Connect(server.URI, options.Client().SetServerSelectionTimeout(2*time.Second))
	if err != nil {
		server.Kill()
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	e = &era{ctx, client}
	return e, func() {
		cancel()
		e.last(func(ctx context.Context) { _ = client.Disconnect(ctx) })
	}
}

// prepareCounters creates the collection with its documents, and then opens the readers' change streams.
func prepareCounters(t *testing.T, e *era, readers []*reader) {
	admin := e.client.Database("admin")
	err := admin.RunCommand(e.ctx, bson.D{{Key: "shardCollection", Value: "crash.counters"}, {Key: "key", Value: bson.D{{Key: "_id", Value: "hashed"}}}, {Key: "numInitialChunks", Value: 2}}).Err()
	if err != nil {
		t.Fatal(err)
	}
	for id := range changedDocs {
		if _, err := e.coll().InsertOne(e.ctx, bson.D{{Key: "_id", Value: id}, {Key: "g", Value: id % 5}, {Key: "n", Value: int64(0)}}); err != nil {
			t.Fatal(err)
		}
	}
	for _, r := range readers {
		s, err := e.coll().Watch(e.ctx, mongo.Pipeline{})
		if err != nil {
			t.Fatal(err)
		}
		r.token, r.seen = append(bson.Raw(nil), s.ResumeToken()...), map[int64]int64{}
		_ = s.Close(e.ctx)
	}
}

// count increments counters in random documents until the era ends, and returns the number of acknowledged updates
// and transactions.
func count(t *testing.T, e *era, random *rand.Rand) (n int64) {
	inc := bson.D{{Key: "$inc", Value: bson.D{{Key: "n", Value: int64(1)}}}}
	one := func(ctx context.Context, id int) error {
		_, err := e.coll().UpdateOne(ctx, bson.D{{Key: "_id", Value: id}}, inc)
		return err
	}
	for e.ctx.Err() == nil {
		var err error
		switch id := random.IntN(changedDocs); random.IntN(8) {
		case 0:
			var s *mongo.Session
			if s, err = e.client.StartSession(); err == nil {
				_, err = s.WithTransaction(e.ctx, func(ctx context.Context) (any, error) {
					if err := one(ctx, id); err != nil {
						return nil, err
					}
					return nil, one(ctx, (id+7)%changedDocs)
				})
				e.last(s.EndSession)
			}
		case 1:
			err = e.coll().FindOneAndUpdate(e.ctx, bson.D{{Key: "_id", Value: id}}, inc).Err()
		default:
			err = one(e.ctx, id)
		}
		if err == nil {
			n++
		} else if ended(e, err) != nil {
			t.Errorf("a write failed: %v", err)
			return n
		}
	}
	return n
}

// move splits, merges and reshards the collection until the era ends, and returns the number of successes. It
// ignores refusals, for example because another change is in progress.
func move(e *era, random *rand.Rand) (n int64) {
	key := bson.D{{Key: "g", Value: "hashed"}}
	for e.ctx.Err() == nil {
		db, cmd := e.client.Database("admin"), bson.D{{Key: "split", Value: "crash.counters"}, {Key: "find", Value: bson.D{{Key: "_id", Value: random.IntN(changedDocs)}, {Key: "g", Value: 1}}}}
		switch random.IntN(4) {
		case 0:
			cmd = bson.D{{Key: "reshardCollection", Value: "crash.counters"}, {Key: "key", Value: key}, {Key: "numInitialChunks", Value: 1 + random.IntN(4)}}
			if key[0].Key = "_id"; random.IntN(2) == 0 {
				key[0].Key = "g"
			}
		case 1:
			db, cmd = e.client.Database("crash"), bson.D{{Key: "customAction", Value: "MergePartitions"}, {Key: "collection", Value: "counters"}}
		}
		if db.RunCommand(e.ctx, cmd).Err() == nil {
			n++
		}
	}
	return n
}
