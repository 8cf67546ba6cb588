package pebblekv

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2"

	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/pebblekv/filescan"
)

// filled creates a store on disk with the given number of keys in a table and ten more in the log, closes it, and
// returns its folder.
func filled(t *testing.T, keys int) string {
	t.Helper()
	dir := t.TempDir()
	s := mustOpen(t, dir, Options{}).(*store)
	for i := range keys {
		v := make([]byte, 100)
		for j := range v {
			v[j] = byte(rand.Uint32())
		}
		mustPut(t, s, fmt.Sprintf("k%05d", i), string(v))
	}
	if err := s.db.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := s.db.Compact(t.Context(), []byte{0}, []byte{0xff}, false); err != nil {
		t.Fatal(err)
	}
	for i := range 10 {
		mustPut(t, s, fmt.Sprintf("l%05d", i), "new")
	}
	mustClose(t, s)
	return dir
}

// flip changes one bit of a file.
func flip(t *testing.T, path string, at int64) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err == nil {
		if at < 0 {
			at += int64(len(b))
		}
		b[at] ^= 4
		err = os.WriteFile(path, b, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func only(t *testing.T, dir, pattern string) string {
	t.Helper()
	list, _ := filepath.Glob(filepath.Join(dir, pattern))
	if len(list) == 0 {
		t.Fatalf("no %s in %s", pattern, dir)
	}
	return list[len(list)-1]
}

// TestDamagedBlock checks that a damaged block of a table fails the reads that need it, and no others. The store
// reports the lost keys once, and refuses writes.
func TestDamagedBlock(t *testing.T) {
	dir := filled(t, 1000)
	flip(t, only(t, dir, "*.sst"), -60000)
	var told []storage.Damage
	s := mustOpen(t, dir, Options{Damaged: func(d []storage.Damage) { told = append(told, d...) }})
	defer s.Close()
	r, err := s.Snapshot(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	good, bad := 0, 0
	for i := range 1000 {
		_, err := r.Get(context.Background(), fmt.Appendf(nil, "k%05d", i), nil)
		var d *storage.DamagedError
		switch {
		case err == nil:
			good++
		case errors.Is(err, storage.ErrCorruption) && errors.As(err, &d):
			bad++
			if !d.Damages[0].Keys.Contains(fmt.Appendf(nil, "k%05d", i)) {
				t.Fatalf("key %d lies outside of %q", i, d.Damages[0].Keys)
			}
		default:
			t.Fatal(err)
		}
	}
	if len(told) != 1 || bad == 0 || bad > 100 || good+bad != 1000 || told[0].Entries != int64(bad) {
		t.Errorf("%d good, %d bad, told %+v", good, bad, told)
	}
	if _, err := put(s, "new", "1", storage.TxnOptions{}); !errors.Is(err, storage.ErrNotWritable) {
		t.Errorf("a write: %v", err)
	}
}

// TestDamagedLargeBlock checks that a read of a damaged large block fails fast, without Pebble's search for the
// flipped bit, which took ten minutes per read, and sets the flag by which later reads of damaged small blocks
// fail fast too.
func TestDamagedLargeBlock(t *testing.T) {
	dir := t.TempDir()
	s := mustOpen(t, dir, Options{}).(*store)
	large := make([]byte, 16<<20)
	for i := range large {
		large[i] = byte(rand.Uint32())
	}
	mustPut(t, s, "large", string(large))
	if err := s.db.Flush(); err != nil {
		t.Fatal(err)
	}
	mustClose(t, s)
	tables, _ := filepath.Glob(filepath.Join(dir, "*.sst"))
	for _, path := range tables {
		if b, err := os.ReadFile(path); err == nil && bytes.Contains(b, []byte("large")) {
			flip(t, path, int64(bytes.Index(b, large[1<<20:1<<20+64]))) // the flipped bit is far behind the part of the block that Pebble searches for one
		}
	}
	s = mustOpen(t, dir, Options{}).(*store)
	defer s.Close()
	r, err := s.Snapshot(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for range 20 {
		if _, err := r.Get(t.Context(), []byte("large"), nil); !errors.Is(err, storage.ErrCorruption) {
			t.Fatal(err)
		}
	}
	if !s.damaged.Load() {
		t.Error("nobody knows that a table is damaged: each read of a small block would look for its bit")
	}
}

// TestDamageAtOpening checks that Open refuses a store with a damaged or missing log or manifest, or with a table that
// is cut off or missing, but not one with a damaged OPTIONS file.
func TestDamageAtOpening(t *testing.T) {
	for _, c := range []struct {
		name   string
		damage func(dir string)
		want   string
	}{
		{"a bit of the log", func(dir string) { flip(t, only(t, dir, "*.log"), 30) }, "were on the disk"},
		{"the log cut off", func(dir string) { os.Truncate(only(t, dir, "*.log"), 100) }, "before what was acknowledged"},
		{"the log gone", func(dir string) { os.Remove(only(t, dir, "*.log")) }, "writes that were acknowledged"},
		{"a bit of the manifest", func(dir string) { flip(t, only(t, dir, "MANIFEST-*"), 60) }, "list of tables is damaged"},
		{"the manifest emptied", func(dir string) { os.Truncate(only(t, dir, "MANIFEST-*"), 0) }, "nothing of it can be read"},
		{"the marker gone", func(dir string) { os.Remove(only(t, dir, "marker.manifest.*")) }, "is missing"},
		{"a table cut off", func(dir string) { os.Truncate(only(t, dir, "*.sst"), 1000) }, "should have"},
		{"a table gone", func(dir string) { os.Remove(only(t, dir, "*.sst")) }, "it is missing"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := filled(t, 1000)
			c.damage(dir)
			_, err := Open(dir, Options{})
			var d *storage.DamagedError
			if !errors.As(err, &d) || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "pebble") {
				t.Fatalf("opened: %v", err)
			}
			t.Log(err)
		})
	}
	t.Run("settings", func(t *testing.T) {
		dir := filled(t, 10)
		flip(t, only(t, dir, "OPTIONS-*"), 3)
		mustClose(t, mustOpen(t, dir, Options{}))
	})
}

// TestKeptVersions checks that old versions of keys, which Pebble keeps for a snapshot in blocks of their own, are
// not reported as damage.
func TestKeptVersions(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	s, err := Open(dir, Options{ReserveBytes: -1})
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	for i := range 20 {
		txn, err := s.Begin(ctx, storage.TxnOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for k := range 50 {
			if err := txn.Set(fmt.Appendf(nil, "key%d", k), fmt.Appendf(nil, "%d %0200d", i, k)); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := txn.Commit(ctx, storage.Buffered); err != nil {
			t.Fatal(err)
		}
		r, err := s.Snapshot(ctx, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.Has(ctx, []byte("key1")); err != nil { // creates the Pebble snapshot
			t.Fatal(err)
		}
		defer r.Close()
	}
	copied := filepath.Join(t.TempDir(), "copy")
	if err := s.Checkpoint(ctx, copied); err != nil {
		t.Fatal(err)
	}
	f, err := filescan.Open(copied)
	if err == nil {
		err = f.Verify(func(int64) error { return nil })
	}
	if err != nil || len(f.Damages) > 0 {
		t.Fatalf("%v %v", err, f.Damages)
	}
	n := 0
	err = f.Scan(ctx, storage.Range{Start: []byte("key"), End: []byte("kez")}, func(e filescan.Entry) error {
		if n++; !bytes.HasPrefix(e.Value, []byte("19 ")) || e.Outdated {
			t.Errorf("%s is %.10s", e.Key, e.Value)
		}
		return nil
	})
	if err != nil || n != 50 {
		t.Errorf("%d keys, %v", n, err)
	}
}

// TestDamagesWhileClosing reports damage from two goroutines, as compactions do, before, during and after Close: Close
// ends without an error, and nothing panics.
func TestDamagesWhileClosing(t *testing.T) {
	dir := filled(t, 10)
	info := pebble.DataCorruptionInfo{Path: only(t, dir, "*.sst")}
	for range 20 {
		s := mustOpen(t, dir, Options{}).(*store)
		end := make(chan struct{})
		var compactions sync.WaitGroup
		for range 2 {
			compactions.Go(func() {
				for {
					select {
					case <-end:
						return
					default:
						s.onCorruption(info)
						runtime.Gosched()
					}
				}
			})
		}
		mustClose(t, s)
		close(end)
		compactions.Wait()
	}
}
