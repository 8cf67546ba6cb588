package faultkv

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/cantledb/cantle/storage"
)

// stub is a store that only counts commits. The nemesis over a store with faults is in package storagetest, whose
// tests may import every engine.
type stub struct {
	storage.Store
	committed int
}

func (s *stub) Begin(context.Context, storage.TxnOptions) (storage.Txn, error) {
	return &stubTxn{s: s}, nil
}

func (s *stub) Snapshot(context.Context, storage.Timestamp) (storage.Reader, error) {
	return &stubTxn{s: s}, nil
}

type stubTxn struct {
	storage.Txn
	s      *stub
	closed bool
}

func (t *stubTxn) Commit(context.Context, storage.Durability) (storage.Timestamp, error) {
	t.s.committed++
	return 7, nil
}
func (t *stubTxn) Close()                  { t.closed = true }
func (t *stubTxn) Set(_, _ []byte) error   { return nil }
func (t *stubTxn) Delete(key []byte) error { return nil }

func TestRules(t *testing.T) {
	ctx := context.Background()
	inner := &stub{}
	commit := func(f *Store) error {
		tx, err := f.Begin(ctx, storage.TxnOptions{})
		if err != nil {
			t.Fatal(err)
		}
		_, err = tx.Commit(ctx, storage.Synced)
		return err
	}
	f := New(inner, 1, Rule{Op: Commit, Skip: 1, Times: 2, Err: storage.ErrConflict})
	for i, want := range []error{nil, storage.ErrConflict, storage.ErrConflict, nil} {
		if err := commit(f); !errors.Is(err, want) {
			t.Errorf("commit %d: %v, want %v", i, err, want)
		}
	}
	if inner.committed != 2 || f.Calls(Commit) != 4 {
		t.Errorf("%d committed, %d calls", inner.committed, f.Calls(Commit))
	}
	f.SetRules(UndeterminedCommitted(1))
	if err := commit(f); !errors.Is(err, storage.ErrUndetermined) || inner.committed != 3 {
		t.Errorf("done: %v, %d", err, inner.committed)
	}
	f.SetRules(UndeterminedAborted(1))
	if err := commit(f); !errors.Is(err, storage.ErrUndetermined) || inner.committed != 3 {
		t.Errorf("lost: %v, %d", err, inner.committed)
	}
	f.SetRules(OldSnapshot(1))
	if _, err := f.Snapshot(ctx, 0); !errors.Is(err, storage.ErrSnapshotTooOld) {
		t.Error(err)
	}
	f.SetRules(Rule{Op: Snapshot, AtTimestamp: true, Err: storage.ErrSnapshotTooOld})
	if _, err := f.Snapshot(ctx, 0); err != nil {
		t.Error(err)
	}
	if _, err := f.Snapshot(ctx, 7); !errors.Is(err, storage.ErrSnapshotTooOld) || f.Applied(Snapshot) != 1 {
		t.Errorf("of a named time: %v, struck %d times", err, f.Applied(Snapshot))
	}
	f.SetRules(Rule{Op: Snapshot, Delay: time.Hour})
	short, cancel := context.WithTimeout(ctx, time.Millisecond)
	defer cancel()
	if _, err := f.Snapshot(short, 0); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	f.SetRules(Conflict(0.5))
	failed := 0
	for range 1000 {
		if commit(f) != nil {
			failed++
		}
	}
	if failed < 400 || failed > 600 {
		t.Errorf("%d of 1000", failed)
	}
}

// TestKey checks rules that are limited, by Key and Unless, to commits that write some keys.
func TestKey(t *testing.T) {
	f := New(&stub{}, 1, Rule{Op: Commit, Err: storage.ErrConflict,
		Key: func(key []byte) bool { return key[0] == 'a' }, Unless: func(key []byte) bool { return key[0] == 'u' }})
	for _, c := range []struct {
		write func(tx storage.Txn) error
		want  error
	}{
		{func(storage.Txn) error { return nil }, nil},
		{func(tx storage.Txn) error { return tx.Set([]byte("b"), []byte("1")) }, nil},
		{func(tx storage.Txn) error { return tx.Set([]byte("a"), []byte("1")) }, storage.ErrConflict},
		{func(tx storage.Txn) error { return tx.Delete([]byte("a")) }, storage.ErrConflict},
		{func(tx storage.Txn) error { return errors.Join(tx.Delete([]byte("a")), tx.Delete([]byte("u"))) }, nil},
	} {
		tx, err := f.Begin(t.Context(), storage.TxnOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.write(tx); err != nil {
			t.Fatal(err)
		}
		if _, err := tx.Commit(t.Context(), storage.Synced); !errors.Is(err, c.want) {
			t.Errorf("%v, want %v", err, c.want)
		}
	}
	if f.Applied(Commit) != 2 {
		t.Errorf("struck %d times", f.Applied(Commit))
	}
}
