package crash

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/cantledb/cantle/compat-tests/faults/programme"
	"github.com/cantledb/cantle/compat-tests/rig/harness"
	"github.com/cantledb/cantle/compat-tests/rig/receipts"
	"github.com/cantledb/cantle/internal/testenv"
)

const (
	billedClients = 6
	// unwrittenMax is the age of a charge at which the ledger must have written it: three times the usual.
	unwrittenMax = 6 * time.Second
)

// billedClient is a client with one connection, so that its charges are counted in the order of its receipts.
type billedClient struct {
	receipts.Receipts
	counted receipts.Amount // its sum in the ledger at the start of the server
}

// TestLedgerThroughKills checks that kills lose only the charges of the last seconds from the ledger: after each kill, the
// ledger has counted for each client exactly the charges in its first replies, and the replies after these are younger
// than unwrittenMax. What was lost, and the charge of a command that was executed without a reply, are counted apart. After a stop,
// nothing is missing.
func TestLedgerThroughKills(t *testing.T) {
	testenv.SkipWithURI(t)
	random, dir := begin(t)
	lives := max(programme.Amount(t, "kill")/20, 1)
	clients := make([]billedClient, billedClients)
	var charged, lost, unanswered int64 // hundredths of a request unit
	kills := 0
	programme.RecordAtEnd(t, "kill", 0, func() (int, string) {
		return kills, fmt.Sprintf("%d while charges were summed by hour: %.2f RU in receipts, %.2f of them lost with the last seconds, %.2f without a receipt, %s",
			kills, float64(charged)/100, float64(lost)/100, float64(unanswered)/100, programme.None(t, "missing"))
	})
	var until time.Time
	for life := range lives + 2 {
		server, err := harness.Launch(harness.Options{Data: dir, Args: []string{"--reply-charge"}})
		if err != nil {
			t.Fatalf("life %d: %v", life, err)
		}
		e, end := begun(t, server)
		if life == 0 {
			if err := e.client.Database("admin").RunCommand(e.ctx, bson.D{{Key: "shardCollection", Value: "crash.orders"}, {Key: "key", Value: bson.D{{Key: "tenant", Value: 1}}}}).Err(); err != nil {
				t.Fatal(err)
			}
		} else {
			now := ledgerOf(t, e)
			for i := range clients {
				c, l, u, err := clients[i].judge(now[fmt.Sprint("app", i)], until, life > lives)
				if err != nil {
					t.Errorf("life %d, client %d: %v", life-1, i, err)
				}
				charged, lost, unanswered = charged+c, lost+l, unanswered+u
			}
		}
		if t.Failed() || life > lives {
			end()
			server.Kill()
			break
		}
		var group sync.WaitGroup
		var stopping atomic.Bool
		for i := range clients {
			group.Go(func() { clients[i].run(t, e, &stopping, server.URI, i, life) })
		}
		time.Sleep(time.Second + time.Duration(random.Int64N(int64(9*time.Second))))
		until = time.Now()
		if life < lives {
			server.Kill()
			kills++
			end()
			group.Wait()
		} else {
			stopping.Store(true)
			group.Wait()
			end()
			if err := server.Stop(); err != nil {
				t.Fatal(err)
			}
		}
		if mark := server.Trouble(); mark != nil {
			t.Fatalf("life %d: %v\n%s", life, mark, server.Log())
		}
	}
	t.Logf("%d kills: receipts %d, lost %d, without a receipt %d hundredths of a RU", kills, charged, lost, unanswered)
	if charged-lost < 100_000 {
		t.Errorf("only %d hundredths of a RU were counted", charged-lost)
	}
}

// judge compares what the ledger has counted since the last start with the receipts of that time, which ended at a kill or
// a stop. It returns the sum of the receipts, of those that were lost, and of what was counted without a receipt.
func (c *billedClient) judge(now receipts.Amount, until time.Time, stopped bool) (charged, lost, unanswered int64, err error) {
	replies, errs := c.Take()
	n, diff := int(now.Commands-c.counted.Commands), now.Hundredths-c.counted.Hundredths
	c.counted = now
	if n < 0 || n > len(replies)+1 || n == len(replies)+1 && errs == 0 || stopped && n != len(replies) {
		return 0, 0, 0, fmt.Errorf("the ledger has counted %d commands, there are %d receipts", n, len(replies))
	}
	for i, r := range replies {
		charged += r.Hundredths
		if i < n {
			diff -= r.Hundredths
			continue
		}
		lost += r.Hundredths
		if age := until.Sub(r.At); age > unwrittenMax {
			err = fmt.Errorf("a charge was lost %s after its reply", age)
		}
	}
	if n > len(replies) && diff > 0 {
		return charged, lost, diff, err
	}
	if diff != 0 {
		err = fmt.Errorf("the ledger differs by %d from the first %d of %d receipts", diff, n, len(replies))
	}
	return charged, lost, 0, err
}

// run sends the load of a client until the era ends, or stopping is set.
func (c *billedClient) run(t *testing.T, e *era, stopping *atomic.Bool, uri string, number, life int) {
	client, err := harness.Connect(uri, options.Client().SetServerSelectionTimeout(2*time.Second).SetMaxPoolSize(1), c.Options(fmt.Sprint("app", number)))
	if err != nil {
		t.Error(err)
		return
	}
	defer e.last(func(ctx context.Context) { _ = client.Disconnect(ctx) })
	load := receipts.Load{DB: client.Database("crash"), Client: life*100 + number, Random: rand.New(rand.NewPCG(uint64(life), uint64(number)))}
	for e.ctx.Err() == nil && !stopping.Load() {
		if err := ended(e, load.Step(e.ctx)); err != nil {
			t.Errorf("life %d, client %d: %v", life, number, err)
			return
		}
	}
}

// ledgerOf returns the sums of the ledger by application, and checks that its kinds of rows have the same sum.
func ledgerOf(t *testing.T, e *era) map[string]receipts.Amount {
	byKind, byApp, err := receipts.Ledger(e.ctx, e.client)
	if err != nil {
		t.Fatal(err)
	}
	if wrong := receipts.Uneven(byKind); wrong != "" {
		t.Error(wrong)
	}
	return byApp
}
