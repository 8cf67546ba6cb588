package inprocess

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/keyspace"
)

// lag makes a server apply no catalog changes of its peers, although its lease is renewed, until goOn is called.
func (g *gateway) lag(t *testing.T) (goOn func()) {
	t.Helper()
	const topic = "behind"
	held, rest := make(chan struct{}), make(chan struct{})
	jobs, loads := g.d.Jobs(), 0
	jobs.Catalog.OnTopic(topic, func(ctx context.Context, r storage.Reader) error {
		if v, err := r.Get(ctx, keyspace.TopicKey(topic), nil); err != nil || !bytes.Equal(v, []byte("now")) {
			return nil
		}
		if loads++; loads == 1 {
			close(held)
			<-rest
		}
		return nil
	})
	txn, err := jobs.Store.Begin(t.Context(), storage.TxnOptions{})
	bsontest.Must(t, err)
	bsontest.Must(t, txn.Set(keyspace.TopicKey(topic), []byte("now")))
	_, err = txn.Commit(t.Context(), storage.Buffered)
	bsontest.Must(t, err)
	<-held
	done := false
	goOn = func() {
		if !done {
			done = true
			close(rest)
		}
	}
	t.Cleanup(goOn)
	return goOn
}

// entry returns the entry in a server's catalog under a name.
func (g *gateway) entry(name string) *catalog.Collection {
	return g.d.Jobs().Catalog.Peek().Collection(collection.Namespace{DB: "test", Coll: name})
}

// TestBehind checks that no server writes by a new catalog version before every server has applied it: a
// server with an older version would misread such writes. Here the peer is alive but has not applied the
// change.
func TestBehind(t *testing.T) {
	byN := options.Find().SetHint(bson.M{"n": 1})
	keyOf := func(g *gateway) string { return g.entry("x").Key.String() }
	for _, one := range []struct {
		name   string
		change bson.D                                  // runs at the first server
		step   string                                  // the step of the change after which the other server stays behind; "" for before all of it
		known  func(g *gateway) bool                   // reports whether the first server has applied the change
		to     string                                  // the collection that is written, "" for x
		late   func(t *testing.T, x *mongo.Collection) // runs at the other server if the writes are acknowledged
	}{
		{
			name:   "an index is made, and one who does not know it deletes a document that has an entry",
			change: bson.D{{Key: "createIndexes", Value: "x"}, {Key: "indexes", Value: bson.A{bson.M{"key": bson.M{"u": 1}, "name": "u_1"}}}},
			known:  func(g *gateway) bool { return len(g.entry("x").Indexes) == 3 },
			late: func(t *testing.T, x *mongo.Collection) {
				_, err := x.DeleteMany(t.Context(), bson.M{"n": bson.M{"$gte": 1000}})
				bsontest.Must(t, err)
			},
		},
		{
			name:   "an index is dropped, and one who knows it reads by it",
			change: bson.D{{Key: "dropIndexes", Value: "x"}, {Key: "index", Value: "n_1"}},
			known:  func(g *gateway) bool { return len(g.entry("x").Indexes) == 1 },
			late: func(t *testing.T, x *mongo.Collection) {
				want(t, "documents by the index", len(ids(t, x, bson.M{"n": bson.M{"$gte": 1000}}, byN)), 20)
			},
		},
		{
			name:   "a shard is split, and one who does not know it reads by an index, and deletes",
			change: bson.D{{Key: "split", Value: "test.x"}, {Key: "find", Value: bson.M{"_id": 1}}},
			known:  func(g *gateway) bool { return len(g.entry("x").Map.Shards()) == 3 },
			late: func(t *testing.T, x *mongo.Collection) {
				want(t, "documents by the index", len(ids(t, x, bson.M{"n": bson.M{"$gte": 1000}}, byN)), 20)
				_, err := x.DeleteMany(t.Context(), bson.M{"_id": bson.M{"$gte": 1000}})
				bsontest.Must(t, err)
			},
		},
		{
			name:   "a copy under another shard key takes the place of the old one",
			change: bson.D{{Key: "reshardCollection", Value: "test.x"}, {Key: "key", Value: bson.M{"k": 1}}, {Key: "numInitialChunks", Value: 2}},
			step:   "ready",
			known:  func(g *gateway) bool { return strings.Contains(keyOf(g), "k") },
			late: func(t *testing.T, x *mongo.Collection) {
				want(t, "documents", len(ids(t, x, bson.M{"n": bson.M{"$gte": 1000}})), 20)
			},
		},
		{
			name:   "a collection gets another name",
			change: bson.D{{Key: "renameCollection", Value: "test.y"}, {Key: "to", Value: "test.z"}},
			known:  func(g *gateway) bool { return g.entry("z") != nil },
			to:     "z",
			late: func(t *testing.T, z *mongo.Collection) {
				want(t, "documents", len(ids(t, z, bson.M{"n": bson.M{"$gte": 1000}})), 20)
			},
		},
	} {
		t.Run(one.name, func(t *testing.T) {
			g := several(t, 2)
			bsontest.Must(t, g[0].Database("admin").RunCommand(t.Context(), bson.D{{Key: "shardCollection", Value: "test.x"}, {Key: "key", Value: bson.M{"_id": "hashed"}}, {Key: "numInitialChunks", Value: 2}}).Err())
			_, err := g[0].coll("x").Indexes().CreateOne(t.Context(), mongo.IndexModel{Keys: bson.M{"n": 1}})
			bsontest.Must(t, err)
			fill(t, g[0], 50)
			insert(t, g[0].coll("y"), bson.M{"_id": 1})
			want(t, "documents before", len(ids(t, g[1].coll("x"), bson.M{})), 50)
			reached, goOn := g[0].stopAt(t, one.step)
			changed := make(chan error, 1)
			change := func() {
				db := "test"
				if one.change[0].Key != "createIndexes" && one.change[0].Key != "dropIndexes" {
					db = "admin"
				}
				changed <- g[0].Database(db).RunCommand(context.WithoutCancel(t.Context()), one.change).Err()
			}
			var letGo func()
			if one.step == "" {
				letGo = g[1].lag(t)
				go change()
			} else {
				go change()
				<-reached
				letGo = g[1].lag(t)
				close(goOn)
			}
			eventually(t, "the change at the first", func() (any, bool) { return nil, one.known(g[0]) })
			to := "x"
			if one.to != "" {
				to = one.to
			}
			wrote := make(chan error, 1)
			go func() {
				var docs []any
				for i := range 20 {
					docs = append(docs, bson.M{"_id": 1000 + i, "k": i, "n": 1000 + i, "u": i})
				}
				_, err := g[0].coll(to).InsertMany(context.WithoutCancel(t.Context()), docs)
				wrote <- err
			}()
			select {
			case err := <-wrote:
				bsontest.Must(t, err)
				one.late(t, g[1].coll(to))
				wrote <- nil
			case <-time.After(500 * time.Millisecond): // the write waits until the other server has applied the change
			}
			letGo()
			bsontest.Must(t, <-changed)
			bsontest.Must(t, <-wrote)
			for i := range g {
				doc, err := g[i].Database("test").RunCommand(t.Context(), bson.D{{Key: "validate", Value: to}}).Raw()
				bsontest.Must(t, err)
				if !doc.Lookup("valid").Boolean() {
					t.Errorf("validate at %d: %s", i, doc)
				}
			}
		})
	}
}
