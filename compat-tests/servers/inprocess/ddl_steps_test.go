package inprocess

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/internal/testenv"
)

// change is a command that changes the collection x in many transactions.
type change struct {
	name    string
	db      string
	command bson.D
	again   []int // codes of errors that report that the change was made already
	// done reports whether the collection is as the command makes it.
	done  func(g *gateway) bool
	plain bool // the change is for an unsharded collection
	bare  bool // the change leaves the collection without indexes
	// before is a command that runs on the collection first.
	before bson.D
}

func changes() []change {
	hasIndex := func(g *gateway, name string) bool {
		coll := g.entry("x")
		return coll != nil && coll.Index(name) != nil && coll.Index(name).State == catalog.IndexReady
	}
	return []change{
		{"split", "admin", bson.D{{Key: "split", Value: "test.x"}, {Key: "find", Value: bson.M{"_id": 1}}}, nil,
			func(g *gateway) bool { return len(g.entry("x").Map.Shards()) > 2 }, false, false, nil},
		{"reshard", "admin", bson.D{{Key: "reshardCollection", Value: "test.x"}, {Key: "key", Value: bson.M{"k": 1}}, {Key: "numInitialChunks", Value: 2}}, nil,
			func(g *gateway) bool { return !g.entry("x").Key.IsID() }, false, false, nil},
		{"build", "test", bson.D{{Key: "createIndexes", Value: "x"}, {Key: "indexes", Value: bson.A{bson.M{"key": bson.M{"k": 1, "n": 1}, "name": "kn"}}}}, nil,
			func(g *gateway) bool { return hasIndex(g, "kn") }, false, false, nil},
		{"dropIndexes", "test", bson.D{{Key: "dropIndexes", Value: "x"}, {Key: "index", Value: "u_1"}}, []int{27},
			func(g *gateway) bool { return !hasIndex(g, "u_1") }, false, false, nil},
		{"drop", "test", bson.D{{Key: "drop", Value: "x"}}, []int{26}, func(g *gateway) bool { return g.entry("x") == nil }, false, false, nil},
		{"capped", "test", bson.D{{Key: "convertToCapped", Value: "x"}, {Key: "size", Value: 1 << 20}}, nil,
			func(g *gateway) bool { return g.entry("x").Options.Capped }, true, true, nil},
		{"unique", "test", bson.D{{Key: "collMod", Value: "x"}, {Key: "index", Value: bson.M{"name": "u_1", "unique": true}}}, nil,
			func(g *gateway) bool { return hasIndex(g, "u_1") && g.entry("x").Index("u_1").Unique }, true, false,
			bson.D{{Key: "collMod", Value: "x"}, {Key: "index", Value: bson.M{"name": "u_1", "prepareUnique": true}}}},
	}
}

// docs is the number of documents of the collection, enough for several transactions of a job.
const docs = 600

// prepare starts two servers and creates the collection.
func (c *change) prepare(t *testing.T) []*gateway {
	g := several(t, 2)
	if !c.plain {
		bsontest.Must(t, g[0].Database("admin").RunCommand(t.Context(), bson.D{{Key: "shardCollection", Value: "test.x"}, {Key: "key", Value: bson.M{"_id": "hashed"}}, {Key: "numInitialChunks", Value: 2}}).Err())
	}
	_, err := g[0].coll("x").Indexes().CreateMany(t.Context(), []mongo.IndexModel{{Keys: bson.M{"n": 1}}, {Keys: bson.M{"u": 1}}})
	bsontest.Must(t, err)
	list := make([]any, docs)
	for i := range list {
		list[i] = bson.M{"_id": i, "k": i % 7, "n": i, "u": i}
	}
	_, err = g[0].coll("x").InsertMany(t.Context(), list)
	bsontest.Must(t, err)
	if c.before != nil {
		bsontest.Must(t, g[0].Database(c.db).RunCommand(t.Context(), c.before).Err())
	}
	return g
}

// run makes the change at a server.
func (c *change) run(ctx context.Context, g *gateway) error {
	return g.Database(c.db).RunCommand(ctx, c.command).Err()
}

// TestEveryStep cuts a server off in the middle of a change, when it requests a timestamp of the cluster, as it does
// for each transaction. The other server goes on with the collection as it was or as it will be. As soon as the
// first server's lease has expired, the other server can complete the change. The first server sees the same state
// when it is back. A short run cuts once in each of two changes, a long one at every fourth timestamp, beginning at
// a random one.
func TestEveryStep(t *testing.T) {
	list, share := changes(), int64(4)
	if !testenv.IsLong() {
		rand.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		list, share = list[:2], 1<<20
	}
	for _, c := range list {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			g := c.prepare(t)
			begun := g[0].timestampRequests.Load()
			bsontest.Must(t, c.run(t.Context(), g[0]))
			total := g[0].timestampRequests.Load() - begun
			if !c.done(g[1]) {
				t.Error("the other gateway does not see what was acknowledged")
			}
			for _, one := range g {
				one.stop()
			}
			at := 1 + rand.Int64N(min(share, total))
			t.Logf("asks for %d times, and is cut off at %d, %d and so on", total, at, at+share)
			for ; at <= total; at += share {
				t.Run(fmt.Sprint(at), func(t *testing.T) { c.cutOff(t, at) })
			}
		})
	}
}

// cutOff makes the change at a server that is cut off in the middle.
func (c *change) cutOff(t *testing.T, after int64) {
	g := c.prepare(t)
	first, other := g[0], g[1]
	first.timestampLimit.Store(first.timestampRequests.Load() + after)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	told := make(chan error, 1)
	go func() { told <- c.run(ctx, first) }()
	eventually(t, "cut off", func() (any, bool) {
		return nil, len(told) > 0 || first.timestampRequests.Load() > first.timestampLimit.Load()
	})
	first.away.Store(true)
	// A writer waits for the lease to expire, and not longer.
	extra := bson.M{"_id": "extra", "k": 1, "n": docs, "u": docs}
	begun := time.Now()
	bsontest.Must(t, retryExpiredLease(func() error { return other.replace(t, "x", extra) }))
	t.Logf("written after %v", time.Since(begun))
	eventually(t, "the change, at the other gateway", func() (any, bool) {
		err := c.run(t.Context(), other)
		var e mongo.ServerError
		done := err == nil || errors.As(err, &e) && slices.ContainsFunc(c.again, e.HasErrorCode)
		return err, done
	})
	if !c.done(other) {
		t.Error("what was acknowledged is not so")
	}
	t.Logf("changed after %v", time.Since(begun))
	first.timestampLimit.Store(0)
	first.away.Store(false)
	wanted := docs + 1
	if other.entry("x") == nil {
		wanted = 0
	}
	for i, one := range g {
		eventually(t, "the same at both", func() (any, bool) {
			n, err := one.coll("x").CountDocuments(t.Context(), bson.M{})
			return fmt.Sprint(n, err), err == nil && int(n) == wanted && c.done(one)
		})
		if wanted == 0 {
			continue
		}
		if !c.bare {
			by := ids(t, one.coll("x"), bson.M{"n": bson.M{"$gte": 0}}, options.Find().SetHint(bson.M{"n": 1}))
			want(t, fmt.Sprint("documents by an index at ", i), len(by), wanted)
		}
		doc, err := one.Database("test").RunCommand(t.Context(), bson.D{{Key: "validate", Value: "x"}}).Raw()
		bsontest.Must(t, err)
		if !doc.Lookup("valid").Boolean() {
			t.Errorf("at %d: %s", i, doc)
		}
	}
	cancel()
	t.Logf("who asked was told %v, after %v", <-told, time.Since(begun))
}
