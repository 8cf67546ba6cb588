package processes

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/cantledb/cantle/compat-tests/faults/programme"
	"github.com/cantledb/cantle/compat-tests/rig/harness"
	"github.com/cantledb/cantle/internal/testenv"
	"github.com/cantledb/cantle/storage/tikvkv/tikvfake"
)

// Parameters of the chaos test.
const (
	chaosServers = 3
	// chaosRound is the duration of a round's load; the longer it is, the more time the checkers take.
	chaosRound = 22 * time.Second
	// chaosCalm is the time without faults at the end of a long run, which shows how soon latencies recover.
	chaosCalm = 8 * time.Second
	// clientTimeout is the timeout of a client: longer than a server is suspended.
	clientTimeout = 12 * time.Second
	// silenceMax bounds the time in which no write of any client succeeds.
	silenceMax = 60 * time.Second
)

// chaos is one round, with clients, faults and structure changes at the same time, and their records.
type chaos struct {
	*testing.T
	cluster   *tikvfake.Cluster
	place     string
	addresses []string
	seed      uint64
	db        *mongo.Database // of a client with the addresses of all servers
	began     time.Time

	mu      sync.Mutex
	servers []*harness.Server
	struck  map[string]int // counts of faults and of structure changes
	blows   []blow
	refused map[string]int // counts of clients' errors, by code
	took    [][]time.Duration
	last    time.Time     // of the last successful write
	silence time.Duration // the longest time without a successful write
}

// blow is a fault with its begin and end.
type blow struct {
	what        string
	begun, over time.Duration
}

// chaosSeed returns CANTLE_SEED or a random seed.
func chaosSeed(t *testing.T) uint64 {
	if seed, ok := testenv.Seed(t); ok {
		return seed
	}
	return rand.Uint64N(1 << 32)
}

// chaosTime returns the time for which rounds are repeated: ten minutes in a long run, otherwise 0 (one round).
func chaosTime() time.Duration {
	if testenv.IsLong() {
		return 10 * time.Minute
	}
	return 0
}

// TestChaos runs three servers over a cluster of three TiKV nodes, and a client with the addresses of all. Servers
// are killed, and suspended for longer than their lease, the cluster has all its faults, or PD is unavailable, while
// the structure of collections changes (reshape). The checks: the bank's total is the same in any snapshot; lists
// and registers satisfy snapshot isolation; a change stream that is resumed at any server has each event once and in
// order; all acknowledged writes are there, by each index and at each server. CANTLE_SEED determines the faults, but
// not which operations they hit.
func TestChaos(t *testing.T) {
	cluster, err := tikvfake.NewOf(3)
	if err != nil {
		t.Fatal(err)
	}
	at, stop, err := cluster.Serve("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(); cluster.Close() })
	c := &chaos{T: t, cluster: cluster, place: "tikv://" + at + "/chaos", struck: map[string]int{}, refused: map[string]int{}, seed: chaosSeed(t)}
	for range chaosServers {
		c.addresses = append(c.addresses, freePort(t))
	}
	for _, a := range c.addresses {
		c.servers = append(c.servers, mustLaunch(t, c.place, "--listen", a))
	}
	t.Cleanup(func() {
		for _, s := range c.servers {
			s.Kill()
		}
	})
	client, err := mongo.Connect(options.Client().ApplyURI("mongodb://" + strings.Join(c.addresses, ",") + "/").
		SetServerSelectionTimeout(clientTimeout).SetHeartbeatInterval(500 * time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { harness.Disconnect(client) })
	docs, events, first := 0, 0, c.seed
	programme.RecordAtEnd(t, "gateway", first, func() (int, string) {
		return c.struck["kill"], fmt.Sprintf("%s; %d documents acknowledged, %d events; the longest time without a write %v", tallied(c.struck), docs, events, c.silence.Round(time.Millisecond))
	})
	for round, begun := 0, time.Now(); round == 0 || time.Since(begun) < chaosTime() && !t.Failed(); round++ {
		c.db = client.Database(fmt.Sprintf("chaos%d", round))
		d, e := c.round()
		docs, events = docs+d, events+e
		t.Logf("CANTLE_SEED=%d: %s; clients met %s", c.seed, tallied(c.struck), tallied(c.refused))
		c.seed++
	}
	for _, s := range c.servers {
		if err := s.Stop(); err != nil {
			t.Errorf("stopping a server: %v\n%s", err, s.Log())
		}
	}
}

// round runs one round; it returns the number of acknowledged documents and of events read.
func (c *chaos) round() (docs, events int) {
	c.began, c.blows, c.took, c.last = time.Now(), nil, nil, time.Now()
	bank, lists, registers, log := c.newBank(), &listClients{chaos: c}, &registerClients{chaos: c}, c.newInserts()
	striking, cancel := context.WithTimeout(c.Context(), chaosRound)
	defer cancel()
	ctx, cancel := context.WithCancel(c.Context())
	defer cancel()
	var wg, blows sync.WaitGroup
	work := func(n int, do func(ctx context.Context, r *rand.Rand, who int)) {
		for who := range n {
			r := rand.New(rand.NewPCG(c.seed, rand.Uint64()))
			wg.Go(func() {
				for ctx.Err() == nil {
					do(context.WithoutCancel(ctx), r, who)
				}
			})
		}
	}
	work(2, bank.transfer)
	work(1, bank.look)
	work(2, lists.transact)
	work(2, registers.transact)
	work(3, log.insert)
	work(1, log.follow)
	blows.Go(func() { c.strike(striking) })
	wg.Go(func() { c.reshape(ctx) })
	blows.Wait()
	if chaosTime() > 0 {
		wait(ctx, chaosCalm)
	}
	cancel()
	wg.Wait()
	c.latencies()
	c.agree()
	bank.check()
	lists.check()
	registers.check()
	return log.check()
}

// do runs an operation of a client with the timeout clientTimeout, and records its error.
func (c *chaos) do(ctx context.Context, op func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, clientTimeout)
	defer cancel()
	err := op(ctx)
	if err != nil {
		c.countError(err)
	}
	return err
}

// countError counts an error, and fails for an error that no fault explains.
func (c *chaos) countError(err error) {
	what := "no answer"
	var said mongo.ServerError
	if errors.As(err, &said) {
		codes := said.ErrorCodes()
		what = fmt.Sprint(codes)
		for _, code := range []int{1, 8, 11000} {
			if slices.Contains(codes, code) {
				c.Errorf("a client is told %v", err)
			}
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refused[what]++
}

// unanswered reports whether the outcome of a failed operation is undetermined.
func unanswered(err error) bool {
	var said mongo.ServerError
	return !errors.As(err, &said) || said.HasErrorLabel("RetryableWriteError") || said.HasErrorLabel("NetworkError") ||
		said.HasErrorLabel("UnknownTransactionCommitResult") || said.HasErrorCode(89) || said.HasErrorCode(50)
}

// wrote records a successful write and its latency.
func (c *chaos) wrote(begun time.Time) {
	now := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	second := int(now.Sub(c.began) / time.Second)
	for len(c.took) <= second {
		c.took = append(c.took, nil)
	}
	c.took[second] = append(c.took[second], now.Sub(begun))
	c.silence = max(c.silence, now.Sub(c.last))
	c.last = now
}

// tallied returns counts as one line.
func tallied(n map[string]int) string {
	var out []string
	for what, times := range n {
		out = append(out, fmt.Sprintf("%d × %s", times, what))
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

// percentile returns the p-th percentile of a list, which it sorts; 0 for an empty one.
func percentile(list []time.Duration, p int) time.Duration {
	if len(list) == 0 {
		return 0
	}
	slices.Sort(list)
	return list[min(len(list)-1, len(list)*p/100)]
}

// latencies prints the p99 of the writes of each second, and the time from each fault until it fell below a
// bound again, unless another fault came before. It fails the test if no write succeeded for silenceMax.
func (c *chaos) latencies() {
	c.mu.Lock()
	defer c.mu.Unlock()
	const bound = time.Second
	var seconds []string
	good := make([]bool, len(c.took))
	for i, list := range c.took {
		p99 := percentile(list, 99)
		good[i] = len(list) > 0 && p99 < bound
		seconds = append(seconds, fmt.Sprintf("%d:%d/%v", i, len(list), p99.Round(time.Millisecond)))
	}
	c.Logf("inserts of each second and their p99: %s", strings.Join(seconds, " "))
	for i, b := range c.blows {
		at := int(b.over / time.Second)
		for at < len(good) && !good[at] {
			at++
		}
		back, next := time.Duration(at)*time.Second, time.Duration(0)
		if i+1 < len(c.blows) {
			next = c.blows[i+1].begun
		}
		switch {
		case next > 0 && back > next:
			c.Logf("after %s until %v: not below %v before the next fault at %v", b.what, b.over.Round(time.Millisecond), bound, next.Round(time.Millisecond))
		case at == len(good):
			c.Logf("after %s until %v: not below %v before the end", b.what, b.over.Round(time.Millisecond), bound)
		default:
			c.Logf("after %s until %v: below %v within %v", b.what, b.over.Round(time.Millisecond), bound, max(0, back-b.over).Round(time.Millisecond))
		}
	}
	if c.silence > silenceMax {
		c.Errorf("no write succeeded for %v", c.silence)
	}
}

// direct returns a client of one server.
func (c *chaos) direct(i int) *mongo.Database {
	return connect(c.T, "mongodb://"+c.addresses[i]+"/?directConnection=true").Database(c.db.Name())
}

// retry retries an operation that must succeed now that there are no more faults.
func (c *chaos) retry(what string, do func(ctx context.Context) error) {
	c.Helper()
	ctx, cancel := context.WithTimeout(c.Context(), silenceMax)
	defer cancel()
	for {
		err := do(ctx)
		if err == nil {
			return
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			c.Errorf("%s: %v", what, err)
			return
		}
	}
}

// order runs a command.
func order(ctx context.Context, db *mongo.Database, cmd bson.D) error {
	return db.RunCommand(ctx, cmd).Err()
}
