package takeover

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"

	"github.com/cantledb/cantle/compat-tests/faults/programme"
	"github.com/cantledb/cantle/compat-tests/rig/harness"
	"github.com/cantledb/cantle/compat-tests/rig/pair"
)

// way is a place of backups, and what makes the follower the primary.
type way struct {
	name  string
	alone bool // --promote-after
	start func(t *testing.T) *pair.Pair
}

// failing is the number of requests of a hundred of the primary that fail in an object store.
const failing = 3

var ways = []way{
	{"by cantle promote, over a folder", false, pair.InFolder},
	{"by cantle promote, over an object store", false, func(t *testing.T) *pair.Pair {
		p, _, proxy := pair.InObjectStore(t)
		proxy.Share.Store(failing)
		return p
	}},
	{"by --promote-after 30s, over an object store", true, func(t *testing.T) *pair.Pair {
		p, _, proxy := pair.InObjectStore(t, "--promote-after", "30s")
		proxy.Share.Store(failing)
		return p
	}},
}

// TestBurnedDown kills primaries under load and deletes their folders. Their followers become primaries. What was acknowledged
// and is missing then is newer than the last moment that the primary showed as covered and than the state that the follower showed
// as applied; nothing is there twice, and nothing that the new primary acknowledged is missing. Clients continue by themselves, and an
// empty folder follows the new primary.
func TestBurnedDown(t *testing.T) {
	due := programme.Amount(t, "burned-down")
	if os.Getenv(harness.Planted) != "" {
		due = max(due, 1) // a part of the amount of each run may have none
	}
	costs, machines, writes, missing := map[string][]pair.Loss{}, 0, 0, 0
	programme.RecordAtEnd(t, "burned-down", 0, func() (int, string) {
		var text []string
		for _, w := range ways {
			if list := costs[w.name]; len(list) > 0 {
				lost, down := spread(list, func(l pair.Loss) time.Duration { return l.Age }), spread(list, func(l pair.Loss) time.Duration { return l.Down })
				text = append(text, fmt.Sprintf("%s: seconds lost %s, seconds down %s", w.name, lost, down))
			}
		}
		return machines, fmt.Sprintf("%s; %d acknowledged writes, of which %d are lost, %s", strings.Join(text, "; "), writes, missing, programme.None(t, "covered ones"))
	})
	for n := range due {
		w := ways[n%len(ways)]
		t.Run(fmt.Sprintf("%d %s", n+1, w.name), func(t *testing.T) {
			loss := burn(t, w)
			costs[w.name] = append(costs[w.name], loss)
			machines, writes, missing = machines+1, writes+loss.Acked, missing+loss.Lost
			t.Logf("%d writes, the last %v of them lost (%d), none acknowledged for %v", loss.Acked, loss.Age.Round(time.Millisecond), loss.Lost, loss.Down.Round(time.Millisecond))
		})
		if t.Failed() {
			return
		}
	}
}

// spread returns the median and the maximum of a cost, in seconds.
func spread(list []pair.Loss, of func(pair.Loss) time.Duration) string {
	var all []time.Duration
	for _, c := range list {
		all = append(all, of(c))
	}
	slices.Sort(all)
	return fmt.Sprintf("%.1f in the median, at most %.1f", all[len(all)/2].Seconds(), all[len(all)-1].Seconds())
}

// burn does one machine.
func burn(t *testing.T, w way) (loss pair.Loss) {
	p := w.start(t)
	l := startLoad(t, p)
	var shown pair.Shown
	copies, further := 2+rand.IntN(4), rand.IntN(100)
	l.Await(p, writers, pair.PerDoc, time.Time{}, func() error {
		if err := shown.Look(p); err != nil {
			return err
		}
		if shown.Copies < copies {
			return fmt.Errorf("%d copies of the log", shown.Copies)
		}
		return nil
	})
	l.Await(p, writers, further, time.Now(), func() error { return shown.Look(p) }) // any moment between two copies
	lost := time.Now()
	p.Burn()
	killed := time.Now()
	if !w.alone {
		p.Promote()
	}
	l.Await(p, writers, pair.PerDoc, killed, func() error { return nil })
	l.stop()
	loss = l.Judge(t, p.Direct(p.Follower), shown, lost, killed)
	for _, text := range l.Errors() {
		t.Logf("a client got: %.200s", text)
	}
	follow(t, p)
	return loss
}

// follow starts a server with an empty folder, in the place of the machine that burned down, which follows the new primary.
func follow(t *testing.T, p *pair.Pair) {
	ctx := harness.Context(t)
	if _, err := p.Direct(p.Follower).Database("shop").Collection("after").InsertOne(ctx, bson.D{{Key: "_id", Value: 1}}); err != nil {
		t.Fatal(err)
	}
	p.Await(func() error { // until the first backup of the new primary is complete
		s, err := p.TryLaunch(p.First, p.Ports[0], p.Ports[1], "--follow", p.Backups)
		if err == nil {
			p.Primary = s
		}
		return err
	})
	copied := p.Direct(p.Primary).Database("shop").Collection("after", options.Collection().SetReadPreference(readpref.Secondary()))
	p.Await(func() error { return copied.FindOne(ctx, bson.D{{Key: "_id", Value: 1}}).Err() })
}
