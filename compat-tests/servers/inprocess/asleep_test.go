package inprocess

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/cantledb/cantle/bson/bsontest"
)

// sleeper is a collection that one server changes while another one is cut off for longer than its lease.
type sleeper struct {
	name, after string // name before the change, and after it if it changes
	db          string
	change      bson.D
	gone        bool // the change removes the old documents

	marked atomic.Bool // the document "marker" has been written after the change
	mu     sync.Mutex
	acked  []any // documents acknowledged by the sleeping server under the later name
}

// sleepers returns a sleeper for each kind of change.
func sleepers() []*sleeper {
	index := func(name, key string, opts bson.M) bson.A {
		spec := bson.M{"key": bson.M{key: 1}, "name": name}
		for k, v := range opts {
			spec[k] = v
		}
		return bson.A{spec}
	}
	return []*sleeper{
		{name: "made", db: "test", change: bson.D{{Key: "createIndexes", Value: "made"}, {Key: "indexes", Value: index("u", "u", nil)}}},
		{name: "unique", db: "test", change: bson.D{{Key: "createIndexes", Value: "unique"}, {Key: "indexes", Value: index("u", "u", bson.M{"unique": true})}}},
		{name: "unmade", db: "test", change: bson.D{{Key: "dropIndexes", Value: "unmade"}, {Key: "index", Value: "v_1"}}},
		{name: "split", db: "admin", change: bson.D{{Key: "split", Value: "test.split"}, {Key: "find", Value: bson.M{"_id": 1}}}},
		{name: "resharded", db: "admin", change: bson.D{{Key: "reshardCollection", Value: "test.resharded"}, {Key: "key", Value: bson.M{"u": 1}}, {Key: "numInitialChunks", Value: 2}}},
		{name: "renamed", after: "named", db: "admin", change: bson.D{{Key: "renameCollection", Value: "test.renamed"}, {Key: "to", Value: "test.named"}}},
		{name: "capped", db: "test", change: bson.D{{Key: "convertToCapped", Value: "capped"}, {Key: "size", Value: 1 << 20}}},
		{name: "dropped", db: "test", change: bson.D{{Key: "drop", Value: "dropped"}}, gone: true},
	}
}

// now returns the name of the collection after the change.
func (s *sleeper) now() string {
	if s.after != "" {
		return s.after
	}
	return s.name
}

// prepare creates the collection with documents and indexes.
func (s *sleeper) prepare(t *testing.T, g *gateway) {
	if s.name == "split" || s.name == "resharded" {
		bsontest.Must(t, g.Database("admin").RunCommand(t.Context(), bson.D{{Key: "shardCollection", Value: "test." + s.name}, {Key: "key", Value: bson.M{"_id": "hashed"}}, {Key: "numInitialChunks", Value: 2}}).Err())
	}
	var docs []any
	for i := range 20 {
		docs = append(docs, bson.M{"_id": i, "n": i, "u": i, "v": i})
	}
	_, err := g.coll(s.name).InsertMany(t.Context(), docs)
	bsontest.Must(t, err)
	_, err = g.coll(s.name).Indexes().CreateMany(t.Context(), []mongo.IndexModel{{Keys: bson.M{"n": 1}}, {Keys: bson.M{"v": 1}}})
	bsontest.Must(t, err)
}

// retryExpiredLease repeats an operation that fails because of an expired lease, as can happen on an overloaded
// machine. In a repetition, errors are accepted which show that the first attempt took effect.
func retryExpiredLease(do func() error) error {
	for late := false; ; late = true {
		err := do()
		var said mongo.ServerError
		switch {
		case err == nil || !errors.As(err, &said):
			return err
		case late && (mongo.IsDuplicateKeyError(err) || said.HasErrorCode(26) || said.HasErrorCode(27)):
			return nil
		case !said.HasErrorCode(89) && !said.HasErrorLabel("RetryableWriteError"):
			return err
		}
	}
}

// use inserts and counts in turn at the server that sleeps, until ctx ends. Once the peer has made its change
// (marked), a count must find the document that was written after the change. Acknowledged inserts that
// the change must not remove are kept for the check at the end.
func (s *sleeper) use(ctx context.Context, t *testing.T, g *gateway) {
	for n := 0; ctx.Err() == nil; n++ {
		one, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		marked, id := s.marked.Load(), fmt.Sprintf("late-%d", n)
		name := s.name
		if marked {
			name = s.now()
		}
		if n%2 == 0 {
			if _, err := g.coll(name).InsertOne(one, bson.M{"_id": id, "n": 1000 + n, "u": 1000 + n, "v": n}); err == nil && (marked || !s.gone && s.after == "") {
				s.mu.Lock()
				s.acked = append(s.acked, id)
				s.mu.Unlock()
			}
		} else if marked {
			if k, err := g.coll(name).CountDocuments(one, bson.M{"_id": "marker"}); err == nil && k != 1 {
				t.Errorf("%s: what was written after the change is not read at the gateway that slept", s.name)
			}
		}
		cancel()
		select {
		case <-ctx.Done():
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// TestAsleep checks that a server that is cut off for longer than its lease, while another one changes
// structures, neither reads nor writes by its outdated catalog when it comes back: with a client sending all
// the time, and with transactions begun before.
func TestAsleep(t *testing.T) {
	g := several(t, 2)
	awake, asleep := g[0], g[1]
	list := sleepers()
	for _, s := range list {
		s.prepare(t, awake)
	}
	commits := map[string]func() error{}
	for _, s := range list {
		session, err := asleep.StartSession()
		bsontest.Must(t, err)
		defer session.EndSession(context.WithoutCancel(t.Context()))
		bsontest.Must(t, session.StartTransaction())
		ctx := mongo.NewSessionContext(t.Context(), session)
		_, err = asleep.coll(s.name).UpdateOne(ctx, bson.M{"_id": 0}, bson.M{"$set": bson.M{"u": -1, "by": "sleeper"}})
		bsontest.Must(t, err)
		commits[s.name] = func() error { return session.CommitTransaction(ctx) }
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var users, changes sync.WaitGroup
	for _, s := range list {
		users.Go(func() { s.use(ctx, t, asleep) })
	}
	asleep.away.Store(true)
	for _, s := range list {
		changes.Go(func() {
			err := retryExpiredLease(func() error { return awake.Database(s.db).RunCommand(t.Context(), s.change).Err() })
			if err == nil {
				err = retryExpiredLease(func() error {
					_, err := awake.coll(s.now()).InsertOne(t.Context(), bson.M{"_id": "marker", "n": 1, "u": 999, "v": 1})
					return err
				})
			}
			if err != nil {
				t.Errorf("%s: %v", s.name, err)
				return
			}
			s.marked.Store(true)
		})
	}
	changes.Wait()
	asleep.away.Store(false)
	for name, commit := range commits {
		if commit() == nil {
			t.Errorf("%s: a transaction from before the sleep is committed", name)
		}
	}
	eventually(t, "what is written after the sleep", func() (any, bool) {
		left := 0
		for _, s := range list {
			s.mu.Lock()
			if len(s.acked) == 0 {
				left++
			}
			s.mu.Unlock()
		}
		return left, left == 0
	})
	stop()
	users.Wait()
	for _, s := range list {
		for i := range g {
			x := g[i].coll(s.now())
			scan := ids(t, x, bson.M{}, options.Find().SetHint(bson.M{"$natural": 1}))
			for _, id := range append([]any{"marker"}, s.acked...) {
				if !slices.Contains(scan, id) {
					t.Errorf("%s at %d: %v was acknowledged and is not there", s.name, i, id)
				}
			}
			want(t, s.name+": what the transactions left", len(ids(t, x, bson.M{"by": "sleeper"})), 0)
			doc, err := g[i].Database("test").RunCommand(t.Context(), bson.D{{Key: "validate", Value: s.now()}}).Raw()
			bsontest.Must(t, err)
			if !doc.Lookup("valid").Boolean() {
				t.Errorf("%s at %d: %s", s.name, i, doc)
			}
		}
	}
}
