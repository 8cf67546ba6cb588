package backup

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestGone checks that Take makes no first backup in a folder that had backups and has none now, such as the mount
// point of an unmounted disk, nor if the parent folder is missing.
func TestGone(t *testing.T) {
	w := newWorld(t, 1)
	share := filepath.Join(t.TempDir(), "share")
	dir := filepath.Join(share, "x")
	take := func(dir string) error {
		w.write(3)
		_, err := Take(t.Context(), w.src(), InFolder(dir), Options{Program: "test", Now: time.Now})
		return err
	}
	if err := take(dir); !errors.Is(err, ErrNoParent) {
		t.Errorf("without the folder above: %v", err)
	}
	if _, err := os.Stat(share); err == nil {
		t.Error("it was made")
	}
	if err := os.Mkdir(share, 0o700); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := take(dir); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Rename(dir, dir+"-elsewhere"); err != nil {
		t.Fatal(err)
	}
	for _, exists := range []bool{false, true} {
		if exists {
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
		}
		if err := take(dir); !errors.Is(err, ErrGone) {
			t.Errorf("its backups are gone: %v", err)
		}
		if _, err := Ship(t.Context(), w.src(), InFolder(dir)); !errors.Is(err, ErrGone) {
			t.Errorf("its backups are gone: %v", err)
		}
	}
	if err := errors.Join(os.Remove(dir), os.Rename(dir+"-elsewhere", dir)); err != nil {
		t.Fatal(err)
	}
	if _, err := Ship(t.Context(), w.src(), InFolder(dir)); err != nil {
		t.Errorf("they are back: %v", err)
	}
	if err := take(filepath.Join(share, "y")); err != nil {
		t.Errorf("another folder: %v", err)
	}
}
