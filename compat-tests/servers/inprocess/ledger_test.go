package inprocess

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/compat-tests/rig/receipts"
)

// TestLedger checks that config.requestUnits at every server equals the sum of the charges in the replies of all servers, for each
// kind of row, while all of them run, after one has stopped, and after all have been replaced.
func TestLedger(t *testing.T) {
	const steps = 40
	args := []string{"--reply-charge"}
	g := several(t, 3, args...)
	waitListed(t, g...)
	bsontest.Must(t, g[0].Database("admin").RunCommand(t.Context(), bson.D{{Key: "shardCollection", Value: "test.orders"}, {Key: "key", Value: bson.D{{Key: "tenant", Value: 1}}}}).Err())
	all := make([]receipts.Receipts, 0, 12)
	load := func(servers ...*gateway) {
		t.Helper()
		var clients sync.WaitGroup
		for _, one := range servers {
			for range 2 {
				i := len(all)
				all = all[:i+1]
				l := receipts.Load{DB: connect(t, one.URI, all[i].Options(fmt.Sprint("app", i))).Database("test"), Client: i, Random: rand.New(rand.NewPCG(uint64(i), 7))}
				clients.Go(func() {
					if err := l.Run(t.Context(), steps); err != nil {
						t.Error(err)
					}
				})
			}
		}
		clients.Wait()
	}
	// mistake returns the first difference between the ledger at a server and the receipts.
	mistake := func(at *gateway) string {
		t.Helper()
		byKind, byApp, err := receipts.Ledger(t.Context(), at.Client)
		bsontest.Must(t, err)
		if wrong := receipts.Uneven(byKind); wrong != "" {
			return wrong
		}
		for i := range all {
			hundredths, replies := all[i].Sum()
			if got := byApp[fmt.Sprint("app", i)]; got.Hundredths != hundredths || got.Commands != replies || replies < steps {
				return fmt.Sprintf("the ledger of client %d has %v, its receipts are %d in %d replies", i, got, hundredths, replies)
			}
		}
		return ""
	}
	check := func(when string, servers ...*gateway) {
		t.Helper()
		for i, one := range servers {
			wrong := mistake(one)
			for until := time.Now().Add(30 * time.Second); wrong != "" && time.Now().Before(until); wrong = mistake(one) {
				time.Sleep(100 * time.Millisecond) // peers write every two seconds
			}
			if wrong != "" {
				t.Errorf("%s, server %d: %s", when, i, wrong)
			}
		}
	}
	load(g...)
	check("while all run", g...)
	load(g[0])
	g[0].stop()
	if wrong := mistake(g[1]); wrong != "" {
		t.Errorf("after a stop: %s", wrong)
	}
	h := startLike(t, g[1], args...)
	load(h)
	g[1].stop()
	g[2].stop()
	check("after all were replaced", h)
}
