package gateways

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// account is what happened while several gateways wrote to a collection whose structure changed,
// all by the one clock of the test: it is told when a document is missing.
type account struct {
	g     []*gateway
	since time.Time
	first bson.Timestamp // of the cluster, before the first write

	mu    sync.Mutex
	steps []string
	wrote map[any]span
}

// span is when a document was sent and acknowledged.
type span struct{ sent, done time.Duration }

// accountOf begins an account, with the steps of the jobs of all gateways.
func accountOf(g []*gateway) *account {
	now := g[0].d.Jobs().Store.Latest()
	a := &account{g: g, since: time.Now(), first: bson.Timestamp{T: uint32(now >> 32), I: uint32(now)}, wrote: map[any]span{}}
	for i := range g {
		jobs := g[i].d.Jobs()
		jobs.OnStep(func(at string) {
			if at != "copying" && at != "moving" {
				now := jobs.Store.Latest()
				a.step("gateway %d: %s, the newest time is %d.%d", i, at, now>>32, uint32(now))
			}
		})
	}
	return a
}

// step notes that something has happened.
func (a *account) step(format string, args ...any) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.steps = append(a.steps, fmt.Sprintf("%8v ", time.Since(a.since).Round(time.Millisecond))+fmt.Sprintf(format, args...))
}

// write inserts a document at a gateway and notes when, if it is acknowledged.
func (a *account) write(ctx context.Context, at int, doc bson.M) {
	sent := time.Since(a.since)
	if _, err := a.g[at].coll("x").InsertOne(ctx, doc); err != nil {
		return // a lease can also be over because the machine has too much to do
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.wrote[doc["_id"]] = span{sent, time.Since(a.since)}
}

// missing is what was acknowledged and is not among those that a scan has found.
func (a *account) missing(scan []any) []any {
	a.mu.Lock()
	defer a.mu.Unlock()
	all := maps.Clone(a.wrote)
	for _, id := range scan {
		delete(all, id)
	}
	return slices.Collect(maps.Keys(all))
}

// tell prints what is known of documents that are missing: when they were written, when the change
// log says that they were, and what the jobs did.
func (a *account) tell(t *testing.T, ids []any) {
	t.Helper()
	if len(ids) == 0 {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, id := range ids {
		t.Logf("%v was sent at %v and acknowledged at %v", id, a.wrote[id].sent, a.wrote[id].done)
	}
	for _, line := range a.steps {
		t.Log(line)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	mine := mongo.Pipeline{{{Key: "$match", Value: bson.M{"documentKey._id": bson.M{"$in": ids}}}}}
	s, err := a.g[0].Database("test").Watch(ctx, mine, options.ChangeStream().SetStartAtOperationTime(&a.first))
	if err != nil {
		t.Log("the change log: ", err)
		return
	}
	defer s.Close(ctx)
	for range ids {
		if !s.Next(ctx) {
			t.Log("no more in the change log: ", s.Err())
			return
		}
		t.Logf("the change log: %s", s.Current)
	}
}
