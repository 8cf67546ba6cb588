package gateway

import (
	"context"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/cantledb/cantle/compat-tests/tikvfake"
)

// In a cluster in which everything goes wrong now and then, writers get on, what was acknowledged is
// there, and nothing is done twice. It fails if what is usual has not gone wrong: then the suites that
// run with CANTLE_STORAGE=tikv-faults do not meet it either.
func TestTrouble(t *testing.T) {
	const writers = 6
	c, err := tikvfake.NewOf(3)
	if err != nil {
		t.Fatal(err)
	}
	at, stop, err := c.Serve("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(); c.Close() })
	s := mustLaunch(t, "tikv://"+at+"/gateway")
	met, end := c.Trouble(1)
	coll := connect(t, s.URI).Database("test").Collection("counters")
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
	defer cancel()
	var wg sync.WaitGroup
	counts := make([]count, writers)
	for w := range writers {
		wg.Go(func() { counts[w] = increment(ctx, t, coll, w) })
	}
	wg.Wait()
	end()
	all, unknown, slowest := int64(0), int64(0), time.Duration(0)
	for w := range writers {
		var doc struct{ N int64 }
		if err := coll.FindOne(t.Context(), bson.M{"_id": w}).Decode(&doc); err != nil || doc.N != counts[w].acknowledged {
			t.Errorf("document %d has %d, %d were acknowledged, %v", w, doc.N, counts[w].acknowledged, err)
		}
		all, unknown, slowest = all+doc.N, unknown+counts[w].unknown, max(slowest, counts[w].slowest)
	}
	t.Logf("%d increments, %d errors, slowest success %v; %v", all, unknown, slowest, met)
	each := met.Each()
	for _, what := range []string{tikvfake.Stalls, tikvfake.Stale, tikvfake.Gone, tikvfake.CutBefore, tikvfake.CutAfter,
		tikvfake.LeaderMoves, tikvfake.Splits, tikvfake.StoresDown, tikvfake.OracleAway} {
		if each[what] == 0 {
			t.Errorf("there were no %s", what)
		}
	}
	if err := s.Stop(); err != nil {
		t.Error(err)
	}
}
