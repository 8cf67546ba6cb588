package pebblekv

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Logs that no backup has come for go after two days, unless the store is only read.
func TestKeptLogsGo(t *testing.T) {
	dir := t.TempDir()
	s := mustOpen(t, dir, Options{ReserveBytes: -1}).(*store)
	kept, err := s.KeepWrites()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	old := filepath.Join(kept, "000001.log")
	if err := os.WriteFile(old, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		readOnly bool
		after    time.Duration
		there    bool
	}{{true, 49 * time.Hour, true}, {false, 47 * time.Hour, true}, {false, 49 * time.Hour, false}} {
		s := mustOpen(t, dir, Options{ReadOnly: c.readOnly, ReserveBytes: -1}).(*store)
		s.limitKept(time.Now().Add(c.after))
		if _, err := os.Stat(old); (err == nil) != c.there {
			t.Errorf("%+v: %v", c, err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
