package processes

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/cantledb/cantle/compat-tests/rig/harness"
)

// TestBalanced gives a client one address, of a load balancer that distributes connections over the servers: many
// concurrent cursors and transactions complete, and all servers get work. Then one server is taken out of the
// rotation and ends. Every operation that drivers retry succeeds; others are done, refused with ShutdownInProgress,
// or not sent, but never cut off.
func TestBalanced(t *testing.T) {
	_, place := cluster(t)
	first, second := mustLaunch(t, place), mustLaunch(t, place)
	balancer := harness.Balance(t, first.Addr, second.Addr)
	var mu sync.Mutex
	seen := map[bson.ObjectID]int{} // commands by server
	client, err := mongo.Connect(options.Client().ApplyURI(balancer.URI()).SetMonitor(&event.CommandMonitor{
		Succeeded: func(_ context.Context, e *event.CommandSucceededEvent) {
			mu.Lock()
			defer mu.Unlock()
			if e.ServiceID == nil {
				t.Errorf("%s was done by nobody", e.CommandName)
				return
			}
			seen[*e.ServiceID]++
		},
	}))
	if err != nil {
		t.Fatal(err)
	}
	defer harness.Disconnect(client)
	coll := client.Database("test").Collection("c")
	const docs, workers = 300, 6
	padded(t, coll, docs)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var wg sync.WaitGroup
	var rounds atomic.Int64
	counts := make([]count, workers)
	once := make([]struct{ done, refused int64 }, workers) // writes without retries
	for w := range workers {
		wg.Go(func() { counts[w] = increment(ctx, t, coll, w) })
		wg.Go(func() {
			for ctx.Err() == nil {
				if err := readAndWrite(t.Context(), coll, fmt.Sprint("txn ", w), docs); err != nil {
					t.Errorf("worker %d: %v", w, err)
					return
				}
				rounds.Add(1)
			}
		})
		wg.Go(func() {
			id, n := fmt.Sprint("once ", w), &once[w]
			if _, err := coll.InsertOne(t.Context(), bson.M{"_id": id, "n": 0}); err != nil {
				t.Error(err)
				return
			}
			for ctx.Err() == nil {
				_, err := coll.UpdateMany(t.Context(), bson.M{"_id": id}, bson.M{"$inc": bson.M{"n": 1}})
				switch {
				case err == nil:
					n.done++
				case hasCode(err, 91) || cleared(err):
					n.refused++
				default:
					t.Errorf("a write that is not retried: %v", err)
					return
				}
			}
		})
	}
	events := follow(t, coll, 0)
	wait(t.Context(), time.Second)
	mu.Lock()
	t.Logf("commands by server: %v", seen)
	if len(seen) != 2 {
		t.Error("not every server has work")
	}
	mu.Unlock()
	balancer.Leave(first.Addr)
	begun := time.Now()
	if err := first.Stop(); err != nil {
		t.Error(err)
	}
	t.Logf("one ended after %v", time.Since(begun))
	wait(t.Context(), 500*time.Millisecond)
	cancel()
	wg.Wait()
	for w, c := range counts {
		if c.unknown != 0 || c.acknowledged == 0 {
			t.Errorf("writer %d: %d increments, and %d undetermined", w, c.acknowledged, c.unknown)
		}
	}
	var done, refused int64
	for w, n := range once {
		var doc struct{ N int64 }
		if err := coll.FindOne(t.Context(), bson.M{"_id": fmt.Sprint("once ", w)}).Decode(&doc); err != nil || doc.N != n.done {
			t.Errorf("%d times done by its answers, %d by the document: %v", n.done, doc.N, err)
		}
		done, refused = done+n.done, refused+n.refused
	}
	t.Logf("%d rounds of a cursor and a transaction; of writes that are not retried %d were done and %d refused", rounds.Load(), done, refused)
	if refused > 2*workers {
		t.Errorf("%d writes were refused to %d workers", refused, workers)
	}
	if _, err := coll.DeleteOne(t.Context(), bson.M{"_id": 0}); err != nil {
		t.Fatal(err)
	}
	if last := <-events; last != counts[0].acknowledged {
		t.Errorf("the stream saw %d of %d", last, counts[0].acknowledged)
	}
	if err := second.Stop(); err != nil {
		t.Error(err)
	}
}

// readAndWrite reads docs documents in batches, then in a transaction reads them again and updates one.
func readAndWrite(ctx context.Context, coll *mongo.Collection, id string, docs int) error {
	all := func(ctx context.Context) error {
		return readPads(ctx, coll, docs, options.Find().SetBatchSize(int32(docs/3)))
	}
	if err := sent(func() error { return all(ctx) }); err != nil {
		return err
	}
	return coll.Database().Client().UseSession(ctx, func(ctx context.Context) error {
		_, err := mongo.SessionFromContext(ctx).WithTransaction(ctx, func(ctx context.Context) (any, error) {
			if err := all(ctx); err != nil {
				return nil, err
			}
			return coll.UpdateOne(ctx, bson.M{"_id": id}, bson.M{"$inc": bson.M{"n": 1}}, options.UpdateOne().SetUpsert(true))
		})
		return err
	})
}

// hasCode reports whether an error is a server's error with this code.
func hasCode(err error, code int) bool {
	var e mongo.ServerError
	return errors.As(err, &e) && e.HasErrorCode(code)
}
