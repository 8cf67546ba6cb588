package s3archive

import (
	"errors"
	"testing"
	"time"

	"github.com/cantledb/cantle/internal/s3server"
	"github.com/cantledb/cantle/storage/backup"
)

// short are terms with which a test does not take long.
var short = terms{renew: 50 * time.Millisecond, valid: time.Second, taken: 2 * time.Second, watch: 10 * time.Millisecond}

// TestLease checks that of two processes only one writes into an archive: while the first renews its lease, the second
// is refused; after the first has lost the store, the second takes over, and the first writes no more.
func TestLease(t *testing.T) {
	s := s3server.Start(t)
	p := s.Interpose(t)
	first, second := open(t, s, "shop", p.URL), open(t, s, "shop", s.URL)
	first.terms, second.terms = short, short
	lock, err := first.Lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	write := func(a *archive, name string) error {
		w, err := a.Create(t.Context(), name)
		if err != nil {
			return err
		}
		_, err = w.Write([]byte(name))
		return errors.Join(err, w.Commit())
	}
	if err := write(first, "a"); err != nil {
		t.Fatal(err)
	}
	if _, err := second.Lock(t.Context()); !errors.Is(err, backup.ErrBusy) {
		t.Fatalf("the second while the first runs: %v", err)
	}
	p.Down.Store(true)
	other, err := second.Lock(t.Context())
	if err != nil {
		t.Fatalf("the second after the first lost the store: %v", err)
	}
	p.Down.Store(false)
	if err := write(first, "b"); !errors.Is(err, ErrFenced) {
		t.Errorf("the first writes: %v", err)
	}
	if err := first.Remove(t.Context(), "a"); !errors.Is(err, ErrFenced) {
		t.Errorf("the first deletes: %v", err)
	}
	if err := write(second, "c"); err != nil {
		t.Errorf("the second writes: %v", err)
	}
	if err := write(second, "c"); err != nil {
		t.Errorf("the second writes the same again, as after a lost response: %v", err)
	}
	if err := errors.Join(lock.Close(), other.Close()); err != nil {
		t.Error(err)
	}
	h, _, err := second.readLock(t.Context())
	if err != nil || h.Epoch != 2 || !h.Released {
		t.Errorf("the lock is %+v, %v", h, err)
	}
}

// TestEpoch checks that a process whose lock was taken by another loses it at its next renewal, although its lease has
// not run out.
func TestEpoch(t *testing.T) {
	s := s3server.Start(t)
	a := open(t, s, "", s.URL)
	a.terms = short
	a.terms.valid = time.Hour
	lock, err := a.Lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := a.client.RemoveObject(t.Context(), a.bucket, lockName, removal); err != nil {
		t.Fatal(err)
	}
	<-a.lease.Load().ctx.Done()
	if w, _ := a.Create(t.Context(), "x"); !errors.Is(w.Commit(), ErrFenced) {
		t.Error("it writes")
	}
	if err := lock.Close(); err != nil {
		t.Error(err)
	}
}

// TestSeize takes the lock from a process that renews it: that one loses its lease at its next renewal, and the lock is free
// at once.
func TestSeize(t *testing.T) {
	s := s3server.Start(t)
	first, second := open(t, s, "shop", s.URL), open(t, s, "shop", s.URL)
	first.terms, second.terms = short, short
	if err := second.Seize(t.Context()); err != nil {
		t.Fatalf("without a lock: %v", err)
	}
	lock, err := first.Lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := second.Seize(t.Context()); err != nil {
		t.Fatal(err)
	}
	other, err := second.Lock(t.Context())
	if err != nil {
		t.Fatalf("the lock is not free: %v", err)
	}
	<-lock.(*lease).ctx.Done()
	if err := lock.(*lease).Lost(); !errors.Is(err, ErrFenced) {
		t.Errorf("the first has lost its lease by %v", err)
	}
	if w, _ := first.Create(t.Context(), "x"); !errors.Is(w.Commit(), ErrFenced) {
		t.Error("the first writes")
	}
	if err := errors.Join(lock.Close(), other.Close()); err != nil {
		t.Error(err)
	}
}
