package jobs_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/keyspace"
)

// brittle is a store in which deleting ranges panics while broken is set: a bug below a job.
type brittle struct {
	storage.Store
	broken atomic.Bool
}

func (s *brittle) DeleteRange(ctx context.Context, r storage.Range) error {
	if s.broken.Load() {
		panic("a bug")
	}
	return s.Store.DeleteRange(ctx, r)
}

// If the loop of deletions panics, the panic is reported once, and the loop, started again, deletes what is left.
func TestPanicOfLoop(t *testing.T) {
	virtually(t, func(t *testing.T, make func() storage.Store) {
		store := &brittle{Store: make()}
		n := open(t, func() storage.Store { return store })
		var panics atomic.Int64
		n.jobs.Failed = func(job string, err error) {
			p := (*mongoerr.Panicked)(nil)
			if job != "delete" || !errors.As(err, &p) || len(p.Stack) == 0 {
				t.Errorf("%s: %v", job, err)
			}
			panics.Add(1)
		}
		n.fill(0, 30)
		id := n.coll().ID
		store.broken.Store(true)
		n.jobs.Start(t.Context())
		if ok, err := n.Drop(n.op(), shop); !ok || err != nil {
			t.Fatal(ok, err)
		}
		synctest.Wait()
		if panics.Load() != 1 || n.keys(keyspace.RecordRange(id)) != 30 {
			t.Fatalf("%d panics", panics.Load())
		}
		store.broken.Store(false)
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		n.must(n.jobs.Stop())
		if panics.Load() != 1 || n.keys(keyspace.RecordRange(id)) != 0 {
			t.Fatalf("%d panics, and the loop has not begun anew", panics.Load())
		}
	})
}
