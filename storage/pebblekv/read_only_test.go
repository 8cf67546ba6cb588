package pebblekv

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// TestReadOnlyCreatesNoFolder checks that a read-only store whose folder does not exist is refused, and that neither the
// folder nor its parent is made.
func TestReadOnlyCreatesNoFolder(t *testing.T) {
	parent := filepath.Join(t.TempDir(), "missing")
	s, err := Open(filepath.Join(parent, "data"), Options{ReadOnly: true, ReserveBytes: -1})
	if err == nil {
		s.Close()
	}
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Open: %v, want %v", err, fs.ErrNotExist)
	}
	if _, err := os.Stat(parent); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the parent of the folder: %v, want %v", err, fs.ErrNotExist)
	}
}
