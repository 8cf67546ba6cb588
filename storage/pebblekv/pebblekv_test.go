package pebblekv

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/cantledb/cantle/internal/testenv"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/storagetest"
)

func openMemory(tb testing.TB) storage.Store { return mustOpen(tb, "", Options{InMemory: true}) }

func openDisk(tb testing.TB) storage.Store { return mustOpen(tb, tb.TempDir(), Options{}) }

func mustOpen(tb testing.TB, dir string, o Options) storage.Store {
	tb.Helper()
	s, err := Open(dir, o)
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

func TestConformance(t *testing.T) {
	t.Run("memory", func(t *testing.T) { storagetest.Conformance(t, openMemory) })
	t.Run("disk", func(t *testing.T) { storagetest.Conformance(t, openDisk) })
	t.Run("clock", func(t *testing.T) {
		storagetest.Conformance(t, func(tb testing.TB) storage.Store {
			return mustOpen(tb, "", Options{InMemory: true, Clock: time.Now})
		})
	})
}

func TestNemesis(t *testing.T) {
	t.Run("memory", func(t *testing.T) { storagetest.Nemesis(t, openMemory, storagetest.NemesisOptions{Rounds: 600}) })
	t.Run("disk", func(t *testing.T) { storagetest.Nemesis(t, openDisk, storagetest.NemesisOptions{}) })
	t.Run("small memtables", func(t *testing.T) {
		storagetest.Nemesis(t, func(tb testing.TB) storage.Store {
			return mustOpen(tb, "db", Options{FS: vfs.NewMem(), MemtableBytes: 64 << 10})
		}, storagetest.NemesisOptions{Rounds: 500})
	})
}

func BenchmarkStore(b *testing.B) { storagetest.Benchmarks(b, openDisk) }

// crashDisk is a disk in memory that can lose unsynced writes, as at a power cut.
type crashDisk struct{ fs *vfs.MemFS }

func (d crashDisk) Open(tb testing.TB) storage.Store {
	// With small memtables the log changes files, and flushes and compactions run.
	return mustOpen(tb, "db", Options{FS: d.fs, MemtableBytes: 64 << 10, CacheBytes: 1 << 20, SyncInterval: time.Millisecond})
}

func (d crashDisk) Cut(rng *rand.Rand, keepPercent int) storagetest.Disk {
	return crashDisk{d.fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: keepPercent, RNG: rng})}
}

func TestCrash(t *testing.T) {
	disks := uint64(14)
	if testing.Short() {
		disks = 3
	}
	for seed := range disks { // short, because the check reads the whole log
		storagetest.Crash(t, crashDisk{vfs.NewCrashableMem()}, 15, seed)
	}
}

var bg = context.Background()

// put commits one key, with its value as a record of the change log s, or deletes the key if value is "". It returns
// the timestamp and the error of the commit.
func put(s storage.Store, key, value string, o storage.TxnOptions) (storage.Timestamp, error) {
	tx, err := s.Begin(bg, o)
	if err != nil {
		return 0, err
	}
	defer tx.Close()
	if value == "" {
		err = tx.Delete([]byte(key))
	} else {
		err = errors.Join(tx.Set([]byte(key), []byte(value)), tx.AppendLog([]byte("s"), []byte(value)))
	}
	if err != nil {
		return 0, err
	}
	return tx.Commit(bg, storage.Synced)
}

func mustPut(t *testing.T, s storage.Store, key, value string) storage.Timestamp {
	t.Helper()
	ts, err := put(s, key, value, storage.TxnOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return ts
}

func mustClose(t *testing.T, s storage.Store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestReopenResumes(t *testing.T) {
	dir := t.TempDir()
	last := storage.Timestamp(0)
	for range 3 {
		s := mustOpen(t, dir, Options{})
		if last > 0 && (s.Latest() != last || s.Durable() != last) {
			t.Fatalf("Latest %v, Durable %v after a clean close at %v", s.Latest(), s.Durable(), last)
		}
		n := 0
		if _, err := s.ReadLog(bg, []byte("s"), 0, func(_, _ storage.Timestamp, _ []byte) bool { n++; return true }); err != nil {
			t.Fatal(err)
		}
		ts := mustPut(t, s, "k", "v")
		if ts <= last {
			t.Fatalf("%v after %v", ts, last)
		}
		last = ts
		mustClose(t, s)
	}
}

// TestTimestampsSurviveCrashes checks that no timestamp is assigned twice, although the clock steps back and the
// store is not closed cleanly.
func TestTimestampsSurviveCrashes(t *testing.T) {
	fs := vfs.NewCrashableMem()
	last := storage.Timestamp(0)
	now := time.Unix(1e9, 0)
	for range 5 {
		s := mustOpen(t, "db", Options{FS: fs, Clock: func() time.Time { return now }})
		for range 3 {
			ts := mustPut(t, s, "k", "v")
			if ts <= last {
				t.Fatalf("%v after %v", ts, last)
			}
			last = ts
		}
		fs2 := fs.CrashClone(vfs.CrashCloneCfg{})
		mustClose(t, s)
		fs = fs2
		now = now.Add(-time.Hour)
	}
	if drift := last.Seconds() - 1e9; drift > 2*ceilingSeconds {
		t.Errorf("%d seconds ahead of the clock", drift)
	}
}

func TestTimestampsFollowTheClock(t *testing.T) {
	now := time.Unix(1e9, 0)
	s := mustOpen(t, "", Options{InMemory: true, Clock: func() time.Time { return now }})
	defer mustClose(t, s)
	now = now.Add(time.Minute)
	ts := mustPut(t, s, "k", "v")
	if ts.Seconds() != 1e9+60 {
		t.Errorf("%v", ts)
	}
	if ts2 := mustPut(t, s, "k", "v"); ts2 != ts+1 {
		t.Errorf("%v after %v", ts2, ts)
	}
}

func TestLocked(t *testing.T) {
	if args, ok := testenv.Arguments(t); ok {
		mustClose(t, mustOpen(t, args[0], Options{}))
		return
	}
	dir := t.TempDir()
	s := mustOpen(t, dir, Options{})
	defer mustClose(t, s)
	_, err := Open(dir, Options{})
	if !errors.Is(err, storage.ErrLocked) || !strings.Contains(err.Error(), dir) {
		t.Errorf("in this process: %v", err)
	}
	out, err := testenv.Again(t, dir).CombinedOutput()
	if err == nil || !strings.Contains(string(out), storage.ErrLocked.Error()) || !strings.Contains(string(out), dir) {
		t.Errorf("in another process: %v\n%s", err, out)
	}
}

func TestFormatOfTheFuture(t *testing.T) {
	fs := vfs.NewMem()
	s := mustOpen(t, "db", Options{FS: fs})
	if err := s.(*store).db.Set(keyFormat, []byte{formatVersion + 1}, pebble.Sync); err != nil {
		t.Fatal(err)
	}
	mustClose(t, s)
	for range 2 { // a refused open leaves nothing locked
		if _, err := Open("db", Options{FS: fs}); !errors.Is(err, storage.ErrFormat) {
			t.Fatal(err)
		}
	}
}

func TestDiskFull(t *testing.T) {
	fs := vfs.NewMem()
	usage := func(avail uint64) { fs.TestingSetDiskUsage(vfs.DiskUsage{AvailBytes: avail, TotalBytes: 1 << 40}) }
	usage(1 << 39)
	st := mustOpen(t, "db", Options{FS: fs})
	defer mustClose(t, st)
	s := st.(*store)
	mustPut(t, s, "a", "1")
	usage(1 << 30) // the reserve is 2 GiB
	s.updateSpace()
	if m := s.Metrics(); !s.DiskFull() || m.DiskFree != 1<<30 || m.DiskTotal != 1<<40 {
		t.Errorf("Metrics: %+v", m)
	}
	if _, err := put(s, "b", "1", storage.TxnOptions{}); !errors.Is(err, storage.ErrDiskFull) {
		t.Errorf("set: %v", err)
	}
	if _, err := put(s, "a", "", storage.TxnOptions{}); err != nil {
		t.Errorf("delete: %v", err)
	}
	if _, err := put(s, "b", "1", storage.TxnOptions{Essential: true}); err != nil {
		t.Errorf("essential: %v", err)
	}
	usage(1 << 39)
	s.updateSpace()
	mustPut(t, s, "c", "1")
}

func TestFailedSyncIsFatal(t *testing.T) {
	if args, ok := testenv.Arguments(t); ok {
		var failing atomic.Bool
		fail := errorfs.InjectorFunc(func(op errorfs.Op) error {
			if failing.Load() && (op.Kind == errorfs.OpFileSync || op.Kind == errorfs.OpFileSyncData) {
				return errorfs.ErrInjected
			}
			return nil
		})
		s := mustOpen(t, args[0], Options{FS: errorfs.Wrap(vfs.Default, fail), Fatal: func(m string) { os.Stderr.WriteString("flushed: " + m) }})
		mustPut(t, s, "a", "1")
		failing.Store(true)
		_, err := put(s, "b", "1", storage.TxnOptions{})
		t.Fatalf("still running: %v", err)
	}
	dir := t.TempDir()
	out, err := testenv.Again(t, dir).CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 3 || !strings.Contains(string(out), "flushed: ") {
		t.Fatalf("%v\n%s", err, out)
	}
	s := mustOpen(t, dir, Options{}) // and the store opens again
	defer mustClose(t, s)
	r, err := s.Snapshot(bg, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := r.Get(bg, []byte("a"), nil); err != nil {
		t.Error(err)
	}
}

func TestCheckpoint(t *testing.T) {
	dir := t.TempDir()
	s := mustOpen(t, dir+"/db", Options{})
	mustPut(t, s, "a", "1")
	if err := s.Checkpoint(bg, dir+"/copy"); err != nil {
		t.Fatal(err)
	}
	mustPut(t, s, "a", "2")
	mustClose(t, s)
	c := mustOpen(t, dir+"/copy", Options{})
	defer mustClose(t, c)
	r, err := c.Snapshot(bg, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if v, err := r.Get(bg, []byte("a"), nil); string(v) != "1" || err != nil {
		t.Errorf("%q %v", v, err)
	}
}

func TestCloseNamesLeaks(t *testing.T) {
	s := openMemory(t)
	r, err := s.Snapshot(bg, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err == nil || !strings.Contains(err.Error(), "1 readers") {
		t.Error(err)
	}
	r.Close()
}

func TestCommitsShareSyncs(t *testing.T) {
	s := openDisk(t)
	defer mustClose(t, s)
	var wg sync.WaitGroup
	for range 32 {
		wg.Go(func() {
			for range 20 {
				if _, err := put(s, "k"+string(rune('a'+rand.IntN(26)))+time.Now().String(), "v", storage.TxnOptions{}); err != nil && !errors.Is(err, storage.ErrConflict) {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if m := s.Metrics(); m.Syncs*3 > m.Commits {
		t.Errorf("%d syncs for %d commits", m.Syncs, m.Commits)
	}
}

func TestConflictTableIsPruned(t *testing.T) {
	s := openMemory(t)
	defer mustClose(t, s)
	old, err := s.Begin(bg, storage.TxnOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 100 {
		mustPut(t, s, "k"+string(rune('a'+i%26)), "v")
	}
	if n := s.Metrics().ConflictKeys; n != 100 {
		t.Errorf("%d keys while a transaction is open", n)
	}
	old.Close()
	mustPut(t, s, "k", "v")
	if n := s.Metrics().ConflictKeys; n != 0 {
		t.Errorf("%d keys while none is open", n)
	}
}

func TestConflictTableIsBounded(t *testing.T) {
	c := conflicts{last: map[uint64]storage.Timestamp{}}
	for i := range uint64(conflictKeysMax + 5) {
		c.add([]uint64{i}, storage.Timestamp(i+10))
	}
	c.prune(5, 5)
	if c.len() != conflictKeysMax || len(c.last) != conflictKeysMax || c.horizon != 14 {
		t.Fatalf("%d %d %v", c.len(), len(c.last), c.horizon)
	}
	if !c.newer(1<<63, 13) || c.newer(1<<63, 14) || !c.newer(6, 15) {
		t.Error("newer")
	}
}

func TestAllocsPointRead(t *testing.T) {
	s := openMemory(t)
	defer mustClose(t, s)
	mustPut(t, s, "a", "1")
	key, buf := []byte("a"), make([]byte, 0, 16)
	if n := testing.AllocsPerRun(200, func() {
		r, _ := s.Snapshot(bg, 0)
		buf, _ = r.Get(bg, key, buf[:0])
		r.Close()
	}); n > 2 {
		t.Errorf("%v allocations", n)
	}
}

func TestAllocsInsert(t *testing.T) {
	s := openMemory(t)
	defer mustClose(t, s)
	key, value, stream := []byte("a0000"), make([]byte, 512), []byte("s")
	i := 0
	if n := testing.AllocsPerRun(200, func() {
		i++
		key[1], key[2] = byte(i), byte(i>>8)
		tx, _ := s.Begin(bg, storage.TxnOptions{})
		_, _ = tx.Has(bg, key)
		_ = tx.Set(key, value)
		_ = tx.AppendLog(stream, value)
		_, _ = tx.Commit(bg, storage.Synced)
		tx.Close()
	}); n > 24 {
		t.Errorf("%v allocations", n)
	}
}
