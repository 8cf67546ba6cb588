package pebblekv

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/cantledb/cantle/internal/testenv"
	"github.com/cantledb/cantle/storage"
)

// logFaults are the operations on a write-ahead log that the test lets fail, by their names.
var logFaults = map[string]errorfs.OpKind{"create": errorfs.OpCreate, "write": errorfs.OpFileWrite, "sync": errorfs.OpFileSyncData}

// TestLogThatFails checks that a child process ends with a message if its write-ahead log cannot be created, written or
// synced, also where Pebble would panic. All acknowledged writes are there when the store is opened again.
func TestLogThatFails(t *testing.T) {
	if args, ok := testenv.Arguments(t); ok {
		writeUntilDeath(t, args[0], logFaults[args[1]])
		return
	}
	for name := range logFaults {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			out, err := testenv.Again(t, dir, name).CombinedOutput()
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.ExitCode() != 3 || !strings.Contains(string(out), "the log of writes cannot be") || strings.Contains(string(out), "goroutine") {
				t.Fatalf("%v\n%.2000s", err, out)
			}
			s := mustOpen(t, dir, Options{})
			defer mustClose(t, s)
			acknowledged := strings.Count(string(out), "+")
			r, err := s.Snapshot(bg, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			for i := range acknowledged {
				if ok, err := r.Has(bg, []byte(strings.Repeat("k", i+1))); err != nil || !ok {
					t.Errorf("write %d of %d is lost: %v", i, acknowledged, err)
				}
			}
			if acknowledged < 10 {
				t.Errorf("%d writes were acknowledged", acknowledged)
			}
		})
	}
}

// writeUntilDeath writes to a store whose log soon fails, until the process ends, and prints a plus for each
// acknowledged write.
func writeUntilDeath(t *testing.T, dir string, kind errorfs.OpKind) {
	var armed atomic.Bool
	faults := errorfs.InjectorFunc(func(op errorfs.Op) error {
		if armed.Load() && op.Kind == kind && strings.HasSuffix(op.Path, ".log") {
			return syscall.EIO
		}
		return nil
	})
	s := mustOpen(t, dir, Options{FS: errorfs.Wrap(vfs.Default, faults), MemtableBytes: 64 << 10, Fatal: func(m string) { os.Stderr.WriteString(m) }})
	for i := range 1000 {
		armed.Store(i > 20)
		if _, err := put(s, strings.Repeat("k", i+1), strings.Repeat("v", 1000), storage.TxnOptions{}); err == nil {
			os.Stderr.WriteString("+")
		}
	}
}

// TestFailingFlushBlocksNoWriter checks that reads and writes go on while flushes fail, and that flushes are
// retried, but not at once.
func TestFailingFlushBlocksNoWriter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var tries atomic.Int64
		var broken atomic.Bool
		faults := errorfs.InjectorFunc(func(op errorfs.Op) error {
			if broken.Load() && op.Kind == errorfs.OpCreate && strings.HasSuffix(op.Path, ".sst") {
				tries.Add(1)
				return syscall.EIO
			}
			return nil
		})
		s := mustOpen(t, "db", Options{FS: errorfs.Wrap(vfs.NewMem(), faults), MemtableBytes: 64 << 10, ReserveBytes: -1})
		defer mustClose(t, s)
		broken.Store(true)
		begun := time.Now()
		for i := range 100 { // one and a half memtables: the first cannot be flushed
			mustPut(t, s, strings.Repeat("k", i+1), strings.Repeat("v", 1000))
			r, err := s.Snapshot(bg, 0)
			if err != nil {
				t.Fatal(err)
			}
			r.Close()
		}
		if took := time.Since(begun); took > 0 {
			t.Errorf("readers and writers waited %v", took)
		}
		time.Sleep(10 * failurePause)
		if n := tries.Load(); n < 5 || n > 12 {
			t.Errorf("%d tries in %v", n, 10*failurePause)
		}
		broken.Store(false)
		time.Sleep(10 * failurePause)
		if n := s.Metrics().Checkpoints; n == 0 {
			t.Error("nothing was flushed afterwards")
		}
	})
}
