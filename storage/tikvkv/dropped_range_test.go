package tikvkv

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/tikv/client-go/v2/tikvrpc"
	"github.com/tikv/client-go/v2/txnkv/transaction"

	"github.com/cantledb/cantle/storage"
)

// lost is the range that these tests drop.
var lost = storage.Range{Start: []byte("l"), End: []byte("m")}

// three returns a store with three keys and a retention of 1 ns. The value of the key in the range lost is stored in
// chunks.
func three(t *testing.T, o Options) *store {
	t.Helper()
	o.Retention = time.Nanosecond
	s := openOn(t, fake(t), o)
	_, err := commit(t, s, func(tx storage.Txn) error {
		return errors.Join(tx.Set([]byte("kept"), []byte("1")), tx.Set([]byte("lost"), make([]byte, chunkBytes+1)), tx.Set([]byte("most"), []byte("3")))
	})
	must(t, err)
	return s
}

// left returns the numbers of rows that a store still has in the cluster: of keys, of chunks of values, and of notes
// of dropped ranges.
func left(t *testing.T, s *store) (users, chunks, notes int) {
	t.Helper()
	now, err := s.oracle.fetchTS(t.Context())
	must(t, err)
	for n, space := range map[*int]byte{&users: spaceUser, &chunks: spaceChunk, &notes: spaceDrop} {
		start, end := s.keys.space(space)
		p, err := s.rows.page(t.Context(), now, pageRequest{start: start, end: end, keysOnly: true, rows: pageRowsMax})
		must(t, err)
		*n = len(p.keys)
	}
	return users, chunks, notes
}

// expectLeft compares the result of left with the expected numbers.
func expectLeft(t *testing.T, s *store, what string, users, chunks, notes int) {
	t.Helper()
	if u, c, n := left(t, s); u != users || c != chunks || n != notes {
		t.Errorf("%s: %d keys, %d chunks, %d notes, want %d, %d and %d", what, u, c, n, users, chunks, notes)
	}
}

// Collect destroys a deleted range once no older snapshot or transaction can reach it.
func TestDropped(t *testing.T) {
	s := three(t, Options{})
	defer s.Close()
	r, err := s.Snapshot(t.Context(), 0)
	must(t, err)
	tx, err := s.Begin(t.Context(), storage.TxnOptions{})
	must(t, err)
	must(t, tx.Set([]byte("lost2"), []byte("late")))
	for range 2 {
		must(t, s.DeleteRange(t.Context(), lost))
	}
	must(t, s.Collect(t.Context()))
	expectLeft(t, s, "with a snapshot and a transaction from before", 3, 2, 1)
	if v, err := r.Get(t.Context(), []byte("lost"), nil); len(v) != chunkBytes+1 || err != nil {
		t.Errorf("the snapshot has %d bytes, %v", len(v), err)
	}
	r.Close()
	must(t, s.Collect(t.Context()))
	expectLeft(t, s, "with a transaction from before", 3, 2, 1)
	_, err = tx.Commit(t.Context(), storage.Synced)
	must(t, err)
	must(t, s.Collect(t.Context()))
	expectLeft(t, s, "with nobody", 2, 0, 0)
	must(t, s.DeleteRange(t.Context(), storage.Range{Start: []byte("most")}))
	must(t, s.Collect(t.Context()))
	expectLeft(t, s, "without an end", 1, 0, 0)
	must(t, s.Collect(t.Context()))
	if n := s.dropped.destroyed.Load(); n != 2 {
		t.Errorf("%d ranges were destroyed", n)
	}
}

// After a range is destroyed, locks that a dead writer has left in it bring no key back, neither by its
// commit nor by a client that resolves the lock.
func TestDroppedLocks(t *testing.T) {
	c := fake(t)
	s := openOn(t, c, Options{Retention: time.Nanosecond})
	defer s.Close()
	kv, err := c.Client()
	must(t, err)
	defer kv.Close()
	dead, err := kv.Begin()
	must(t, err)
	must(t, errors.Join(dead.Set(s.keys.user([]byte("lost")), []byte{valuePlain, 1}), dead.Set(s.keys.user([]byte("most")), []byte{valuePlain, 1})))
	committer, err := transaction.TxnProbe{KVTxn: dead}.NewCommitter(1)
	must(t, err)
	must(t, committer.PrewriteAllMutations(t.Context()))
	must(t, s.DeleteRange(t.Context(), lost))
	must(t, s.Collect(t.Context()))
	ts, err := s.oracle.fetchTS(t.Context())
	must(t, err)
	committer.SetCommitTS(ts)
	if err := committer.CommitMutations(t.Context()); err == nil {
		t.Error("the dead writer commits")
	}
	expectLeft(t, s, "after a dead writer", 0, 0, 0)
}

// If the destruction of a range is interrupted after the keys, because the cluster does not answer the request for the
// chunks, the next store that is opened finishes the work.
func TestDroppedResumes(t *testing.T) {
	c := fake(t)
	s := openOn(t, c, Options{Retention: time.Nanosecond})
	_, err := commit(t, s, func(tx storage.Txn) error { return tx.Set([]byte("lost"), make([]byte, chunkBytes+1)) })
	must(t, err)
	must(t, s.DeleteRange(t.Context(), lost))
	sent := 0
	c.SetHook(func(_ context.Context, req *tikvrpc.Request, next func() (*tikvrpc.Response, error)) (*tikvrpc.Response, error) {
		if req.Type == tikvrpc.CmdUnsafeDestroyRange {
			if sent++; sent == 2 { // the keys are destroyed, the chunks are not
				return nil, gone
			}
		}
		return next()
	})
	if err := s.Collect(t.Context()); !errors.Is(err, storage.ErrUnavailable) {
		t.Errorf("a store that does not answer: %v", err)
	}
	c.SetHook(nil)
	expectLeft(t, s, "half done", 0, 2, 1)
	must(t, s.Close())
	s = openOn(t, c, Options{Retention: time.Nanosecond})
	defer s.Close()
	must(t, s.Collect(t.Context()))
	expectLeft(t, s, "after the next server", 0, 0, 0)
}

// A transaction that reads or writes for longer than readers hold the safe point back gets an error,
// also if the range is destroyed while a read is in flight.
func TestDroppedUnderOldReaders(t *testing.T) {
	c := fake(t)
	s := openOn(t, c, Options{Retention: time.Nanosecond})
	defer s.Close()
	_, err := commit(t, s, set("lost", "1"))
	must(t, err)
	s.limits.reader = 0
	r, err := s.Snapshot(t.Context(), 0)
	must(t, err)
	defer r.Close()
	tx, err := s.Begin(t.Context(), storage.TxnOptions{})
	must(t, err)
	must(t, tx.Set([]byte("lost"), []byte("2")))
	must(t, s.DeleteRange(t.Context(), lost))
	first := true
	c.SetHook(func(_ context.Context, req *tikvrpc.Request, next func() (*tikvrpc.Response, error)) (*tikvrpc.Response, error) {
		if req.Type == tikvrpc.CmdScan && first {
			first = false
			if err := s.Collect(t.Context()); err != nil {
				t.Error(err)
			}
		}
		return next()
	})
	it, err := r.Iter(t.Context(), storage.Range{}, storage.IterOptions{})
	must(t, err)
	defer it.Close()
	if it.Next() || !errors.Is(it.Err(), storage.ErrSnapshotTooOld) {
		t.Errorf("a scan of what was destroyed meanwhile: %v", it.Err())
	}
	c.SetHook(nil)
	if _, err := tx.Commit(t.Context(), storage.Synced); !errors.Is(err, storage.ErrConflict) {
		t.Errorf("a commit from before the safe point: %v", err)
	}
	expectLeft(t, s, "after all", 0, 0, 0)
}

// If another program moves the safe point, ranges are destroyed by that safe point.
func TestDroppedByOthersPoint(t *testing.T) {
	s := three(t, Options{KeepGarbage: true})
	defer s.Close()
	must(t, s.DeleteRange(t.Context(), lost))
	must(t, s.Collect(t.Context()))
	expectLeft(t, s, "before the others' safe point", 3, 2, 1)
	now, err := s.oracle.fetchTS(t.Context())
	must(t, err)
	_, err = s.cluster.kv.GetPDClient().UpdateGCSafePoint(t.Context(), now)
	must(t, err)
	must(t, s.Collect(t.Context()))
	expectLeft(t, s, "after it", 2, 0, 0)
}
