package backup

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/pebblekv"
)

// world is the store that a test backs up, with the expected content after each commit.
type world struct {
	t     *testing.T
	data  string
	store storage.Store
	rnd   *rand.Rand
	sets  []set
	times []storage.Timestamp
}

// set is one write of a key by a transaction at a timestamp; an empty value is a deletion.
type set struct {
	at         storage.Timestamp
	key, value string
}

func newWorld(t *testing.T, seed uint64) *world {
	t.Logf("seed %d", seed)
	w := &world{t: t, data: filepath.Join(t.TempDir(), "store"), rnd: rand.New(rand.NewPCG(seed, 1))}
	w.open()
	t.Cleanup(func() { _ = w.store.Close() }) // otherwise a running compaction could write into the folder while the test removes it
	return w
}

func (w *world) open() {
	s, err := pebblekv.Open(w.data, pebblekv.Options{Clock: time.Now, ReserveBytes: -1, MemtableBytes: 256 << 10})
	if err != nil {
		w.t.Fatal(err)
	}
	w.store = s
}

func (w *world) reopen() {
	if err := w.store.Close(); err != nil {
		w.t.Fatal(err)
	}
	w.open()
}

// write makes n commits.
func (w *world) write(n int) {
	ctx := context.Background()
	for range n {
		txn, err := w.store.Begin(ctx, storage.TxnOptions{})
		if err != nil {
			w.t.Fatal(err)
		}
		begun := len(w.sets)
		for range 1 + w.rnd.IntN(5) {
			key, value := fmt.Sprintf("r%03d", w.rnd.IntN(300)), ""
			if w.rnd.IntN(4) == 0 {
				err = txn.Delete([]byte(key))
			} else {
				value = fmt.Sprint(w.rnd.Uint64(), string(make([]byte, w.rnd.IntN(2000))))
				err = txn.Set([]byte(key), []byte(value))
			}
			if err != nil {
				w.t.Fatal(err)
			}
			w.sets = append(w.sets, set{key: key, value: value})
		}
		if w.rnd.IntN(2) == 0 {
			if err := txn.AppendLog([]byte("changes"), []byte("something")); err != nil {
				w.t.Fatal(err)
			}
		}
		ts, err := txn.Commit(ctx, storage.Buffered)
		if err != nil {
			w.t.Fatal(err)
		}
		w.times = append(w.times, ts)
		for i := range w.sets[begun:] {
			w.sets[begun+i].at = ts
		}
	}
}

// state returns the content at a moment.
func (w *world) state(at storage.Timestamp) map[string]string {
	out := map[string]string{}
	for _, s := range w.sets {
		switch {
		case s.at > at:
			return out
		case s.value == "":
			delete(out, s.key)
		default:
			out[s.key] = s.value
		}
	}
	return out
}

func (w *world) src() Source { return w.store.(Source) }

// restored restores a moment and returns its content.
func restored(t *testing.T, dir string, at storage.Timestamp, documentsOnly bool) map[string]string {
	t.Helper()
	f, err := Open(t.Context(), InFolder(dir))
	if err != nil {
		t.Fatal(err)
	}
	p, err := f.Find(at)
	if err != nil {
		t.Fatal(err)
	}
	to := t.TempDir()
	if err := p.Restore(context.Background(), to, documentsOnly, nil); err != nil {
		t.Fatal(err)
	}
	s, err := pebblekv.Open(to, pebblekv.Options{ReserveBytes: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ctx := context.Background()
	r, err := s.Snapshot(ctx, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	it, err := r.Iter(ctx, storage.Range{Start: []byte("r"), End: []byte("s")}, storage.IterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer it.Close()
	got := map[string]string{}
	for it.Next() {
		got[string(it.Key())] = string(it.Value())
	}
	if it.Err() != nil {
		t.Fatal(it.Err())
	}
	return got
}

// bulk commits about a hundred kilobytes that no test changes later, so that bases share tables.
func bulk(w *world, n int) error {
	txn, err := w.store.Begin(context.Background(), storage.TxnOptions{})
	if err != nil {
		return err
	}
	for i := range 100 {
		noise := make([]byte, 1000)
		for j := range noise {
			noise[j] = byte(w.rnd.Uint32())
		}
		if err := txn.Set(fmt.Appendf(nil, "q%03d-%03d", n, i), noise); err != nil {
			return err
		}
	}
	_, err = txn.Commit(context.Background(), storage.Buffered)
	return err
}

// TestMoments restores random moments between the first backup and the last segment, and checks that each has
// exactly its content.
func TestMoments(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	w := newWorld(t, seed)
	ctx := context.Background()
	dir := filepath.Join(t.TempDir(), "backups")
	for i := range 40 {
		if err := bulk(w, i); err != nil {
			t.Fatal(err)
		}
	}
	w.write(200)
	first, little := 0, 0
	for round := range 6 {
		if _, err := Take(ctx, w.src(), InFolder(dir), Options{Program: "test", Now: time.Now}); err != nil {
			t.Fatal(err)
		}
		if round == 0 {
			first = len(w.times)
		}
		b, err := Take(ctx, w.src(), InFolder(dir), Options{Program: "test", Now: time.Now})
		if err != nil {
			t.Fatal(err)
		}
		if b.Copied < b.Bytes()/2 { // unless a compaction has just rewritten everything
			little++
		}
		w.write(150)
		if round%2 == 0 {
			w.reopen()
		}
		w.write(150)
		if round%3 == 0 {
			if _, err := Ship(ctx, w.src(), InFolder(dir)); err != nil {
				t.Fatal(err)
			}
		}
		w.write(20)
	}
	if little == 0 {
		t.Error("each backup has copied again what nobody had changed")
	}
	if _, err := Ship(ctx, w.src(), InFolder(dir)); err != nil {
		t.Fatal(err)
	}
	if f, err := Open(t.Context(), InFolder(dir)); err != nil || len(f.Timelines) != 1 || len(f.Timelines[0].Covered()) != 1 {
		t.Fatalf("one span should be covered: %v %+v", err, f)
	}
	for i := range 40 {
		ts := w.times[first+w.rnd.IntN(len(w.times)-first)]
		if i == 0 {
			ts = w.times[len(w.times)-1]
		}
		if got := restored(t, dir, ts, i%2 == 1); !maps.Equal(got, w.state(ts)) {
			t.Fatalf("%v is not as it was: %d keys, not %d", ts, len(got), len(w.state(ts)))
		}
	}
	verified(t, dir, "")
}

// verified checks that Verify finds no defect in a backup folder, or, if kind is not empty, at least one of that
// kind.
func verified(t *testing.T, dir, kind string) {
	t.Helper()
	f, err := Open(t.Context(), InFolder(dir))
	if err != nil {
		t.Fatal(err)
	}
	findings, err := f.Verify(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if kind == "" && len(findings) > 0 {
		t.Fatalf("findings: %v", findings)
	}
	for _, x := range findings {
		if x.Kind == kind {
			return
		}
	}
	if kind != "" {
		t.Fatalf("nothing is %s: %v", kind, findings)
	}
}

// TestVerify checks that Verify finds flipped bits, cut off files and missing files in a backup folder.
func TestVerify(t *testing.T) {
	w := newWorld(t, 1)
	ctx := context.Background()
	dir := filepath.Join(t.TempDir(), "backups")
	w.write(300)
	for range 2 {
		if _, err := Take(ctx, w.src(), InFolder(dir), Options{Program: "test", Now: time.Now}); err != nil {
			t.Fatal(err)
		}
		w.write(100)
	}
	verified(t, dir, "")
	var files []string
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() && filepath.Base(path) != "LOCK" && filepath.Base(path) != markerName {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		wreck := func(kinds string, damaged []byte) {
			t.Helper()
			if damaged == nil {
				os.Remove(path)
			} else if err := os.WriteFile(path, damaged, 0o600); err != nil {
				t.Fatal(err)
			}
			f, err := Open(t.Context(), InFolder(dir))
			if err != nil {
				t.Fatal(err)
			}
			findings, err := f.Verify(ctx, nil)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.ContainsFunc(findings, func(x Finding) bool { return !x.Harmless() }) {
				t.Errorf("%s %s: nothing was found", kinds, path)
			}
			if err := os.WriteFile(path, data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if len(data) == 0 {
			continue
		}
		flipped := append([]byte(nil), data...)
		flipped[w.rnd.IntN(len(data))] ^= 1 << w.rnd.IntN(8)
		wreck("flipped", flipped)
		wreck("cut off", data[:w.rnd.IntN(len(data))])
		wreck("gone", nil)
	}
	verified(t, dir, "")
}

// TestCopiedFolder checks that a copied data folder does not continue the backups of the original, but begins a
// timeline of its own.
func TestCopiedFolder(t *testing.T) {
	w := newWorld(t, 1)
	ctx := context.Background()
	dir := filepath.Join(t.TempDir(), "backups")
	w.write(100)
	if _, err := Take(ctx, w.src(), InFolder(dir), Options{Program: "test", Now: time.Now}); err != nil {
		t.Fatal(err)
	}
	if err := w.store.Close(); err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(t.TempDir(), "store")
	if err := os.CopyFS(other, os.DirFS(w.data)); err != nil {
		t.Fatal(err)
	}
	w.open()
	w.write(50)
	if _, err := Ship(ctx, w.src(), InFolder(dir)); err != nil {
		t.Fatal(err)
	}
	at := w.times[len(w.times)-1]
	twin := &world{t: t, data: other, rnd: rand.New(rand.NewPCG(7, 7))}
	twin.open()
	defer twin.store.Close()
	twin.write(50)
	if _, err := Ship(ctx, twin.src(), InFolder(dir)); !errors.Is(err, errNoBase) {
		t.Fatalf("the copy went on: %v", err)
	}
	if _, err := Take(ctx, twin.src(), InFolder(dir), Options{Program: "test", Now: time.Now}); err != nil {
		t.Fatal(err)
	}
	f, err := Open(t.Context(), InFolder(dir))
	if err != nil || len(f.Timelines) != 2 {
		t.Fatalf("two timelines: %v %v", err, f)
	}
	if got := restored(t, dir, at, false); !maps.Equal(got, w.state(at)) {
		t.Error("the original is not as it was")
	}
	w.store.Close()
}

// TestMerge checks that small segments are merged, and that the remains of an interrupted merge are harmless.
func TestMerge(t *testing.T) {
	w := newWorld(t, 1)
	ctx := context.Background()
	dir := filepath.Join(t.TempDir(), "backups")
	take := func() *Timeline {
		t.Helper()
		if _, err := Take(ctx, w.src(), InFolder(dir), Options{Program: "test", Now: time.Now}); err != nil {
			t.Fatal(err)
		}
		f, err := Open(t.Context(), InFolder(dir))
		if err != nil {
			t.Fatal(err)
		}
		return f.Timelines[0]
	}
	before := take()
	for range 5 {
		w.write(50)
		if _, err := Ship(ctx, w.src(), InFolder(dir)); err != nil {
			t.Fatal(err)
		}
	}
	logs := filepath.Join(dir, before.ID, logName)
	old := t.TempDir()
	if err := os.CopyFS(old, os.DirFS(logs)); err != nil {
		t.Fatal(err)
	}
	if n := len(take().Segments); n != 2 {
		t.Errorf("%d segments", n)
	}
	for i, ts := range []storage.Timestamp{w.times[30], w.times[180], w.times[249]} {
		if got := restored(t, dir, ts, false); !maps.Equal(got, w.state(ts)) {
			t.Errorf("%v is not as it was", ts)
		}
		if entries, err := os.ReadDir(old); err == nil && i < 2 { // as after a kill before the last merged segments were removed
			for _, e := range entries[3*i:] {
				data, err := os.ReadFile(filepath.Join(old, e.Name()))
				if err == nil {
					err = os.WriteFile(filepath.Join(logs, e.Name()), data, 0o600)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
		}
		verified(t, dir, "")
	}
	if n := len(take().Segments); n > 3 {
		t.Errorf("%d segments", n)
	}
	verified(t, dir, "")
	w.store.Close()
}

// TestPrune checks that Prune deletes the bases that no moment since a timestamp needs, and that the newest moment
// can still be restored.
func TestPrune(t *testing.T) {
	w := newWorld(t, 1)
	ctx := context.Background()
	dir := filepath.Join(t.TempDir(), "backups")
	var begun []storage.Timestamp
	for range 4 {
		w.write(200)
		b, err := Take(ctx, w.src(), InFolder(dir), Options{Program: "test", Now: time.Now})
		if err != nil {
			t.Fatal(err)
		}
		begun = append(begun, b.Time)
	}
	p, err := Prune(t.Context(), InFolder(dir), begun[2])
	if err != nil || p.Bases != 2 {
		t.Fatalf("%+v %v", p, err)
	}
	verified(t, dir, "")
	f, err := Open(t.Context(), InFolder(dir))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Find(begun[1]); !errors.Is(err, ErrNotCovered) {
		t.Errorf("it is still there: %v", err)
	}
	last := w.times[len(w.times)-1]
	if got := restored(t, dir, 0, false); !maps.Equal(got, w.state(last)) {
		t.Error("the newest state is not as it was")
	}
	w.store.Close()
}
