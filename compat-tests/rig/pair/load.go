package pair

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/cantledb/cantle/compat-tests/rig/harness"
)

// Names of the collection in which each client of a load adds ascending numbers, of which PerDoc share a document, to arrays:
// {_id: {w: client, part: n / perDoc}, n: […]}.
const (
	LoadDatabase   = "shop"
	LoadCollection = "load"
	PerDoc         = 50
)

// Write is an acknowledged write of a client, which sends a write after the reply to the one before.
type Write struct {
	N  int
	At bson.Timestamp // operation time of the reply
	By time.Time      // of the reply
}

// Acks are the acknowledged writes of a load, and the errors that its clients got.
type Acks struct {
	mu     sync.Mutex
	writes map[string][]Write // by client
	errs   []string
}

// Add records an acknowledged write.
func (a *Acks) Add(client string, w Write) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.writes == nil {
		a.writes = map[string][]Write{}
	}
	a.writes[client] = append(a.writes[client], w)
}

// Fail records an error that a client got in place of an acknowledgement.
func (a *Acks) Fail(text string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.errs = append(a.errs, text)
}

// Errors returns the errors that clients got.
func (a *Acks) Errors() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.errs
}

// after returns, for each client, the number of writes that were acknowledged after a time.
func (a *Acks) after(at time.Time) map[string]int {
	a.mu.Lock()
	defer a.mu.Unlock()
	counts := map[string]int{}
	for client, list := range a.writes {
		for _, x := range list {
			if x.By.After(at) {
				counts[client]++
			}
		}
	}
	return counts
}

// Await waits until each of so many clients has so many writes that were acknowledged after a time.
func (a *Acks) Await(p *Pair, clients, writes int, after time.Time, further func() error) {
	p.T.Helper()
	p.Await(func() error {
		if err := further(); err != nil {
			return err
		}
		counts := a.after(after)
		for client, n := range counts {
			if n < writes {
				return fmt.Errorf("%s has %d writes; errors of clients: %.500q", client, n, a.Errors())
			}
		}
		if len(counts) < clients {
			return fmt.Errorf("%d clients of %d have writes; errors of clients: %.500q", len(counts), clients, a.Errors())
		}
		return nil
	})
}

// Shown holds the state that both servers have shown about the writes which survive the loss of the primary.
type Shown struct {
	Covered, Applied bson.Timestamp
	Copies           int // different values of Covered
}

// Look reads what the servers show.
func (s *Shown) Look(p *Pair) error {
	covered, err := p.Status(p.Primary, "backup.coveredTo")
	if err != nil {
		return err
	}
	applied, err := p.Status(p.Follower, "follower.applied")
	if err != nil {
		return err
	}
	var now bson.Timestamp
	if now.T, now.I = covered.Timestamp(); now.After(s.Covered) {
		s.Covered = now
		s.Copies++
	}
	s.Applied.T, s.Applied.I = applied.Timestamp()
	return nil
}

// Loss is the cost of a lost primary.
type Loss struct {
	Acked, Lost int           // writes
	Age         time.Duration // of the oldest lost write when the primary was lost
	Down        time.Duration // until the new primary had acknowledged a write
}

// Judge compares the acknowledged writes with what the new primary has, after the load has ended. The former primary was killed
// between lost and killed. Missing writes must be newer than what was shown, and acknowledged by the former primary; no write is
// there twice.
func (a *Acks) Judge(t *testing.T, newPrimary *mongo.Client, shown Shown, lost, killed time.Time) (loss Loss) {
	t.Helper()
	there := stored(t, newPrimary)
	for client, numbers := range there {
		for n, times := range numbers {
			if times > 1 {
				t.Errorf("the write %d of %s is there %d times", n, client, times)
			}
		}
	}
	for client, list := range a.writes {
		loss.Acked += len(list)
		afterwards := 0 // writes since the kill; the client may have received the reply to the first one late, from the former primary
		for _, x := range list {
			if x.By.After(killed) {
				if afterwards++; afterwards == 2 && (loss.Down == 0 || x.By.Sub(lost) < loss.Down) {
					loss.Down = x.By.Sub(lost)
				}
			}
			if there[client][x.N] > 0 {
				continue
			}
			loss.Lost++
			loss.Age = max(loss.Age, lost.Sub(x.By))
			switch {
			case afterwards > 1:
				t.Errorf("the write %d of %s was acknowledged by the new primary, and is missing", x.N, client)
			case !x.At.After(shown.Covered):
				t.Errorf("the write %d of %s, at %v, is missing, although moments up to %v were shown as covered", x.N, client, x.At, shown.Covered)
			case !x.At.After(shown.Applied):
				t.Errorf("the write %d of %s, at %v, is missing, although the follower showed that it had applied %v", x.N, client, x.At, shown.Applied)
			}
		}
	}
	return loss
}

// stored returns how often each number of each client is stored.
func stored(t *testing.T, c *mongo.Client) map[string]map[int]int {
	t.Helper()
	ctx := harness.Context(t)
	cursor, err := c.Database(LoadDatabase).Collection(LoadCollection).Find(ctx, bson.D{})
	if err != nil {
		t.Fatal(err)
	}
	var docs []struct {
		ID struct{ W string } `bson:"_id"`
		N  []int
	}
	if err := cursor.All(ctx, &docs); err != nil {
		t.Fatal(err)
	}
	out := map[string]map[int]int{}
	for _, d := range docs {
		if out[d.ID.W] == nil {
			out[d.ID.W] = map[int]int{}
		}
		for _, n := range d.N {
			out[d.ID.W][n]++
		}
	}
	return out
}
