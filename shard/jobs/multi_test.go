package jobs_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/internal/testenv"
	"github.com/cantledb/cantle/shard/ddl"
	"github.com/cantledb/cantle/storage"
)

// Updates and deletions of many documents run while their collection gets new shard keys repeatedly: each
// document is changed as often as was acknowledged.
func TestMultiUpdateUnderReshards(t *testing.T) {
	engines(t, func(t *testing.T, fresh func() storage.Store) {
		n := open(t, fresh)
		n.must(n.ShardCollection(n.op(), shop, ddl.ShardOptions{Key: bsontest.Doc(t, `{k: "hashed"}`), Shards: 2}))
		docs := 300
		if testenv.IsLong() {
			docs = 1000
		}
		n.fill(0, docs)
		n.fill(10*docs, 11*docs)
		var wg sync.WaitGroup
		done := [2]int{}
		var enough atomic.Bool
		for w := range done {
			wg.Go(func() {
				for !enough.Load() {
					m, err := n.set(fmt.Sprintf(`{_id: {$lt: %d}}`, docs), `{$inc: {n: 1}}`, true)
					if err != nil {
						t.Error(err)
						return
					}
					if m.Matched != int64(docs) || m.Changed != int64(docs) {
						t.Errorf("%+v", m)
					}
					done[w]++
				}
			})
		}
		wg.Go(func() {
			if m := n.remove(fmt.Sprintf(`{_id: {$gte: %d}}`, docs), true); m.Changed != int64(docs) {
				t.Errorf("%+v are removed", m)
			}
		})
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			wg.Wait()
		}()
		reshards := 0
		for going := true; going; {
			key := []string{`{u: 1}`, `{k: "hashed"}`, `{_id: 1}`}[reshards%3]
			n.must(n.ReshardCollection(n.op(), shop, ddl.ShardOptions{Key: bsontest.Doc(t, key)}))
			if reshards++; reshards == 5 {
				enough.Store(true)
			}
			select {
			case <-ended:
				going = false
			case <-time.After(5 * time.Millisecond):
			}
		}
		n.must(n.jobs.DeleteRecorded(t.Context()))
		got, err := n.ids(n.op(), fmt.Sprintf(`{n: %d}`, done[0]+done[1]), "")
		n.must(err)
		if len(got) != docs || n.check(`{}`) != docs {
			t.Errorf("%d documents of %d are incremented as often as was acknowledged, in %d reshards", len(got), docs, reshards)
		}
		if reshards < 5 {
			t.Errorf("%d reshards", reshards)
		}
	})
}

// A drop of the collection ends an update of many documents with the error QueryPlanKilled.
func TestMultiUpdateEndsWithDrop(t *testing.T) {
	engines(t, func(t *testing.T, fresh func() storage.Store) {
		n := open(t, fresh)
		n.fill(0, 2000)
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			for {
				if _, err := n.set(`{}`, `{$inc: {n: 1}}`, true); err != nil {
					if mongoerr.CodeOf(err) != mongoerr.QueryPlanKilled {
						t.Error(err)
					}
					return
				}
			}
		}()
		for {
			if _, err := n.Drop(n.op(), shop); err != nil {
				t.Fatal(err)
			}
			n.fill(0, 2000)
			select {
			case <-ended:
				return
			case <-time.After(time.Millisecond):
			}
		}
	})
}
