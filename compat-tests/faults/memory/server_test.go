package memory

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/cantledb/cantle/compat-tests/faults/programme"
	"github.com/cantledb/cantle/compat-tests/rig/harness"
)

// start starts a server with the least working memory, for a test that lets it hold as much as possible.
func start(t *testing.T) (*harness.Server, *mongo.Database) {
	t.Helper()
	programme.RecordAtEnd(t, "memory", 0, func() (int, string) { return 1, "" })
	s := harness.Start(t, harness.Options{Data: t.TempDir(), Args: []string{"--work-memory", "32MB", "--cache-size", "16MB"}})
	return s, s.Client(t).Database("memory")
}

// share is the use of one part of the working memory, in bytes, and the number of refusals, from serverStatus.
type share struct {
	MaxBytes, Bytes, PeakBytes, Refused int64
}

func workOf(ctx context.Context, t *testing.T, db *mongo.Database) map[string]share {
	t.Helper()
	var out struct {
		WorkMemory map[string]struct {
			MaxBytes  int64 `bson:"maxBytes"`
			Bytes     int64 `bson:"bytes"`
			PeakBytes int64 `bson:"peakBytes"`
			Refused   int64 `bson:"refused"`
		} `bson:"workMemory"`
	}
	if err := db.RunCommand(ctx, bson.D{{Key: "serverStatus", Value: 1}}).Decode(&out); err != nil {
		t.Fatal(err)
	}
	shares := map[string]share{}
	for name, s := range out.WorkMemory {
		shares[name] = share(s)
	}
	return shares
}

// waitReleased waits until no command holds memory of one part of the working memory any more.
func waitReleased(ctx context.Context, t *testing.T, db *mongo.Database, part string) {
	t.Helper()
	var s share
	for range 300 {
		if s = workOf(ctx, t, db)[part]; s.Bytes == 0 {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Errorf("long after, %s hold %+v", part, s)
}

// each runs f on n goroutines at once.
func each(n int, f func(i int)) {
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { f(i) })
	}
	wg.Wait()
}

// fill stores documents of a kilobyte.
func fill(ctx context.Context, t *testing.T, c *mongo.Collection, n int) {
	t.Helper()
	var docs []any
	for i := range n {
		docs = append(docs, bson.D{{Key: "_id", Value: i}, {Key: "k", Value: i * 7919 % n}, {Key: "s", Value: strings.Repeat("x", 1000)}})
	}
	if _, err := c.InsertMany(ctx, docs); err != nil {
		t.Fatal(err)
	}
}
