package inprocess

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
	wrote map[any]span // and not deleted
	gone  map[any]bool // deleted
}

// span is when a document was sent and acknowledged, and what it then had as n; -1 if nobody knows.
type span struct {
	sent, done time.Duration
	n          int
}

// accountOf begins an account, with the steps of the jobs of all gateways.
func accountOf(g []*gateway) *account {
	now := g[0].d.Jobs().Store.Latest()
	a := &account{g: g, since: time.Now(), first: bson.Timestamp{T: uint32(now >> 32), I: uint32(now)}, wrote: map[any]span{}, gone: map[any]bool{}}
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

// write inserts the n-th document of a gateway there, changes some of them and deletes others, and
// notes what is acknowledged.
func (a *account) write(ctx context.Context, at, n int) {
	x, id, sent := a.g[at].coll("x"), fmt.Sprintf("%d-%d", at, n), time.Since(a.since)
	if _, err := x.InsertOne(ctx, bson.M{"_id": id, "k": n % 17, "n": n}); err != nil {
		return // a lease can also be over because the machine has too much to do
	}
	a.note(id, span{sent, time.Since(a.since), n})
	other := a.g[(at+n/3)%len(a.g)].coll("x")
	switch n % 3 {
	case 1:
		a.note(id, span{sent, time.Since(a.since), -1})
		if r, err := other.UpdateOne(ctx, bson.M{"_id": id}, bson.M{"$inc": bson.M{"n": 1_000_000}}); err == nil {
			if r.MatchedCount != 1 {
				a.step("%s was not found for its update", id)
				return
			}
			a.note(id, span{sent, time.Since(a.since), n + 1_000_000})
		}
	case 2:
		a.mu.Lock()
		delete(a.wrote, id)
		a.mu.Unlock()
		if r, err := other.DeleteOne(ctx, bson.M{"_id": id}); err == nil && r.DeletedCount == 1 {
			a.mu.Lock()
			a.gone[id] = true
			a.mu.Unlock()
		} else if err == nil {
			a.note(id, span{sent, time.Since(a.since), n}) // it cannot be missing
		}
	}
}

// note notes what a document is.
func (a *account) note(id any, s span) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.wrote[id] = s
}

// wrong are the documents of a scan that are there although they were deleted, or not as they were left.
func (a *account) wrong(scan []bson.M) (list []any) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, d := range scan {
		was, ok := a.wrote[d["_id"]]
		if a.gone[d["_id"]] || ok && was.n >= 0 && fmt.Sprint(was.n) != fmt.Sprint(d["n"]) {
			list = append(list, d)
		}
	}
	return list
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
