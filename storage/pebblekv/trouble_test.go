package pebblekv

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/cantledb/cantle/internal/testenv"
	"github.com/cantledb/cantle/storage"
)

// TestOpenOnAFullDisk opens, in a child process, a store whose log cannot be flushed, because its file system refuses
// each new table as a full disk does: the process ends with advice, instead of retrying for ever.
func TestOpenOnAFullDisk(t *testing.T) {
	if args, ok := testenv.Arguments(t); ok {
		full := errorfs.InjectorFunc(func(op errorfs.Op) error {
			if op.Kind == errorfs.OpCreate && strings.HasSuffix(op.Path, ".sst") {
				return syscall.ENOSPC
			}
			return nil
		})
		_, err := Open(args[0], Options{FS: errorfs.Wrap(vfs.Default, full), Fatal: func(m string) { os.Stderr.WriteString(m) }})
		t.Fatalf("opened: %v", err)
	}
	dir := t.TempDir()
	s := mustOpen(t, dir, Options{})
	mustPut(t, s, "a", "1")
	mustClose(t, s)
	out, err := testenv.Again(t, dir).CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 3 || !strings.Contains(string(out), "make room on the disk") {
		t.Fatalf("%v\n%s", err, out)
	}
	s = mustOpen(t, dir, Options{}) // with room it opens again
	defer mustClose(t, s)
	if _, err := put(s, "b", "1", storage.TxnOptions{}); err != nil {
		t.Error(err)
	}
}

// TestTroublesAreLoggedRarely checks that a repeated failure of background work is logged now and then, with the
// number of unlogged failures.
func TestTroublesAreLoggedRarely(t *testing.T) {
	now := time.Unix(1000, 0)
	tr := &failureHandler{now: func() time.Time { return now }}
	bad := errors.New("bad")
	if got := tr.message(bad); !strings.HasSuffix(got, "again: bad") {
		t.Errorf("first: %q", got)
	}
	for range 3 {
		now = now.Add(time.Second)
		if got := tr.message(bad); got != "" {
			t.Errorf("repeated: %q", got)
		}
	}
	now = now.Add(messageEvery)
	if got := tr.message(bad); !strings.Contains(got, "3 failures") {
		t.Errorf("later: %q", got)
	}
}

// TestDamageEndsNoOpening checks that repeated failures of background work while a store is opened do not end the
// process if the cause is damage, and end it if the cause is an I/O error. The reason: with damage, the open does not
// wait for that work, and later reads of the damaged keys return the error.
func TestDamageEndsNoOpening(t *testing.T) {
	for _, test := range []struct {
		err  error
		ends bool
	}{{pebble.ErrCorruption, false}, {syscall.EIO, true}} {
		ended := false
		o := Options{Fatal: func(string) {}, Exit: func(int) { ended = true }}
		tr := &failureHandler{log: logger{o}}
		tr.opening.Store(true)
		for range 2 * openingTries {
			tr.handle(test.err)
		}
		if ended != test.ends {
			t.Errorf("%v ends the process: %v", test.err, ended)
		}
	}
}
