package inprocess

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/storage"
)

// budgetRU is the budget of a collection in these tests, in RU per second.
const budgetRU = 400

// spent sums the charges of the acknowledged inserts at some servers; each insert counts as insertMicro.
type spent struct{ micro atomic.Int64 }

// overload inserts at a server as fast as it admits until ctx ends.
func (s *spent) overload(ctx context.Context, g *gateway, coll string) {
	doc := costly()
	for ctx.Err() == nil {
		if _, err := g.coll(coll).InsertOne(ctx, doc); err != nil {
			time.Sleep(10 * time.Millisecond)
			continue
		}
		s.micro.Add(insertMicro)
	}
}

// insertMicro is the charge for one of the inserts of overload, in millionths of an RU: 5 RU for the first KB, 5/11 for
// each further one, and one index entry. It is so large that a slow machine exceeds the budget, too.
const insertMicro = 30_370_000

// costly returns a document of 56 KB.
func costly() bson.M { return bson.M{"pad": make([]byte, 56<<10-100)} }

// budgeted creates a collection with a budget at a server, and checks the charge for an insert.
func budgeted(t *testing.T, g *gateway, name string) {
	t.Helper()
	bsontest.Must(t, g.Database("test").RunCommand(t.Context(), bson.D{{Key: "customAction", Value: "CreateCollection"},
		{Key: "collection", Value: name}, {Key: "offerThroughput", Value: budgetRU}}).Err())
	var reply struct{ RequestCharge float64 }
	bsontest.Must(t, g.Database("test").RunCommand(t.Context(), bson.D{{Key: "insert", Value: name}, {Key: "documents", Value: bson.A{costly()}},
		{Key: "comment", Value: bson.M{"requestCharge": true}}}).Decode(&reply))
	if reply.RequestCharge*1e6 != insertMicro {
		t.Fatalf("an insert costs %v RU", reply.RequestCharge)
	}
}

// now returns the current time of the store.
func now(t *testing.T, g *gateway) time.Duration {
	t.Helper()
	ts, err := g.d.Jobs().Store.Now(t.Context())
	bsontest.Must(t, err)
	return duration(ts)
}

func duration(ts storage.Timestamp) time.Duration {
	return time.Duration(ts.Seconds())*time.Second + time.Duration(ts.Increment()>>22)*time.Millisecond
}

// TestOneBudget checks that one, two or three overloaded servers together admit hardly more than the budget.
func TestOneBudget(t *testing.T) {
	for n := 1; n <= 3; n++ {
		t.Run(string(rune('0'+n)), func(t *testing.T) {
			g := several(t, n)
			budgeted(t, g[0], "x")
			ctx, cancel := context.WithCancel(t.Context())
			var s spent
			var wg sync.WaitGroup
			for _, one := range g {
				quiet := connect(t, one.URI+"?retryWrites=false")
				for range 3 {
					wg.Go(func() { s.overload(ctx, &gateway{Client: quiet}, "x") })
				}
			}
			time.Sleep(3 * time.Second) // until the shares are stable
			from, before := now(t, g[0]), s.micro.Load()
			time.Sleep(6 * time.Second)
			took, got := now(t, g[0])-from, s.micro.Load()-before
			cancel()
			wg.Wait()
			// The measured time may include the seconds in which shares were granted at both ends, and a
			// second's debts; nothing else explains an excess.
			most := float64(took/time.Second+2) * budgetRU
			if rus := float64(got) / 1e6; rus > most {
				t.Errorf("%d gateways admitted %.0f RU in %v, at most %.0f", n, rus, took, most)
			} else {
				t.Logf("%d gateways admitted %.0f RU in %v", n, rus, took)
			}
		})
	}
}

// TestBudgetReturns checks that the budget share of a server that is cut off goes to the other one, and comes
// back.
func TestBudgetReturns(t *testing.T) {
	g := several(t, 2)
	budgeted(t, g[0], "x")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var a, b spent
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	wg.Go(func() { a.overload(ctx, g[0], "x") })
	wg.Go(func() { b.overload(ctx, g[1], "x") })
	await := func(what string, ok func() bool) {
		t.Helper()
		for until := time.Now().Add(2 * time.Minute); !ok(); time.Sleep(200 * time.Millisecond) {
			if time.Now().After(until) {
				t.Fatal(what)
			}
		}
	}
	// perSecond returns the RU per second that a server admits in the next second and a half.
	perSecond := func(s *spent) float64 {
		before, from := s.micro.Load(), time.Now()
		time.Sleep(1500 * time.Millisecond)
		return float64(s.micro.Load()-before) / 1e6 / time.Since(from).Seconds()
	}
	await("the first gateway has not got a share beside the other", func() bool { r := perSecond(&a); return r > budgetRU/10 && r < budgetRU*3/4 })
	g[1].away.Store(true)
	await("the share of the gateway that was cut off has not come back", func() bool { return perSecond(&a) > budgetRU*4/5 })
	g[1].away.Store(false)
	await("the gateway that is back has got nothing", func() bool { return perSecond(&b) > budgetRU/10 })
}

// TestBudgetAlone checks that a server no longer divides its budgets after its only peer has stopped.
func TestBudgetAlone(t *testing.T) {
	g := several(t, 2)
	budgeted(t, g[0], "x")
	budgets := g[0].d.Jobs().Budgets
	if n := budgets.Servers(); n != 2 {
		t.Fatalf("the first gateway divides by %d", n)
	}
	g[1].stop()
	for until := time.Now().Add(2 * time.Minute); budgets.Servers() != 1; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatal("the first gateway still divides its budgets")
		}
	}
	_, err := g[0].coll("x").InsertOne(t.Context(), bson.M{"a": 1}, options.InsertOne())
	bsontest.Must(t, err)
}
