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

// account records the writes to a collection whose structure changes, and the steps of the jobs, from several
// servers on one clock. A failed test prints the record of a missing document.
type account struct {
	g     []*gateway
	since time.Time
	first bson.Timestamp // the cluster time before the first write

	mu    sync.Mutex
	steps []string
	wrote map[any]span // by _id, without deleted documents
	gone  map[any]bool // deleted
}

// span holds the times at which a write was sent and acknowledged, and the n that the document then had; -1
// if the outcome is undetermined.
type span struct {
	sent, done time.Duration
	n          int
}

// accountOf begins an account, which also records the steps of the jobs of all servers, but not copying and moving.
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

// step records an event.
func (a *account) step(format string, args ...any) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.steps = append(a.steps, fmt.Sprintf("%8v ", time.Since(a.since).Round(time.Millisecond))+fmt.Sprintf(format, args...))
}

// write inserts the n-th document of a server, then updates it if n%3 is 1 and deletes it if n%3 is 2, and records
// what is acknowledged.
func (a *account) write(ctx context.Context, at, n int) {
	x, id, sent := a.g[at].coll("x"), fmt.Sprintf("%d-%d", at, n), time.Since(a.since)
	if _, err := x.InsertOne(ctx, bson.M{"_id": id, "k": n % 17, "n": n}); err != nil {
		return // the lease can also expire because the machine is overloaded
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
			a.note(id, span{sent, time.Since(a.since), n}) // the delete has not found it, though it must be there
		}
	}
}

// note records the last write of a document.
func (a *account) note(id any, s span) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.wrote[id] = s
}

// wrong returns the documents of a scan that should have been deleted or that differ from their last write.
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

// missing returns the acknowledged documents that a scan has not found.
func (a *account) missing(scan []any) []any {
	a.mu.Lock()
	defer a.mu.Unlock()
	all := maps.Clone(a.wrote)
	for _, id := range scan {
		delete(all, id)
	}
	return slices.Collect(maps.Keys(all))
}

// logMissing logs the record of missing documents: the times of their writes, the entries of the change log, and the
// steps of the jobs.
func (a *account) logMissing(t *testing.T, ids []any) {
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
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
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
