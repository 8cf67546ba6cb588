package pebblekv

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestDamagedLogAfterCompaction damages the last log after a compaction of older tables has written the number of the
// newest write into the manifest: the store does not open, because the writes behind the damage are in no table.
func TestDamagedLogAfterCompaction(t *testing.T) {
	dir := t.TempDir()
	for range 3 {
		s := mustOpen(t, dir, Options{})
		mustPut(t, s, "a", "1")
		mustClose(t, s)
	}
	s := mustOpen(t, dir, Options{})
	for i := range 50 {
		mustPut(t, s, fmt.Sprintf("z%02d", i), "1")
	}
	if err := s.(*store).db.Compact(t.Context(), []byte("a"), []byte("b"), false); err != nil {
		t.Fatal(err)
	}
	mustClose(t, s)
	logs, err := filepath.Glob(filepath.Join(dir, "*.log"))
	if err != nil || len(logs) == 0 {
		t.Fatal(logs, err)
	}
	slices.Sort(logs)
	name := logs[len(logs)-1]
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	used := len(bytes.TrimRight(b, "\x00"))
	clear(b[used-500:])
	if err := os.WriteFile(name, b, 0o600); err != nil {
		t.Fatal(err)
	}
	if s, err := Open(dir, Options{}); err == nil {
		t.Error("the store opens without the writes at the end of its log")
		mustClose(t, s)
	}
}
