package pebblekv

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/cockroachdb/pebble/v2"

	"github.com/cantledb/cantle/storage"
)

// TestInspect checks that Inspect returns the format version of a store and whether there is one, and ErrLocked
// while the store is open.
func TestInspect(t *testing.T) {
	dir := t.TempDir()
	look := func(dir string, version int, exists bool, want error) {
		t.Helper()
		v, e, err := Inspect(dir)
		if v != version || e != exists || !errors.Is(err, want) || (err == nil) != (want == nil) {
			t.Errorf("%d %v %v, want %d %v %v", v, e, err, version, exists, want)
		}
	}
	look(filepath.Join(dir, "none"), 0, false, nil)
	look(dir, 0, false, nil)
	s, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	look(dir, 0, true, storage.ErrLocked)
	if err := s.(*store).db.Set(keyFormat, []byte{formatVersion}, pebble.Sync); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	look(dir, formatVersion, true, nil)
	look(dir, formatVersion, true, nil) // Inspect changed nothing
	s, err = Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.(*store).db.Set(keyFormat, []byte{formatVersion + 1}, pebble.Sync); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	look(dir, 0, true, storage.ErrFormat)
	manifests, err := filepath.Glob(filepath.Join(dir, "MANIFEST-*"))
	if err != nil || len(manifests) == 0 {
		t.Fatal(manifests, err)
	}
	for _, m := range manifests {
		if err := os.Truncate(m, 3); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := Inspect(dir); err == nil {
		t.Error("a store without a list of its files is good")
	}
}
