// Package archivetest has the tests that every backup.Archive must pass: its methods, and a store whose moments are
// restored from it.
package archivetest

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"slices"
	"testing"
	"time"

	"github.com/cantledb/cantle/storage/backup"
)

// Conformance runs the tests. open returns an archive without files, a new one for each test; now is time.Now.
func Conformance(t *testing.T, now func() time.Time, open func(t *testing.T) backup.Archive) {
	for _, x := range []struct {
		name string
		test func(*testing.T, func() time.Time, backup.Archive)
	}{
		{"files", methods(testFiles)}, {"large", methods(testLarge)}, {"abandoned", methods(testAbandoned)}, {"lock", methods(testLock)}, {"claim", methods(testClaim)},
		{"hold", methods(testHold)}, {"request", methods(testRequest)}, {"moments", testMoments}, {"damage", testDamage}, {"prune", testPrune},
	} {
		t.Run(x.name, func(t *testing.T) { x.test(t, now, open(t)) })
	}
}

// methods returns a test of an archive without a store.
func methods(test func(*testing.T, backup.Archive)) func(*testing.T, func() time.Time, backup.Archive) {
	return func(t *testing.T, _ func() time.Time, a backup.Archive) { test(t, a) }
}

// put writes a file.
func put(t *testing.T, a backup.Archive, name string, data []byte) {
	t.Helper()
	w, err := a.Create(t.Context(), name)
	if err == nil {
		_, err = w.Write(data)
	}
	if err == nil {
		err = w.Commit()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// read returns the bytes of a file from a position on.
func read(t *testing.T, a backup.Archive, name string, from int64) []byte {
	t.Helper()
	in, err := a.Open(t.Context(), name, from)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(in)
	if err = errors.Join(err, in.Close()); err != nil {
		t.Fatal(err)
	}
	return data
}

// list returns the names in a folder, those of folders with a slash.
func list(t *testing.T, a backup.Archive, dir string) (names []string) {
	t.Helper()
	entries, err := a.List(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Folder {
			e.Name += "/"
		}
		names = append(names, e.Name)
	}
	slices.Sort(names)
	return names
}

func testFiles(t *testing.T, a backup.Archive) {
	if err := a.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	if names := list(t, a, ""); len(names) != 0 {
		t.Errorf("at first there is %q", names)
	}
	put(t, a, "one", []byte("1"))
	put(t, a, "empty", nil)
	put(t, a, "a/b/c", []byte("abcdef"))
	put(t, a, "a/b2", []byte("xy"))
	put(t, a.Within("a"), "d", []byte("within"))
	if err := a.Settle("", "a", "a/b"); err != nil {
		t.Error(err)
	}
	for dir, want := range map[string][]string{"": {"a/", "empty", "one"}, "a": {"b/", "b2", "d"}, "a/b": {"c"}} {
		if names := list(t, a, dir); !slices.Equal(names, want) {
			t.Errorf("in %q there is %q, not %q", dir, names, want)
		}
	}
	if got := read(t, a, "a/b/c", 0); string(got) != "abcdef" {
		t.Errorf("it has %q", got)
	}
	if got := read(t, a, "a/b/c", 4); string(got) != "ef" {
		t.Errorf("from 4 on it has %q", got)
	}
	if got := read(t, a, "empty", 0); len(got) != 0 {
		t.Errorf("it has %q", got)
	}
	if n, err := a.Size(t.Context(), "a/b/c"); n != 6 || err != nil {
		t.Errorf("its size is %d, %v", n, err)
	}
	if _, err := a.Size(t.Context(), "a/nothing"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the size of nothing: %v", err)
	}
	if _, err := a.Open(t.Context(), "nothing", 0); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("reading nothing: %v", err)
	}
	if err := errors.Join(a.Remove(t.Context(), "one"), a.RemoveAll(t.Context(), "a/b"), a.RemoveAll(t.Context(), "a/b")); err != nil {
		t.Error(err)
	}
	for dir, want := range map[string][]string{"": {"a/", "empty"}, "a": {"b2", "d"}} {
		if names := list(t, a, dir); !slices.Equal(names, want) {
			t.Errorf("at the end %q has %q, not %q", dir, names, want)
		}
	}
}

// testLarge writes a file that an object store receives in parts, and reads it from the middle of a part.
func testLarge(t *testing.T, a backup.Archive) {
	if err := a.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	data := make([]byte, 40<<20)
	for i := range data {
		data[i] = byte(i * i >> 7)
	}
	put(t, a, "tables/large", data)
	if got := read(t, a, "tables/large", 0); !bytes.Equal(got, data) {
		t.Errorf("%d bytes came back, not the same", len(got))
	}
	if got := read(t, a, "tables/large", 20<<20); !bytes.Equal(got, data[20<<20:]) {
		t.Errorf("%d bytes came back, not the same", len(got))
	}
	put(t, a, "tables/parts", data[:32<<20]) // exactly two parts
	if n, err := a.Size(t.Context(), "tables/parts"); n != 32<<20 || err != nil {
		t.Errorf("its size is %d, %v", n, err)
	}
}

// testAbandoned checks that an unfinished file never has its name, and that nothing of it stays.
func testAbandoned(t *testing.T, a backup.Archive) {
	if err := a.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, size := range []int{100, 20 << 20} {
		w, err := a.Create(t.Context(), "x")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(make([]byte, size)); err != nil {
			t.Fatal(err)
		}
		if _, err := a.Size(t.Context(), "x"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("an unfinished file: %v", err)
		}
		w.Abandon()
		if names := list(t, a, ""); len(names) != 0 {
			t.Errorf("%q stays", names)
		}
	}
}

func testLock(t *testing.T, a backup.Archive) {
	if err := a.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	if a.Locked(t.Context()) {
		t.Error("it is locked at first")
	}
	for range 2 {
		lock, err := a.Lock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if !a.Locked(t.Context()) {
			t.Error("it is not locked")
		}
		if err := lock.Close(); err != nil {
			t.Error(err)
		}
		if a.Locked(t.Context()) {
			t.Error("it stays locked")
		}
	}
}

// testClaim lets several processes claim a name: one succeeds, also if it tries again, as after a lost response.
func testClaim(t *testing.T, a backup.Archive) {
	if err := a.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	results := make(chan error)
	for i := range 8 {
		go func() {
			data := []byte{byte(i)}
			err := a.Claim(t.Context(), "term-00000002", data)
			if err == nil {
				err = a.Claim(t.Context(), "term-00000002", data)
				if err == nil {
					results <- nil
					return
				}
				t.Errorf("the second claim of the same process: %v", err)
			}
			results <- err
		}()
	}
	won := 0
	for range 8 {
		if err := <-results; err == nil {
			won++
		} else if !errors.Is(err, fs.ErrExist) {
			t.Errorf("a claim that came too late: %v", err)
		}
	}
	if data := read(t, a, "term-00000002", 0); won != 1 || len(data) != 1 {
		t.Errorf("%d processes have claimed it, and it has %d bytes", won, len(data))
	}
	entries, err := a.List(t.Context(), "")
	if err != nil || len(entries) != 1 {
		t.Errorf("the archive has %v: %v", entries, err)
	}
}

func testHold(t *testing.T, a backup.Archive) {
	held := func(want bool) {
		t.Helper()
		if on, err := a.Held(t.Context()); on != want || err != nil {
			t.Errorf("it is held: %v, %v", on, err)
		}
	}
	if err := a.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	held(false)
	_, release, err := a.Hold(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	held(true)
	if err := a.Clean(t.Context()); err != nil {
		t.Error(err)
	}
	held(true)
	release()
	held(false)
	if names := list(t, a, ""); len(names) != 0 {
		t.Errorf("%q stays", names)
	}
}

func testRequest(t *testing.T, a backup.Archive) {
	if err := a.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	weekly := a.Within("weekly").Location()
	for to, want := range map[string]string{
		a.Location(): a.Location(), "weekly": weekly, weekly: weekly, "a/b": "", "..": "", "../x": "", ".x": "", "LOCK": "", "restore-x": "",
		a.Within("a").Within("b").Location(): "",
	} {
		got, err := a.Request(to)
		switch {
		case want == "" && err == nil:
			t.Errorf("%q is %s", to, got.Location())
		case want != "" && (err != nil || got.Location() != want):
			t.Errorf("%q: %v", to, err)
		}
	}
}
