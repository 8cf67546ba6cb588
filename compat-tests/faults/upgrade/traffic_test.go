package upgrade

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/cantledb/cantle/compat-tests/faults/programme"
	"github.com/cantledb/cantle/compat-tests/rig/harness"
)

// TestTraffic opens the folder of each release under load, as in an upgrade: the server ends and another one
// starts on the same address, twice. Clients may notice only a pause, and all acknowledged writes must be there in
// the end.
func TestTraffic(t *testing.T) {
	list, err := filepath.Glob("released/*.zip")
	if err != nil || len(list) == 0 {
		t.Fatalf("no folders of releases: %v", err)
	}
	due, done, writes := max(programme.Amount(t, "upgrade")-len(list), len(list)), 0, int64(0)
	programme.RecordAtEnd(t, "upgrade", 0, func() (int, string) {
		return done, fmt.Sprintf("%d under traffic, with %d writes, none of which failed", done, writes)
	})
	for ; done < due && !t.Failed(); done++ {
		from := list[done%len(list)]
		t.Run(fmt.Sprintf("%s/%d", strings.TrimSuffix(filepath.Base(from), ".zip"), done), func(t *testing.T) {
			data := t.TempDir()
			unpack(t, from, data)
			writes += traffic(t, data)
		})
	}
}

func traffic(t *testing.T, data string) (sum int64) {
	o := harness.Options{Data: data}
	s, err := harness.Launch(o)
	if err != nil {
		t.Fatal(err)
	}
	o.Args = []string{"--listen", s.Addr}
	client, err := harness.Connect(s.URI, options.Client().SetServerSelectionTimeout(time.Minute).SetHeartbeatInterval(500*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	const writers = 4
	ctx, cancel := context.WithCancel(t.Context())
	coll := client.Database("shop").Collection("traffic")
	var group sync.WaitGroup
	var written [writers]atomic.Int64
	for w := range writers {
		group.Go(func() {
			for n := int64(0); ctx.Err() == nil; n++ {
				if _, err := coll.InsertOne(t.Context(), bson.D{{Key: "_id", Value: bson.D{{Key: "w", Value: w}, {Key: "n", Value: n}}}}); err != nil {
					t.Errorf("writer %d: %v", w, err)
					return
				}
				written[w].Add(1)
			}
		})
	}
	more := func() { // waits until each client has written again
		for w := range writers {
			for was := written[w].Load(); written[w].Load() < was+20 && !t.Failed(); {
				time.Sleep(time.Millisecond)
			}
		}
	}
	for range 2 {
		more()
		if err := s.Stop(); err != nil {
			t.Errorf("stopping: %v\n%s", err, s.Log())
		}
		if s, err = harness.Launch(o); err != nil {
			cancel()
			t.Fatal(err)
		}
	}
	more()
	cancel()
	group.Wait()
	for w := range writers {
		sum += written[w].Load()
	}
	if n, err := coll.CountDocuments(t.Context(), bson.D{}); err != nil || n != sum {
		t.Errorf("%d documents are there, %d were acknowledged: %v", n, sum, err)
	}
	works(t, client)
	if err := client.Disconnect(t.Context()); err != nil { // disconnect while the server runs, so that it ends the client's sessions
		t.Error(err)
	}
	if err := s.Stop(); err != nil {
		t.Error(err)
	}
	return sum
}
