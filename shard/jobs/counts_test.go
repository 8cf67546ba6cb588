package jobs_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/shard/cluster"
	"github.com/cantledb/cantle/shard/jobs"
	"github.com/cantledb/cantle/storage"
)

// Random writes, splits, merges, checkpoints and restarts: after each step the counts of every shard equal those of a
// scan.
func TestCountsSurvive(t *testing.T) {
	engines(t, func(t *testing.T, make func() storage.Store) {
		n := open(t, make)
		n.sharded(2)
		rng := rand.New(rand.NewPCG(3, 4))
		next := 0
		for step := range 60 {
			shards := n.coll().Map.Shards()
			switch rng.IntN(8) {
			case 0, 1:
				n.fill(next, next+30)
				next += 30
			case 2:
				n.remove(fmt.Sprintf(`{_id: {$gte: %d, $lt: %d}}`, next-20, next-10), true)
			case 3:
				if _, err := n.set(fmt.Sprintf(`{a: %d}`, rng.IntN(7)), fmt.Sprintf(`{$set: {x: "%0*d"}}`, rng.IntN(50), 1), true); err != nil {
					t.Fatal(err)
				}
			case 4:
				if len(shards) < 12 {
					n.must(n.splitMiddle(shards[rng.IntN(len(shards))].ID))
				}
			case 5:
				if i := rng.IntN(len(shards)); i > 0 {
					n.must(n.jobs.Merge(t.Context(), shop, shards[i-1].ID, shards[i].ID))
				}
			case 6:
				n.must(n.jobs.Checkpoint(t.Context()))
			case 7:
				n = n.reopen()
			}
			n.exact()
			_ = step
		}
		n.must(n.jobs.Checkpoint(t.Context()))
		n = n.reopen()
		n.exact()
	})
}

// A clean stop of the loops leaves a checkpoint, and the next start has the right counts.
func TestCheckpointLoop(t *testing.T) {
	virtually(t, func(t *testing.T, make func() storage.Store) {
		n := open(t, make)
		n.jobs.Start(t.Context())
		n.sharded(1)
		n.fill(0, 200)
		time.Sleep(30 * time.Millisecond) // three checkpoints
		synctest.Wait()
		n.must(n.splitMiddle(0))
		n.fill(200, 300)
		n.must(n.jobs.Stop())
		if n.jobs.Saved() == 0 {
			t.Fatal("no checkpoint")
		}
		n = n.reopen()
		n.exact()
	})
}

// The change log is truncated by age. If a part that the counts do not need is dropped, they are right after a restart;
// if they need it, the shards are counted again, and they are right, too.
func TestTruncate(t *testing.T) {
	engines(t, func(t *testing.T, make func() storage.Store) {
		n := open(t, make)
		n.sharded(2)
		n.fill(0, 300)
		n.must(n.jobs.Checkpoint(t.Context()))
		n.fill(300, 400)
		n.must(n.jobs.Truncate(t.Context()))
		if n.logRecords() < 400 {
			t.Fatal("young records are gone")
		}
		n.clock.Store(48 * 3600)
		n.must(n.jobs.Truncate(t.Context()))
		if c := n.logRecords(); c != 0 {
			t.Fatalf("%d old records are left", c)
		}
		n.fill(400, 450)
		n = n.reopen()
		n.exact()
		n.fill(450, 500)
		n.must(n.store.Sync(t.Context()))
		n.must(n.store.TruncateLog(t.Context(), []byte("changes"), n.store.Durable()))
		n = n.reopen()
		n.exact()
	})
}

// However young its records are, no more of the change log is kept than LogBytes allows, to the precision of a
// stretch.
func TestTruncateBySize(t *testing.T) {
	engines(t, func(t *testing.T, make func() storage.Store) {
		n := open(t, make)
		n.jobs.LogBytes = 10 << 20
		n.sharded(1)
		text := strings.Repeat("x", 1<<20)
		for i := range 30 {
			b := bson.NewBuilder(nil)
			b.Int32("_id", int32(i))
			b.Int32("u", int32(i))
			b.String("text", text)
			_, errs, err := n.Insert(n.op(), shop, []bson.Raw{b.Doc()}, false)
			n.must(err)
			if len(errs) > 0 {
				t.Fatal(errs[0].Err)
			}
		}
		n.must(n.jobs.Checkpoint(t.Context()))
		n.must(n.jobs.Truncate(t.Context()))
		if c := n.logRecords(); c < 6 || c > 10 {
			t.Errorf("%d records of 1 MB are kept of 10 MB", c)
		}
		_, err := n.store.ReadLog(t.Context(), []byte("changes"), 1, func(_, _ storage.Timestamp, _ []byte) bool { return true })
		if !errors.Is(err, storage.ErrLogTruncated) {
			t.Errorf("a reader that is behind: %v", err)
		}
	})
}

// The limit LogBytes counts the log records of all writers: of earlier processes, of a process that stored no length,
// and of a process that was killed.
func TestTruncateBySizeOverLives(t *testing.T) {
	engines(t, func(t *testing.T, make func() storage.Store) {
		n := open(t, make)
		n.sharded(1)
		for life := range 6 {
			for i := range 7 {
				n.insert(fmt.Sprintf(`{_id: %d, k: %d, u: %d, text: "%s"}`, life*7+i, i, life*7+i, strings.Repeat("x", 1<<20)))
			}
			if life%2 == 0 {
				n.must(n.jobs.Checkpoint(t.Context()))
			}
			n = n.reopen()
		}
		if docs, bytes := n.jobs.LogLength(); docs < 42 || bytes < 42<<20 {
			t.Errorf("%d records of %d bytes are said to be kept", docs, bytes)
		}
		n.jobs.LogBytes = 10 << 20
		n.must(n.jobs.Truncate(t.Context()))
		if c := n.logRecords(); c < 6 || c > 10 {
			t.Errorf("%d records of 1 MB are kept of 10 MB", c)
		}
		n.must(n.jobs.Checkpoint(t.Context()))
		docs, bytes := n.jobs.LogLength()
		n = n.reopen()
		if again, size := n.jobs.LogLength(); docs != again || bytes != size || int(docs) != n.logRecords() {
			t.Errorf("%d records of %d bytes, after a restart %d of %d; there are %d", docs, bytes, again, size, n.logRecords())
		}

		n.must(n.jobs.ForgetLogLength(t.Context()))
		n = n.reopen()
		n.jobs.LogBytes = 5 << 20
		n.must(n.jobs.Truncate(t.Context()))
		if c := n.logRecords(); c < 1 || c > 5 {
			t.Errorf("%d records of 1 MB are kept of 5 MB that an older program has written", c)
		}
		if docs, _ := n.jobs.LogLength(); int(docs) != n.logRecords() {
			t.Errorf("%d records are said to be kept of %d", docs, n.logRecords())
		}
	})
}

// The length of a change log is stored in at most 256 stretches, however long the log is, and none of its bytes is
// lost.
func TestLogStretches(t *testing.T) {
	marks, docs, bytes := jobs.Stretches(20_000, 1<<20)
	if marks > 256 || marks < 100 || docs != 20_000 || bytes != 20_000<<20 {
		t.Errorf("%d stretches of %d records, %d bytes", marks, docs, bytes)
	}
}

func (n *node) logRecords() (c int) {
	n.t.Helper()
	n.must(n.store.Sync(n.t.Context()))
	_, err := n.store.ReadLog(n.t.Context(), []byte("changes"), 0, func(_, _ storage.Timestamp, _ []byte) bool { c++; return true })
	n.must(err)
	return c
}

// Multi-document transactions are counted when they commit. A transaction overtaken by a split does
// not commit: its client repeats it.
func TestCountsOfTransactions(t *testing.T) {
	engines(t, func(t *testing.T, make func() storage.Store) {
		n := open(t, make)
		n.sharded(1)
		n.fill(0, 100)
		insert := func(between func()) error {
			o := n.op()
			txn, err := n.BeginTxn(o)
			n.must(err)
			o.Txn = txn
			_, errs, err := n.Insert(o, shop, rawDocs(t, `{_id: "a", k: 1}`, `{_id: "b", k: 2}`), true)
			if err != nil || len(errs) > 0 {
				t.Fatal(err, errs)
			}
			between()
			_, err = txn.Store.Commit(t.Context(), storage.Buffered)
			return err
		}
		if err := insert(func() { n.must(n.splitMiddle(0)) }); !errors.Is(err, storage.ErrConflict) {
			t.Fatalf("a transaction routed by the old map ended with %v", err)
		}
		if n.check(`{}`) != 100 {
			t.Fatal("it left something behind")
		}
		n.must(insert(func() {}))
		n.exact()
		if n.check(`{}`) != 102 {
			t.Fatal("documents lost")
		}
	})
}

// background runs fn in a goroutine.
func background(fn func()) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		fn()
	}()
	return done
}

// txnInserts begins a transaction that inserts one document.
func (n *node) txnInserts(doc string) *cluster.Op {
	n.t.Helper()
	o := n.op()
	txn, err := n.BeginTxn(o)
	n.must(err)
	o.Txn = txn
	_, errs, err := n.Insert(o, shop, rawDocs(n.t, doc), true)
	if err != nil || len(errs) > 0 {
		n.t.Fatal(err, errs)
	}
	return o
}

// A transaction continues with the collection that it created. A concurrent command that creates an
// index on a collection of that name creates both without waiting, and the commit fails; the second
// try of the transaction finds them.
func TestCreateInTransaction(t *testing.T) {
	engines(t, func(t *testing.T, make func() storage.Store) {
		n := open(t, make)
		o := n.txnInserts(`{_id: 1, a: 1}`)
		if got, err := n.ids(o, `{}`, ""); len(got) != 1 || err != nil {
			t.Fatal(got, err)
		}
		defer o.Txn.Store.Close()
		_, err := n.index(`{key: {a: 1}, name: "a"}`)
		n.must(err)
		if _, err := o.Txn.Store.Commit(t.Context(), storage.Buffered); !errors.Is(err, storage.ErrConflict) {
			t.Fatalf("the commit says %v, want a conflict", err)
		}
		if got := n.check(`{}`); got != 0 {
			t.Fatalf("%d documents, want none", got)
		}
		_, err = n.txnInserts(`{_id: 1, a: 1}`).Txn.Store.Commit(t.Context(), storage.Buffered)
		n.must(err)
		if got, err := n.ids(n.op(), `{a: 1}`, "a"); len(got) != 1 || err != nil {
			t.Fatal(got, err)
		}
		n.exact()
	})
}

// An index build waits for the transactions that wrote to its collection, and finds the documents that they
// committed.
func TestBuildWaitsForTransaction(t *testing.T) {
	virtually(t, func(t *testing.T, make func() storage.Store) {
		n := open(t, make)
		n.insert(`{_id: 1, a: 1}`)
		o := n.txnInserts(`{_id: 2, a: 1}`)
		var built error
		done := background(func() { _, built = n.index(`{key: {a: 1}, name: "a"}`) })
		synctest.Wait()
		select {
		case <-done:
			t.Errorf("the build ended before the transaction: %v", built)
		default:
		}
		_, err := o.Txn.Store.Commit(t.Context(), storage.Buffered)
		n.must(err)
		<-done
		n.must(built)
		if got, err := n.ids(n.op(), `{a: 1}`, "a"); len(got) != 2 || err != nil {
			t.Fatal(got, err)
		}
		n.exact()
	})
}

// A read at a time before a split finds the documents of that time, before and after the split.
func TestOldSnapshot(t *testing.T) {
	engines(t, func(t *testing.T, make func() storage.Store) {
		n := open(t, make)
		defer n.Cluster.Close()
		n.sharded(1)
		n.fill(0, 50)
		held, err := n.store.Snapshot(t.Context(), 0)
		n.must(err)
		defer held.Close()
		o := n.op()
		o.At = held.ReadTimestamp()
		n.fill(50, 60)
		if got, err := n.ids(o, `{}`, "a"); len(got) != 50 || err != nil {
			t.Fatal(len(got), err)
		}
		n.must(n.splitMiddle(0))
		if got, err := n.ids(o, `{}`, "a"); len(got) != 50 || err != nil {
			t.Fatal(len(got), err)
		}
		if got, err := n.ids(n.op(), `{}`, "a"); len(got) != 60 || err != nil {
			t.Fatal(len(got), err)
		}
	})
}
