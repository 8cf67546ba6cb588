package session

import (
	"errors"
	"testing"
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/memkv"
)

func result(n int32) bson.Raw {
	b := bson.NewBuilder(nil)
	b.Int32("n", n)
	return b.Doc()
}

// do runs one statement of a retryable write, or returns the stored result if the statement has run before.
func do(t *testing.T, st storage.Store, r *Registry, number int64, stmt, n int32) (got bson.Raw, replayed bool) {
	t.Helper()
	s, err := r.Checkout(t.Context(), write(number))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Checkin()
	if got, ok, err := s.Replay(stmt); err != nil || ok {
		if err != nil {
			t.Fatal(err)
		}
		return got, true
	}
	txn, err := st.Begin(t.Context(), storage.TxnOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.SaveResult(t.Context(), txn, stmt, stmt, result(n)); err != nil {
		t.Fatal(err)
	}
	if _, err := txn.Commit(t.Context(), storage.Synced); err != nil {
		t.Fatal(err)
	}
	s.Remember(stmt, result(n))
	return result(n), false
}

// TestStore checks that a new registry over the same store, as after a restart, returns the stored results of the
// highest txnNumber only.
func TestStore(t *testing.T) {
	st := memkv.Open(memkv.Options{})
	defer st.Close()
	h := NewStore(st)
	r := New(Config{History: h})
	for stmt := range int32(3) {
		if _, replayed := do(t, st, r, 1, stmt, stmt); replayed {
			t.Fatalf("statement %d was never executed", stmt)
		}
	}
	do(t, st, r, 2, 0, 100)

	r = New(Config{History: h}) // a restart
	got, replayed := do(t, st, r, 2, 0, 7)
	if n, _ := got.Get("n").Int32(); !replayed || n != 100 {
		t.Errorf("statement 0 of 2 after a restart: %v, replayed %v", got, replayed)
	}
	if _, replayed := do(t, st, r, 2, 1, 8); replayed {
		t.Error("statement 1 of 2 was answered from number 1")
	}
	if _, err := r.Checkout(t.Context(), write(1)); code(err) != "225" {
		t.Errorf("an old number after a restart: %v", err)
	}
}

// TestStoreCommit checks that a commit is stored together with what it commits, and can be repeated after a restart,
// and that nothing is stored of a commit that had a write conflict.
func TestStoreCommit(t *testing.T) {
	st := memkv.Open(memkv.Options{})
	defer st.Close()
	h := NewStore(st)
	r := New(Config{History: h})
	commit := func(number int64, disturb bool) error {
		s, err := r.Checkout(t.Context(), start(number))
		if err != nil {
			t.Fatal(err)
		}
		defer s.Checkin()
		txn, err := st.Begin(t.Context(), storage.TxnOptions{})
		if err != nil {
			t.Fatal(err)
		}
		s.Attach(Holding{Txn: txn})
		if err := txn.Set([]byte("k"), []byte{byte(number)}); err != nil {
			t.Fatal(err)
		}
		if disturb {
			other, err := st.Begin(t.Context(), storage.TxnOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if err := other.Set([]byte("k"), []byte("x")); err != nil {
				t.Fatal(err)
			}
			if _, err := other.Commit(t.Context(), storage.Synced); err != nil {
				t.Fatal(err)
			}
		}
		_, err = s.Commit(t.Context(), storage.Synced)
		return err
	}
	if err := commit(5, false); err != nil {
		t.Fatal(err)
	}
	again := func(number int64) error {
		r := New(Config{History: h})
		s, err := r.Checkout(t.Context(), ending(number))
		if err != nil {
			return err
		}
		defer s.Checkin()
		_, err = s.Commit(t.Context(), storage.Synced)
		return err
	}
	if err := again(5); err != nil {
		t.Errorf("a commit repeated after a restart: %v", err)
	}
	if err := commit(6, true); !errors.Is(err, storage.ErrConflict) {
		t.Fatalf("conflicting commit: %v", err)
	}
	if err := again(6); code(err) != "251" {
		t.Errorf("a failed commit repeated after a restart: %v", err)
	}
}

// TestStoreForget checks that neither ended sessions nor sessions abandoned by their clients leave entries in the
// store.
func TestStoreForget(t *testing.T) {
	st := memkv.Open(memkv.Options{})
	defer st.Close()
	h := NewStore(st)
	r := New(Config{History: h})
	left := func() bool {
		_, ok, err := h.Load(t.Context(), id(1))
		if err != nil {
			t.Fatal(err)
		}
		return ok
	}
	for stmt := range int32(2*upkeepBatch + 1) {
		do(t, st, r, 1, stmt, 1)
	}
	r.End(id(1))
	if left() {
		t.Error("an ended session is still remembered")
	}
	do(t, st, r, 1, 0, 1)
	if n, err := h.Sweep(t.Context(), time.Now().Add(-time.Hour)); n != 0 || err != nil || !left() {
		t.Errorf("a young session was swept: %d, %v", n, err)
	}
	if n, err := h.Sweep(t.Context(), time.Now().Add(time.Hour)); n != 1 || err != nil || left() {
		t.Errorf("an old session was not swept: %d, %v", n, err)
	}
}

// A statement whose commit is undetermined runs again only if the commit did not happen, and then the late commit
// can no longer happen.
func TestUndeterminedStatement(t *testing.T) {
	st := memkv.Open(memkv.Options{})
	defer st.Close()
	for number, arrives := range []bool{true, false} {
		number := int64(number + 1)
		r := New(Config{History: NewStore(st)})
		s, err := r.Checkout(t.Context(), write(number))
		if err != nil {
			t.Fatal(err)
		}
		late, err := st.Begin(t.Context(), storage.TxnOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.SaveResult(t.Context(), late, 0, 0, result(1)); err != nil {
			t.Fatal(err)
		}
		if arrives {
			if _, err := late.Commit(t.Context(), storage.Synced); err != nil {
				t.Fatal(err)
			}
		}
		s.Invalidate(storage.ErrUndetermined)
		s.Checkin()
		if !arrives {
			if s, err = r.Checkout(t.Context(), write(number)); err != nil {
				t.Fatal(err)
			}
			s.Checkin()
			if _, err := late.Commit(t.Context(), storage.Synced); !errors.Is(err, storage.ErrConflict) {
				t.Errorf("a commit that is late: %v", err)
			}
		}
		if _, replayed := do(t, st, r, number, 0, 2); replayed != arrives {
			t.Errorf("arrives %v: replayed %v", arrives, replayed)
		}
	}
}
