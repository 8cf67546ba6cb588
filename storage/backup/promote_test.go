package backup

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"testing"
	"time"

	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/pebblekv"
)

// unsteady is an archive that fails at one method, before or after it has done its work.
type unsteady struct {
	Archive
	before, after bool // of Claim
	unreadable    bool
	claims        int
}

func (u *unsteady) List(ctx context.Context, dir string) ([]Entry, error) {
	if u.unreadable {
		return nil, errUnsteady
	}
	return u.Archive.List(ctx, dir)
}

var errUnsteady = errors.New("the network fails")

func (u *unsteady) Claim(ctx context.Context, name string, data []byte) error {
	u.claims++
	if u.before {
		return errUnsteady
	}
	if err := u.Archive.Claim(ctx, name, data); err != nil || !u.after {
		return err
	}
	return errUnsteady
}

// promoted opens the copy as the primary that it has become, and compares it with the world at the time of the term.
func (c *copyOf) promoted(term Term) {
	c.t.Helper()
	if err := c.store.Close(); err != nil {
		c.t.Fatal(err)
	}
	if err := BeginTimeline(c.dir, term.Timeline); err != nil {
		c.t.Fatal(err)
	}
	want := c.w.state(term.Time)
	for range 2 { // the second open is after a restart
		s, err := pebblekv.Open(c.dir, pebblekv.Options{EndFollow: true, ReserveBytes: -1, MemtableBytes: 256 << 10, Clock: time.Now})
		if err != nil {
			c.t.Fatal(err)
		}
		if s.Latest() < term.Time {
			c.t.Errorf("the newest state is %v, before the term at %v", s.Latest(), term.Time)
		}
		n := 0
		r, err := s.Snapshot(c.t.Context(), 0)
		if err != nil {
			c.t.Fatal(err)
		}
		if err := storage.Each(c.t.Context(), r, storage.Range{Start: []byte("r"), End: []byte("s")}, func(key, value []byte) error {
			n++
			if text, there := want[string(key)]; !there || text != string(value) {
				c.t.Errorf("%s has another value", key)
			}
			return nil
		}); err != nil || n != len(want) {
			c.t.Errorf("%d of %d keys, %v", n, len(want), err)
		}
		r.Close()
		txn, err := s.Begin(c.t.Context(), storage.TxnOptions{})
		if err != nil {
			c.t.Fatal(err)
		}
		if err := txn.Set([]byte("rnew"), []byte("x")); err != nil {
			c.t.Fatal(err)
		}
		if at, err := txn.Commit(c.t.Context(), storage.Synced); err != nil || at <= term.Time {
			c.t.Errorf("a write at %v: %v", at, err)
		}
		b, err := Take(c.t.Context(), s.(Source), c.f.archive, Options{Program: "test", Now: time.Now})
		if err != nil || b.Timeline != term.Timeline {
			c.t.Errorf("a backup of the new primary: %+v, %v", b, err)
		}
		want["rnew"] = "x"
		if err := s.Close(); err != nil {
			c.t.Fatal(err)
		}
	}
}

// TestPromote promotes a follower. The former primary is refused, also after the new one has written; its writes up to the
// last segment are there, later ones are not; a second follower is not promoted, and follows the new primary.
func TestPromote(t *testing.T) {
	w := newWorld(t, uint64(time.Now().UnixNano()))
	a := InFolder(filepath.Join(t.TempDir(), "backups"))
	w.write(100)
	w.ship(a)
	c, other := follow(t, w, a), follow(t, w, a)
	w.write(50)
	w.ship(a)
	shipped := w.times[len(w.times)-1]
	w.write(20)
	if err := c.f.Promote(t.Context(), "second"); err != nil {
		t.Fatal(err)
	}
	term := *c.kept
	if term.Number != 2 || term.Time < shipped || term.By != "second" || c.f.Promoted() == nil {
		t.Errorf("the term is %+v, and the last write that was shipped at %v", term, shipped)
	}
	deposed := (*DeposedError)(nil)
	if _, err := Ship(t.Context(), w.src(), a); !errors.As(err, &deposed) || deposed.Term != term {
		t.Errorf("a segment of the former primary: %v", err)
	}
	if _, err := Take(t.Context(), w.src(), a, Options{Program: "test", Now: time.Now}); !errors.As(err, &deposed) {
		t.Errorf("a backup of the former primary: %v", err)
	}
	if all, err := ReadTerms(t.Context(), a, w.src().Folder()); err != nil || all.Newest != 2 || all.Deposed == nil || *all.Deposed != term || all.Other != nil {
		t.Errorf("the terms at the start of the former primary: %+v, %v", all, err)
	}
	if err := other.f.Promote(t.Context(), "third"); !errors.Is(err, ErrTimeline) {
		t.Errorf("the promotion of the second follower: %v", err)
	}
	c.promoted(term)
	if err := other.f.lookForTimelines(t.Context()); !errors.Is(err, ErrTimeline) || !errors.As(err, &deposed) {
		t.Errorf("the second follower: %v", err)
	}
	if all, err := ReadTerms(t.Context(), a, c.dir); err != nil || all.Newest != 2 || all.Deposed != nil || all.Other != nil {
		t.Errorf("the terms at the start of the new primary: %+v, %v", all, err)
	}
	if all, err := ReadTerms(t.Context(), a, t.TempDir()); err != nil || all.Other == nil || *all.Other != term {
		t.Errorf("the terms at the start of a restored server: %+v, %v", all, err)
	}
	place := InFolder(filepath.Join(t.TempDir(), "other"))
	if err := errors.Join(KeepTerm(t.Context(), place, 2), KeepTerm(t.Context(), place, 2)); err != nil {
		t.Error(err)
	}
	if _, err := Take(t.Context(), w.src(), place, Options{Program: "test", Now: time.Now}); err != nil {
		t.Errorf("a backup in a place with the term of another one: %v", err)
	}
	if all, err := ReadTerms(t.Context(), place, t.TempDir()); err != nil || all.Newest != 2 || all.Other != nil {
		t.Errorf("the terms of a place with the term of another one: %+v, %v", all, err)
	}
}

// TestPromoteInterrupted ends a promotion at each of its steps. If the archive has the term, the promotion is completed, in the same
// process or in the next one. If it does not, the promotion is given up, and the follower goes on; a term that is requested
// later does not begin with the old position.
func TestPromoteInterrupted(t *testing.T) {
	for _, x := range []struct {
		name                      string
		recorded                  bool // the record succeeds
		before, after, unreadable bool // the term cannot be begun, or its response is lost; the archive does not answer then
		killed, promoted          bool
	}{
		{name: "no record"},
		{name: "no term", recorded: true, before: true},
		{name: "no term, killed", recorded: true, before: true, unreadable: true, killed: true},
		{name: "no term, unreadable", recorded: true, before: true, unreadable: true},
		{name: "lost response", recorded: true, after: true, promoted: true},
		{name: "lost response, unreadable", recorded: true, after: true, unreadable: true, promoted: true},
		{name: "lost response, killed", recorded: true, after: true, unreadable: true, killed: true, promoted: true},
	} {
		t.Run(x.name, func(t *testing.T) {
			w := newWorld(t, uint64(time.Now().UnixNano()))
			folder := InFolder(filepath.Join(t.TempDir(), "backups"))
			w.write(100)
			w.ship(folder)
			a := &unsteady{Archive: folder, before: x.before, after: x.after}
			c := follow(t, w, a)
			w.write(50)
			w.ship(folder)
			var term Term
			c.f.Keep = func(t *Term) error {
				if !x.recorded {
					return fs.ErrPermission
				}
				if c.kept = t; t != nil {
					term, a.unreadable = *t, x.unreadable
				}
				return nil
			}
			err := c.f.Promote(t.Context(), "second")
			if done := x.promoted && !x.unreadable; done != (err == nil) || done != (c.f.Promoted() != nil) {
				t.Fatalf("the promotion: %v", err)
			}
			if errors.Is(err, ErrNotBegun) != (x.recorded && !x.promoted && !x.unreadable) {
				t.Errorf("the promotion: %v", err)
			}
			if x.unreadable {
				claims := a.claims
				if err := c.f.next(t.Context(), false); !errors.Is(err, errUnsteady) || c.f.pending == nil || a.claims != claims {
					t.Errorf("while the archive does not answer: %v", err)
				}
			}
			a.before, a.after, a.unreadable = false, false, false
			if x.killed { // all that was applied before the record is there
				c.dir = filesOfOneMoment(t, c.dir)
				if err := c.store.Close(); err != nil {
					t.Fatal(err)
				}
				c.open(a)
				c.kept = &term
				c.f.Resume(term)
			}
			if x.promoted {
				if err := c.f.Run(t.Context()); err != nil || c.f.Promoted() == nil || *c.f.Promoted() != term {
					t.Fatalf("the follower ended with %v", err)
				}
				c.promoted(term)
				return
			}
			w.write(10) // the former primary is still the primary
			w.ship(folder)
			if err := c.f.next(t.Context(), false); err != nil || c.f.Promoted() != nil || c.f.pending != nil || c.kept != nil {
				t.Fatalf("the follower does not go on: %v, %v, %v", err, c.f.Promoted(), c.kept)
			}
			c.check()
			if x.unreadable { // the request of the first attempt arrives late
				if err := term.claim(t.Context(), folder); !errors.Is(err, fs.ErrExist) {
					t.Errorf("the term begins late: %v", err)
				}
			}
			w.write(10)
			w.ship(folder)
			if got, want := c.store.Position().Time, w.times[len(w.times)-11]; got < want {
				t.Errorf("the follower is at %v, before %v", got, want)
			}
			c.f.Keep = func(t *Term) error { c.kept = t; return nil }
			if err := c.f.Promote(t.Context(), "second"); err != nil || c.kept.Next <= term.Next || c.kept.Time <= term.Time {
				t.Fatalf("the second promotion: %v, %+v after %+v", err, c.kept, term)
			}
			c.promoted(*c.kept)
		})
	}
}

// TestPromotedTwice begins a promotion that another server forestalls: the follower goes on, and follows that server.
func TestPromotedTwice(t *testing.T) {
	w := newWorld(t, uint64(time.Now().UnixNano()))
	folder := InFolder(filepath.Join(t.TempDir(), "backups"))
	w.write(100)
	w.ship(folder)
	a := &unsteady{Archive: folder, before: true}
	slow, fast := follow(t, w, a), follow(t, w, folder)
	slow.f.Keep = func(term *Term) error { slow.kept, a.unreadable = term, term != nil; return nil }
	if err := slow.f.Promote(t.Context(), "slow"); !errors.Is(err, errUnsteady) {
		t.Fatal(err)
	}
	a.before, a.unreadable = false, false
	if err := fast.f.Promote(t.Context(), "fast"); err != nil {
		t.Fatal(err)
	}
	fast.promoted(*fast.kept)
	if err := slow.f.next(t.Context(), false); err != nil || slow.f.Promoted() != nil || slow.kept != nil {
		t.Errorf("the slow one: %v, %v, %v", err, slow.f.Promoted(), slow.kept)
	}
	slow.f.looked = time.Time{}
	if err := slow.f.next(t.Context(), false); !errors.Is(err, ErrTimeline) {
		t.Errorf("the slow one does not follow the fast one: %v", err)
	}
}
