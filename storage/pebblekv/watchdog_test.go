package pebblekv

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/cantledb/cantle/internal/testenv"
	"github.com/cantledb/cantle/storage"
)

// TestWatchdog checks that the process ends with the watchdog's exit status if a sync of the log hangs: after a message
// that names the sync, or without one if writing the message hangs too.
func TestWatchdog(t *testing.T) {
	if args, ok := testenv.Arguments(t); ok {
		hang(t, args[0], args[1] != "")
	}
	for _, log := range []string{"", "too"} {
		dir := t.TempDir()
		out, err := testenv.Again(t, dir, log).CombinedOutput()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != 61 {
			t.Fatalf("%v\n%s", err, out)
		}
		if said := strings.Contains(string(out), ".log for "); said != (log == "") {
			t.Errorf("the log hangs %q, and there was: %s", log, out)
		}
		mustClose(t, mustOpen(t, dir, Options{Watchdog: time.Hour})) // the store opens again
	}
}

// hang opens a store whose next sync of the log never returns, and writes to it.
func hang(t *testing.T, dir string, logToo bool) {
	var hung atomic.Bool
	files := errorfs.Wrap(vfs.Default, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if hung.Load() && filepath.Ext(op.Path) == ".log" && (op.Kind == errorfs.OpFileSync || op.Kind == errorfs.OpFileSyncData) {
			select {}
		}
		return nil
	}))
	s := mustOpen(t, dir, Options{FS: files, Watchdog: 100 * time.Millisecond, Fatal: func(m string) {
		if logToo {
			select {}
		}
		os.Stderr.WriteString(m)
	}})
	mustPut(t, s, "a", "1")
	hung.Store(true)
	_, err := put(s, "b", "1", storage.TxnOptions{})
	t.Fatalf("still running: %v", err)
}
