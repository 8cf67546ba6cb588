package abuse

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/cantledb/cantle/compat-tests/harness"
)

// soak makes everything larger.
var soak = os.Getenv("CANTLE_SOAK") != ""

// size is n, or in a soak the larger one.
func size(n, larger int) int {
	if soak {
		return larger
	}
	return n
}

// victim is a client that reads one document after the other at a leisurely pace.
type victim struct {
	coll *mongo.Collection
	stop chan struct{}
	done sync.WaitGroup

	mu   sync.Mutex
	took []time.Duration
	errs []error
}

// pace is the time between two reads.
const pace = 2 * time.Millisecond

func newVictim(t *testing.T, s *harness.Server) *victim {
	c := s.Client(t, options.Client().SetMaxPoolSize(4))
	v := &victim{coll: c.Database("quiet").Collection("c"), stop: make(chan struct{})}
	var docs []any
	for i := range 1000 {
		docs = append(docs, bson.D{{Key: "_id", Value: i}, {Key: "s", Value: strings.Repeat("x", 200)}})
	}
	if _, err := v.coll.InsertMany(harness.Context(t), docs); err != nil {
		t.Fatal(err)
	}
	v.done.Go(v.read)
	return v
}

// read reads until the end.
func (v *victim) read() {
	for i := 0; ; i++ {
		select {
		case <-v.stop:
			return
		case <-time.After(pace):
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		begun := time.Now()
		err := v.coll.FindOne(ctx, bson.D{{Key: "_id", Value: i % 1000}}).Err()
		took := time.Since(begun)
		cancel()
		v.mu.Lock()
		v.took = append(v.took, took)
		if err != nil {
			v.errs = append(v.errs, err)
		}
		v.mu.Unlock()
	}
}

// lap returns how the reads since the last lap went.
func (v *victim) lap() (p50, p99 time.Duration, n int, err error) {
	v.mu.Lock()
	took := v.took
	v.took = nil
	if len(v.errs) > 0 {
		err = fmt.Errorf("%d reads failed, the first with %w", len(v.errs), v.errs[0])
	}
	v.errs = nil
	v.mu.Unlock()
	if len(took) == 0 {
		return 0, 0, 0, err
	}
	slices.Sort(took)
	return took[len(took)/2], took[len(took)*99/100], len(took), err
}

func (v *victim) end() {
	close(v.stop)
	v.done.Wait()
}

// state is what abuse must not leave behind.
type state struct {
	goroutines, connections, cursors, heap, resident int64
}

// look asks the server for its state over a connection of its own.
func look(t *testing.T, s *harness.Server) state {
	t.Helper()
	c, err := harness.DialAddr(s.Addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	r, err := c.Command("admin", encode(t, bson.D{{Key: "serverStatus", Value: 1}, {Key: "tcmalloc", Value: 1}}))
	if err != nil {
		t.Fatal(err)
	}
	number := func(path ...string) int64 {
		n, _ := r.Lookup(path...).AsInt64OK()
		return n
	}
	return state{
		goroutines: number("extra_info", "threads"), connections: number("connections", "current"),
		cursors: number("metrics", "cursor", "open", "total"), heap: number("tcmalloc", "generic", "current_allocated_bytes"),
		resident: number("mem", "resident") << 20,
	}
}

func encode(t *testing.T, doc any) bson.Raw {
	t.Helper()
	raw, err := bson.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// settled waits until the server is as it was, or says what is not. The victim's
// driver opens and closes connections on its own, hence the slack.
func settled(t *testing.T, s *harness.Server, before state) state {
	t.Helper()
	const slack = 16
	var now state
	for range 300 {
		now = look(t, s)
		if now.goroutines <= before.goroutines+slack && now.connections <= before.connections+slack && now.cursors <= before.cursors {
			return now
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Errorf("before: %+v, and long after: %+v", before, now)
	return now
}
