package pebblekv

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/batchrepr"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/cantledb/cantle/storage"
)

// TestRetainedLogsAreDeleted checks that logs kept for a backup are deleted after two days if none has fetched
// them, unless the store is ReadOnly.
func TestRetainedLogsAreDeleted(t *testing.T) {
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
		s.limitRetained(time.Now().Add(c.after))
		if _, err := os.Stat(old); (err == nil) != c.there {
			t.Errorf("%+v: %v", c, err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestRetainedLogsHaveASize checks that the logs kept for a backup do not exceed KeptBytes; the oldest are
// deleted.
func TestRetainedLogsHaveASize(t *testing.T) {
	s := mustOpen(t, t.TempDir(), Options{ReserveBytes: -1, KeptBytes: 2500}).(*store)
	defer s.Close()
	kept, err := s.KeepWrites()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"900001.log", "900002.log", "900003.log"} {
		if err := os.WriteFile(filepath.Join(kept, name), make([]byte, 1000), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s.limitRetained(time.Now())
	left, err := filepath.Glob(filepath.Join(kept, "*.log"))
	if err != nil || len(left) != 2 || filepath.Base(left[0]) != "900002.log" {
		t.Errorf("%v are left, %v", left, err)
	}
	if n := s.retained.bytes.Load(); n != 2000 {
		t.Errorf("%d bytes are said to be kept", n)
	}
}

// TestWritesFollowAfterAKill: a killed process may have assigned sequence numbers to writes that never reached its
// log, while the manifest already counts them. Nevertheless the kept logs have no gap before the later writes.
func TestWritesFollowAfterAKill(t *testing.T) {
	for tries := 1; ; tries++ { // Pebble may compact or sync at another moment than this test needs
		if followsAfterAKill(t) {
			return
		}
		if t.Failed() || tries == 200 {
			t.Fatalf("no numbers were left out in %d tries", tries)
		}
	}
}

// followsAfterAKill reports whether numbers were skipped.
func followsAfterAKill(t *testing.T) (skipped bool) {
	t.Helper()
	ctx := context.Background()
	files := vfs.NewCrashableMem()
	s := mustOpen(t, "store", Options{FS: files, ReserveBytes: -1, SyncInterval: time.Hour}).(*store)
	if _, err := s.KeepWrites(); err != nil {
		t.Fatal(err)
	}
	put := func(s *store, key string) {
		t.Helper()
		txn, err := s.Begin(ctx, storage.TxnOptions{})
		if err == nil {
			err = txn.Set([]byte(key), []byte("value"))
		}
		if err == nil {
			_, err = txn.Commit(ctx, storage.Buffered)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for range 2 { // two tables to compact
		put(s, "a")
		put(s, "c")
		if err := s.db.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	_, place, err := s.MarkPosition(ctx)
	if err != nil {
		t.Fatal(err)
	}
	put(s, "z")
	if err := s.db.Compact(ctx, []byte("a"), []byte("d"), false); err != nil { // while other writes are still in memory
		t.Fatal(err)
	}
	left := files.CrashClone(vfs.CrashCloneCfg{})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = mustOpen(t, "store", Options{FS: left, ReserveBytes: -1}).(*store)
	defer s.Close()
	put(s, "b")
	_, behind, err := s.MarkPosition(ctx)
	if err != nil {
		t.Fatal(err)
	}
	next := place.Next
	err = s.Writes(ctx, place.Next, behind.Next, func(w Write) error {
		if h, _ := batchrepr.ReadHeader(w.Batch); uint64(h.SeqNum) != w.First {
			skipped = true
		}
		if w.First != next {
			t.Errorf("%d follows on %d", w.First, next)
		}
		next = w.Next()
		return nil
	})
	if err != nil || next != behind.Next {
		t.Errorf("%v; up to %d of %d", err, next, behind.Next)
	}
	return skipped
}
