package driver

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/compat-tests/rig/harness"
	"github.com/cantledb/cantle/compat-tests/rig/receipts"
)

// TestLedger checks that the ledger equals the sum of the charges in the replies to several clients, for each kind of row
// and each client, also after a restart, and in the copy that $merge has made, and its dump.
func TestLedger(t *testing.T) {
	data := t.TempDir()
	args := []string{"--reply-charge"}
	s := harness.Start(t, harness.Options{Data: data, Args: args})
	bsontest.Must(t, s.Client(t).Database("admin").RunCommand(t.Context(), bson.D{{Key: "shardCollection", Value: "test.orders"}, {Key: "key", Value: bson.M{"tenant": 1}}}).Err())
	_, before, err := receipts.Ledger(t.Context(), s.Client(t))
	bsontest.Must(t, err)
	var clients sync.WaitGroup
	all := make([]receipts.Receipts, 4)
	for i := range all {
		load := receipts.Load{DB: s.Client(t, all[i].Options(fmt.Sprint("app", i))).Database("test"), Client: i, Random: rand.New(rand.NewPCG(uint64(i), 7))}
		clients.Go(func() {
			if err := load.Run(t.Context(), 150); err != nil {
				t.Error(err)
			}
		})
	}
	clients.Wait()
	check := func(when string) {
		t.Helper()
		byKind, byApp, err := receipts.Ledger(t.Context(), s.Client(t))
		bsontest.Must(t, err)
		if wrong := receipts.Uneven(byKind); wrong != "" || byKind["user"] == (receipts.Amount{}) {
			t.Errorf("%s: %s: %v", when, wrong, byKind)
		}
		for i := range all {
			hundredths, replies := all[i].Sum()
			if got := byApp[fmt.Sprint("app", i)]; got.Hundredths != hundredths || got.Commands != replies || hundredths < 10_000 {
				t.Errorf("%s: the ledger of client %d has %v, its receipts are %d in %d replies", when, i, got, hundredths, replies)
			}
		}
	}
	if len(before) > 1 {
		t.Errorf("at the start the ledger has %v", before)
	}
	check("after the load")
	bsontest.Must(t, s.Stop())
	s = harness.Start(t, harness.Options{Data: data, Args: args})
	check("after a restart")

	c := s.Client(t)
	cur, err := c.Database("config").Collection("requestUnits").Aggregate(t.Context(), bson.A{bson.M{"$match": bson.M{"by": "application", "name": bson.M{"$regex": "^app"}}},
		bson.M{"$merge": bson.M{"into": bson.M{"db": "billing", "coll": "hours"}}}})
	bsontest.Must(t, err)
	bsontest.Must(t, cur.Close(t.Context()))
	var copied []struct {
		Name       string
		Hundredths int64
	}
	cur, err = c.Database("billing").Collection("hours").Find(t.Context(), bson.M{})
	bsontest.Must(t, err)
	bsontest.Must(t, cur.All(t.Context(), &copied))
	sums := map[string]int64{}
	for _, r := range copied {
		sums[r.Name] += r.Hundredths
	}
	for i := range all {
		if hundredths, _ := all[i].Sum(); sums[fmt.Sprint("app", i)] != hundredths {
			t.Errorf("the copy of client %d has %d, its receipts are %d", i, sums[fmt.Sprint("app", i)], hundredths)
		}
	}
}
