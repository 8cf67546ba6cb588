package archivetest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/backup"
	"github.com/cantledb/cantle/storage/pebblekv"
)

// life is a store on files, and its content after each commit.
type life struct {
	t     *testing.T
	now   func() time.Time
	store storage.Store
	rnd   *rand.Rand
	times []storage.Timestamp
	after []map[string]string
}

func newLife(t *testing.T, now func() time.Time) *life {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	s, err := pebblekv.Open(filepath.Join(t.TempDir(), "store"), pebblekv.Options{Clock: now, ReserveBytes: -1, MemtableBytes: 256 << 10})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return &life{t: t, now: now, store: s, rnd: rand.New(rand.NewPCG(seed, 1))}
}

// write makes n commits.
func (l *life) write(n int) {
	l.t.Helper()
	for range n {
		txn, err := l.store.Begin(l.t.Context(), storage.TxnOptions{})
		if err != nil {
			l.t.Fatal(err)
		}
		now := map[string]string{}
		if len(l.after) > 0 {
			now = maps.Clone(l.after[len(l.after)-1])
		}
		for range 1 + l.rnd.IntN(4) {
			key, value := fmt.Sprintf("r%03d", l.rnd.IntN(200)), fmt.Sprint(l.rnd.Uint64(), string(make([]byte, l.rnd.IntN(2000))))
			if err := txn.Set([]byte(key), []byte(value)); err != nil {
				l.t.Fatal(err)
			}
			now[key] = value
		}
		ts, err := txn.Commit(l.t.Context(), storage.Buffered)
		if err != nil {
			l.t.Fatal(err)
		}
		l.times, l.after = append(l.times, ts), append(l.after, now)
	}
}

func (l *life) source() backup.Source { return l.store.(backup.Source) }

func (l *life) take(a backup.Archive) *backup.Base {
	l.t.Helper()
	b, err := backup.Take(l.t.Context(), l.source(), a, backup.Options{Program: "test", Now: l.now})
	if err != nil {
		l.t.Fatal(err)
	}
	return b
}

func (l *life) ship(a backup.Archive) {
	l.t.Helper()
	if _, err := backup.Ship(l.t.Context(), l.source(), a); err != nil {
		l.t.Fatal(err)
	}
}

// open reads the lists of an archive.
func (l *life) open(a backup.Archive) *backup.Folder {
	l.t.Helper()
	f, err := backup.Open(l.t.Context(), a)
	if err != nil {
		l.t.Fatal(err)
	}
	return f
}

// compare restores the moment after commit i, and compares it.
func (l *life) compare(a backup.Archive, i int, documentsOnly bool) {
	l.t.Helper()
	plan, err := l.open(a).Find(l.times[i])
	if err != nil {
		l.t.Fatal(err)
	}
	dir := l.t.TempDir()
	if err := plan.Restore(l.t.Context(), dir, documentsOnly, nil); err != nil {
		l.t.Fatal(err)
	}
	s, err := pebblekv.Open(dir, pebblekv.Options{ReserveBytes: -1})
	if err != nil {
		l.t.Fatal(err)
	}
	defer s.Close()
	r, err := s.Snapshot(l.t.Context(), 0)
	if err != nil {
		l.t.Fatal(err)
	}
	defer r.Close()
	it, err := r.Iter(context.Background(), storage.Range{Start: []byte("r"), End: []byte("s")}, storage.IterOptions{})
	if err != nil {
		l.t.Fatal(err)
	}
	defer it.Close()
	got := map[string]string{}
	for it.Next() {
		got[string(it.Key())] = string(it.Value())
	}
	if err := it.Err(); err != nil || !maps.Equal(got, l.after[i]) {
		l.t.Errorf("after commit %d of %d there are %d keys, not the %d of then, %v", i, len(l.times), len(got), len(l.after[i]), err)
	}
}

// verify compares all files, and returns the findings.
func (l *life) verify(a backup.Archive) []backup.Finding {
	l.t.Helper()
	found, err := l.open(a).Verify(l.t.Context(), nil)
	if err != nil {
		l.t.Fatal(err)
	}
	return found
}

// testMoments makes bases and segments, and restores random moments.
func testMoments(t *testing.T, now func() time.Time, a backup.Archive) {
	l := newLife(t, now)
	l.write(50)
	l.take(a)
	first := len(l.times) - 1
	for range 3 {
		for range 4 {
			l.write(20)
			l.ship(a)
		}
		l.take(a)
	}
	l.write(10)
	l.ship(a)
	if spans := l.open(a).Timelines[0].Covered(); len(spans) != 1 {
		t.Errorf("%d spans are covered", len(spans))
	}
	if found := l.verify(a); len(found) > 0 {
		t.Errorf("findings: %v", found)
	}
	l.compare(a, len(l.times)-1, false)
	for i := range 6 {
		l.compare(a, first+l.rnd.IntN(len(l.times)-first), i%2 == 0)
	}
}

// testDamage checks that missing and changed files are found.
func testDamage(t *testing.T, now func() time.Time, a backup.Archive) {
	l := newLife(t, now)
	l.write(60)
	b := l.take(a)
	l.write(20)
	l.ship(a)
	line := l.open(a).Timelines[0]
	files := []string{line.ID + "/base-000001/backup.json"}
	for _, s := range line.Segments {
		files = append(files, line.ID+"/log/"+s.Name)
	}
	for _, f := range b.Files {
		if f.Size > 0 && f.Table {
			files = append(files, line.ID+"/tables/"+f.Name)
		} else if f.Size > 0 {
			files = append(files, line.ID+"/base-000001/"+f.Name)
		}
	}
	last := line.ID + "/log/" + line.Segments[len(line.Segments)-1].Name
	for _, name := range files {
		whole := read(t, a, name, 0)
		flipped := slices.Clone(whole)
		flipped[l.rnd.IntN(len(whole))] ^= 1 << l.rnd.IntN(8)
		for kind, data := range map[string][]byte{"flipped": flipped, "cut off": whole[:l.rnd.IntN(len(whole))], "gone": nil} {
			if err := a.Remove(t.Context(), name); err != nil {
				t.Fatal(err)
			}
			if kind != "gone" {
				put(t, a, name, data)
			}
			if kind == "gone" && name == last { // later moments are not covered, and nothing else needs them
				put(t, a, name, whole)
				continue
			}
			if found := l.verify(a); !slices.ContainsFunc(found, func(x backup.Finding) bool { return !x.Harmless() }) {
				t.Errorf("%s, %s: nothing was found", name, kind)
			}
			if kind == "gone" {
				put(t, a, name, whole)
				continue
			}
			if err := a.Remove(t.Context(), name); err != nil {
				t.Fatal(err)
			}
			put(t, a, name, whole)
		}
	}
	if found := l.verify(a); len(found) > 0 {
		t.Errorf("at the end: %v", found)
	}
}

// testPrune checks that old bases and their files are deleted, none while a restore holds the archive, and that the
// later moments stay.
func testPrune(t *testing.T, now func() time.Time, a backup.Archive) {
	l := newLife(t, now)
	var made []storage.Timestamp
	for range 4 {
		l.write(60)
		made = append(made, l.take(a).Time)
	}
	prune := func() backup.Pruned {
		t.Helper()
		p, err := backup.Prune(t.Context(), a, made[2])
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	_, release, err := a.Hold(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if p := prune(); p.Bases != 0 {
		t.Errorf("beside a restore: %+v", p)
	}
	release()
	if p := prune(); p.Bases != 2 {
		t.Errorf("%+v", p)
	}
	if found := l.verify(a); len(found) > 0 {
		t.Errorf("findings: %v", found)
	}
	if _, err := l.open(a).Find(made[1]); !errors.Is(err, backup.ErrNotCovered) {
		t.Errorf("it is still there: %v", err)
	}
	l.compare(a, len(l.times)-1, false)
	id := l.open(a).Timelines[0].ID
	if names := list(t, a, id); !slices.Equal(names, []string{"base-000003/", "base-000004/", "log/", "tables/"}) {
		t.Errorf("there is %q", names)
	}
}
