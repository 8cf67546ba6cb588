package backup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/pebblekv"
)

// copyOf is a store that follows that of a world, as a Follower sees it.
type copyOf struct {
	t     *testing.T
	w     *world
	dir   string
	store pebblekv.Follower
	f     *Follower
	seen  []pebblekv.Applied
	kept  *Term // by Follower.Keep
}

// follow begins a copy of what an archive has.
func follow(t *testing.T, w *world, a Archive) *copyOf {
	t.Helper()
	c := &copyOf{t: t, w: w, dir: filepath.Join(t.TempDir(), "copy")}
	if _, err := Begin(t.Context(), a, c.dir, nil); err != nil {
		t.Fatal(err)
	}
	c.open(a)
	t.Cleanup(func() { _ = c.store.Close() })
	return c
}

func (c *copyOf) open(a Archive) {
	c.t.Helper()
	s, err := pebblekv.Open(c.dir, pebblekv.Options{Follow: true, ReserveBytes: -1, MemtableBytes: 256 << 10, Clock: time.Now})
	if err != nil {
		c.t.Fatal(err)
	}
	c.store = s.(pebblekv.Follower)
	c.f = NewFollower(a, c.store, time.Now, func(_ context.Context, what pebblekv.Applied) error {
		c.seen = append(c.seen, what)
		return nil
	}, func(string, error) {})
	c.f.looked = time.Now()
	c.f.Keep = func(term *Term) error { c.kept = term; return nil }
}

// step applies what the archive has, and compares the copy with the world.
func (c *copyOf) step() {
	c.t.Helper()
	if err := c.f.step(c.t.Context()); err != nil {
		c.t.Fatal(err)
	}
	c.check()
}

// check compares the copy with the state of the world at its position, by scans and by lookups of each key, which the
// cache of single values serves after a few.
func (c *copyOf) check() {
	c.t.Helper()
	ctx := c.t.Context()
	want := c.w.state(c.store.Position().Time)
	if at := c.store.Latest(); at != c.store.Position().Time || c.store.Durable() != at {
		c.t.Fatalf("the newest state is %v, the durable one %v, and not the applied one %v", at, c.store.Durable(), c.store.Position().Time)
	}
	r, err := c.store.Snapshot(ctx, 0)
	if err != nil {
		c.t.Fatal(err)
	}
	defer r.Close()
	got := map[string]string{}
	if err := storage.Each(ctx, r, storage.Range{Start: []byte("r"), End: []byte("s")}, func(key, value []byte) error {
		got[string(key)] = string(value)
		return nil
	}); err != nil {
		c.t.Fatal(err)
	}
	if !maps.Equal(got, want) {
		c.t.Fatalf("a scan of the copy has %d keys, or other ones than the %d at that time", len(got), len(want))
	}
	for i := range 300 {
		key := fmt.Sprintf("r%03d", i)
		v, err := r.Get(ctx, []byte(key), nil)
		if text, there := want[key]; there != (err == nil) || string(v) != text {
			c.t.Fatalf("the copy has another value of %s than the store: %v", key, err)
		}
	}
}

// ship makes a backup of the world's newest state: a segment, or sometimes a base.
func (w *world) ship(a Archive) {
	w.t.Helper()
	_, err := Ship(w.t.Context(), w.src(), a)
	if w.rnd.IntN(10) == 0 || errors.Is(err, errNoBase) {
		_, err = Take(w.t.Context(), w.src(), a, Options{Program: "test", Now: time.Now})
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// TestFollow compares a copy that follows a store with that store after each segment: across restarts of both, across
// merges of segments, and after crashes of the copy, in which any part of what was applied last is lost.
func TestFollow(t *testing.T) {
	w := newWorld(t, uint64(time.Now().UnixNano()))
	a := InFolder(filepath.Join(t.TempDir(), "backups"))
	w.write(100)
	w.ship(a)
	c := follow(t, w, a)
	c.check()
	cut := false
	for range 60 {
		w.write(1 + w.rnd.IntN(40))
		switch w.rnd.IntN(6) {
		case 0:
			w.reopen()
		case 1: // deletes of ranges, and of the log
			if err := w.store.DeleteRange(t.Context(), storage.Range{Start: []byte("t"), End: []byte("u")}); err != nil {
				t.Fatal(err)
			}
			if err := w.store.TruncateLog(t.Context(), []byte("changes"), w.times[len(w.times)/2]); err != nil {
				t.Fatal(err)
			}
			cut = true
		}
		w.ship(a)
		if w.rnd.IntN(3) > 0 {
			c.step()
		}
		switch w.rnd.IntN(8) {
		case 0:
			if err := c.store.Close(); err != nil {
				t.Fatal(err)
			}
			c.open(a)
			c.check()
		case 1: // the files of a process that was killed
			killed := &copyOf{t: t, w: w, dir: filesOfOneMoment(t, c.dir)}
			killed.open(a)
			killed.check()
			killed.step()
			if err := killed.store.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	w.write(10)
	w.ship(a)
	c.step()
	if got, want := c.store.Position().Time, w.times[len(w.times)-1]; got < want {
		t.Fatalf("the copy ends at %v, before the last commit %v", got, want)
	}
	count := func(s storage.Store) (n int, truncated bool) {
		after := storage.Timestamp(0)
		if _, err := s.ReadLog(t.Context(), []byte("changes"), after, func(_, _ storage.Timestamp, _ []byte) bool { n++; return true }); err != nil {
			t.Fatal(err)
		}
		_, err := s.ReadLog(t.Context(), []byte("changes"), 1, func(_, _ storage.Timestamp, _ []byte) bool { return true })
		return n, errors.Is(err, storage.ErrLogTruncated)
	}
	records, short := count(c.store)
	if n, s := count(w.store); n != records || s != short || s != cut {
		t.Fatalf("the copy has %d records of the change log, cut off: %v; the store has %d, %v", records, short, n, s)
	}
}

// filesOfOneMoment returns the folder of a copy of dir, which a store is using. A copy is made again if a compaction has
// created or deleted files meanwhile: the list of files that it copied would name some that it lacks.
func filesOfOneMoment(t *testing.T, dir string) string {
	t.Helper()
	names := func() (all []string) {
		list, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range list {
			all = append(all, e.Name())
		}
		return all
	}
	for {
		to, before := filepath.Join(t.TempDir(), "killed"), names()
		if err := os.CopyFS(to, os.DirFS(dir)); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		} else if err == nil && slices.Equal(before, names()) {
			return to
		}
	}
}

// TestFollowRefuses checks that a copy accepts no writes but those of the store that it follows, and that its files are
// not opened as those of another store.
func TestFollowRefuses(t *testing.T) {
	w := newWorld(t, 1)
	a := InFolder(filepath.Join(t.TempDir(), "backups"))
	w.write(10)
	w.ship(a)
	c := follow(t, w, a)
	txn, err := c.store.Begin(t.Context(), storage.TxnOptions{Essential: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := txn.Set([]byte("r"), []byte("x")); err != nil {
		t.Fatal(err)
	}
	if _, err := txn.Commit(t.Context(), storage.Synced); !errors.Is(err, storage.ErrFollower) {
		t.Errorf("a commit: %v", err)
	}
	if err := c.store.DeleteRange(t.Context(), storage.Range{Start: []byte("r"), End: []byte("s")}); !errors.Is(err, storage.ErrFollower) {
		t.Errorf("a deleted range: %v", err)
	}
	if err := c.store.TruncateLog(t.Context(), []byte("changes"), c.store.Latest()); !errors.Is(err, storage.ErrFollower) {
		t.Errorf("a truncated log: %v", err)
	}
	if _, err := Take(t.Context(), c.store.(Source), InFolder(t.TempDir()), Options{Now: time.Now}); !errors.Is(err, storage.ErrFollower) {
		t.Errorf("a backup: %v", err)
	}
	c.check()
	if err := c.store.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := pebblekv.Open(c.dir, pebblekv.Options{ReserveBytes: -1}); !errors.Is(err, storage.ErrFollower) {
		t.Errorf("opened for writing: %v", err)
	}
	w.reopen()
	if err := w.store.Close(); err != nil {
		t.Fatal(err)
	}
	if s, err := pebblekv.Open(w.data, pebblekv.Options{Follow: true, ReserveBytes: -1}); err == nil {
		s.Close()
		t.Error("a store that follows none was opened to follow one")
	}
	w.open()
	c.open(a)
	c.check()
}

// TestFollowMissesPlace checks that an attempt fails while the place of the backups, or the followed timeline in it, is gone,
// and succeeds when it is back.
func TestFollowMissesPlace(t *testing.T) {
	w := newWorld(t, 1)
	dir := filepath.Join(t.TempDir(), "backups")
	a := InFolder(dir)
	w.write(10)
	w.ship(a)
	c := follow(t, w, a)
	c.step()
	for _, gone := range []string{dir, filepath.Join(dir, c.store.Position().Timeline)} {
		if err := os.Rename(gone, dir+".gone"); err != nil {
			t.Fatal(err)
		}
		if err := c.f.step(t.Context()); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("without %s: %v", gone, err)
		}
		if err := os.Rename(dir+".gone", gone); err != nil {
			t.Fatal(err)
		}
		w.write(10)
		w.ship(a)
		c.step()
	}
}

// likeStore is an archive that behaves as one in an object store: requests cost, and a missing folder has no files.
type likeStore struct{ Archive }

func (likeStore) KeepsLock() bool { return true }

func (a likeStore) List(ctx context.Context, dir string) ([]Entry, error) {
	list, err := a.Archive.List(ctx, dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return list, err
}

// TestFollowNoticesLostPlace checks that a place in an object store which is gone is an error of the next listing.
func TestFollowNoticesLostPlace(t *testing.T) {
	w := newWorld(t, 1)
	dir := filepath.Join(t.TempDir(), "backups")
	a := likeStore{InFolder(dir)}
	w.write(10)
	w.ship(a)
	c := follow(t, w, a)
	c.step()
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := c.f.step(t.Context()); !errors.Is(err, ErrNoBackup) {
		t.Errorf("a listing of the lost place: %v", err)
	}
}

// TestFollowIntervals checks the interval of listings: it grows while no segments come, and Hurry ends a long one.
func TestFollowIntervals(t *testing.T) {
	for empty, want := range map[int]time.Duration{0: time.Second, 10: time.Second, 11: 2 * time.Second, 13: 8 * time.Second, 1 << 30: 8 * time.Second} {
		if got := usualIntervals.after(empty); got != want {
			t.Errorf("after %d listings without a segment: %v", empty, got)
		}
	}
	w := newWorld(t, 1)
	a := InFolder(filepath.Join(t.TempDir(), "backups"))
	w.write(10)
	w.ship(a)
	if c := follow(t, w, a); c.f.pace.after(1<<20) != time.Second {
		t.Error("the interval of a folder grows")
	}
	c := follow(t, w, likeStore{a})
	c.f.pace = intervals{first: time.Hour, longest: 4 * time.Hour}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- c.f.Run(ctx) }()
	defer func() { // before the store is closed
		cancel()
		<-ended
	}()
	look := time.NewTicker(time.Millisecond)
	defer look.Stop()
	for c.f.Status().CaughtUp.IsZero() { // the first listing
		<-look.C
	}
	w.write(10)
	w.ship(a)
	want := w.times[len(w.times)-1]
	for begun := time.Now(); c.f.Status().Applied < want; <-look.C { // the second listing is due in hours
		c.f.Hurry()
		if time.Since(begun) > time.Minute {
			t.Fatalf("the state is that of %v, and not of %v", c.f.Status().Applied, want)
		}
	}
}

// TestFollowNotices checks that a copy reports changes of the catalog and of users once, before later writes are
// visible, and again if they could not be shown.
func TestFollowNotices(t *testing.T) {
	w := newWorld(t, 1)
	a := InFolder(filepath.Join(t.TempDir(), "backups"))
	w.write(10)
	w.ship(a)
	c := follow(t, w, a)
	put := func(key string) storage.Timestamp {
		txn, err := w.store.Begin(t.Context(), storage.TxnOptions{})
		if err == nil {
			err = txn.Set([]byte(key), []byte("x"))
		}
		if err != nil {
			t.Fatal(err)
		}
		ts, err := txn.Commit(t.Context(), storage.Synced)
		if err != nil {
			t.Fatal(err)
		}
		return ts
	}
	put("mn-counter")
	at := put("mc-collection")
	put("r-later")
	w.ship(a)
	fails := true
	c.f.changed = func(_ context.Context, what pebblekv.Applied) error {
		if !what.Catalog || what.Topics {
			t.Errorf("changed: %+v", what)
		}
		if got := c.store.Latest(); got != at {
			t.Errorf("the state is that of %v, not of the change at %v", got, at)
		}
		c.seen = append(c.seen, what)
		if fails {
			return errors.New("it cannot be read")
		}
		return nil
	}
	if err := c.f.step(t.Context()); err == nil {
		t.Error("a change that could not be shown is no error")
	}
	fails = false
	if err := c.f.step(t.Context()); err != nil || len(c.seen) != 2 {
		t.Fatalf("the change was reported %d times: %v", len(c.seen), err)
	}
	if c.store.Latest() == at {
		t.Error("later writes are not applied")
	}
	put("mu-user")
	w.ship(a)
	c.f.changed = func(_ context.Context, what pebblekv.Applied) error {
		if what.Catalog || !what.Topics {
			t.Errorf("changed: %+v", what)
		}
		c.seen = append(c.seen, what)
		return nil
	}
	if err := c.f.step(t.Context()); err != nil || len(c.seen) != 3 {
		t.Fatalf("the change of users was reported %d times: %v", len(c.seen)-2, err)
	}
}

// TestFollowEnds checks the errors of a copy that cannot go on: the log has a gap, and another timeline is newer.
func TestFollowEnds(t *testing.T) {
	w := newWorld(t, 1)
	dir := filepath.Join(t.TempDir(), "backups")
	a := InFolder(dir)
	w.write(10)
	w.ship(a)
	c := follow(t, w, a)
	w.write(10)
	if _, err := Ship(t.Context(), w.src(), a); err != nil {
		t.Fatal(err)
	}
	w.write(10)
	if _, err := Ship(t.Context(), w.src(), a); err != nil {
		t.Fatal(err)
	}
	f, err := Open(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	segments := f.Timelines[0].Segments
	if err := a.Remove(t.Context(), f.Timelines[0].segmentPath(segments[len(segments)-2])); err != nil {
		t.Fatal(err)
	}
	if err := c.f.Run(t.Context()); !errors.Is(err, ErrBehind) {
		t.Errorf("a gap in the log: %v", err)
	}
	c.check()
	other := newWorld(t, 2)
	other.write(1)
	if _, err := Take(t.Context(), other.src(), a, Options{Now: time.Now}); err != nil {
		t.Fatal(err)
	}
	if err := c.f.Run(t.Context()); !errors.Is(err, ErrTimeline) {
		t.Errorf("a newer timeline: %v", err)
	}
}
