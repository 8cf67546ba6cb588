package rooms

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/memkv"
)

// slowStore is a store whose compactions pause after half of their bytes, until they are cancelled.
type slowStore struct{ storage.Store }

func (slowStore) Reclaimable(context.Context, storage.Range, int64) (uint64, error) {
	return 30 << 20, nil
}
func (slowStore) RangeBytes(context.Context, storage.Range) (uint64, error) { return 50, nil }
func (slowStore) Compact(ctx context.Context, _ storage.Range, told func(bytes int64)) (int64, error) {
	told(50)
	<-ctx.Done()
	return 0, context.Cause(ctx)
}

// A compaction is listed with its progress, can be ended by the id of its operation or by a time limit, and starts
// only if it would free enough space.
func TestCompactIsWatchedAndEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memkv.Open(memkv.Options{})
		defer store.Close()
		w := newWorld(t, slowStore{store})
		c, slow := w.dial(), w.dial()
		c.ok(`{create: "c"}`)
		if r := c.ok(`{compact: "c", dryRun: true}`); number(r.Get("estimatedBytesFreed")) != 60<<20 || r.Has("bytesFreed") {
			t.Errorf("an estimate: %v", r)
		}
		if r := c.ok(`{compact: "c", freeSpaceTargetMB: 61}`); number(r.Get("bytesFreed")) != 0 {
			t.Errorf("not enough: %v", r)
		}
		if code := c.code(`{compact: "c", maxTimeMS: 50}`); code != 50 {
			t.Errorf("its time was over: %d", code)
		}
		done := make(chan int64, 1)
		go func() { done <- slow.code(`{compact: "c"}`) }()
		synctest.Wait()
		job, _ := at(c.ok(`{currentOp: 1, desc: "Compact", $db: "admin"}`), "inprog.0").Doc()
		if text(job.Get("ns")) != "test.c" || number(at(job, "progress.done")) != 50 || number(at(job, "progress.total")) != 100 || text(at(job, "command.compact")) != "c" {
			t.Errorf("listed as %v", job)
		}
		op, _ := at(c.ok(`{currentOp: 1, "command.compact": "c", desc: {$ne: "Compact"}, $db: "admin"}`), "inprog.0").Doc()
		c.ok(`{killOp: 1, op: ` + ejsonNumber(number(op.Get("opid"))) + `, $db: "admin"}`)
		synctest.Wait()
		select {
		case code := <-done:
			if code != 11601 {
				t.Errorf("the killed command failed with %d", code)
			}
		default:
			t.Fatal("the killed command goes on")
		}
		if r := c.ok(`{currentOp: 1, desc: "Compact", $db: "admin"}`); !at(r, "inprog.0").IsMissing() {
			t.Errorf("still listed: %v", r)
		}
	})
}
