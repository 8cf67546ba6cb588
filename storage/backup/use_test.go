package backup

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/cantledb/cantle/storage"
)

// TestRetentionEndsWithItsBackups checks that logs kept for the next manual backup are deleted once the folders of the
// earlier backups are gone, or the server has no --backup-to any more. The next backup keeps logs again, in the same
// timeline.
func TestRetentionEndsWithItsBackups(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t, 5)
	dir := filepath.Join(t.TempDir(), "backups")
	runner := func(folder string) *Runner {
		var to Archive
		if folder != "" {
			to = InFolder(folder)
		}
		return NewRunner(w.src(), Policy{To: to, Data: filepath.Dir(w.data)}, "test", time.Now, nil)
	}
	ends := func(folder string, want bool) {
		t.Helper()
		ended, err := runner(folder).endUnusedRetention(ctx)
		if err != nil || ended != want {
			t.Errorf("it ended: %v, %v", ended, err)
		}
	}
	kept := func() (logs int) {
		t.Helper()
		names, err := filepath.Glob(filepath.Join(w.data, "kept", "*.log"))
		if err != nil {
			t.Fatal(err)
		}
		return len(names)
	}
	ends("", false) // nothing was kept
	w.write(100)
	if _, _, err := runner(dir).TakeOnRequest(ctx, "weekly"); err != nil {
		t.Fatal(err)
	}
	for range 4 {
		w.write(2000)
	}
	ends(dir, false)
	if kept() == 0 {
		t.Fatal("no log was kept")
	}
	if err := os.RemoveAll(filepath.Join(dir, "weekly")); err != nil {
		t.Fatal(err)
	}
	ends(dir, true)
	if n := kept(); n != 0 {
		t.Errorf("%d logs are kept for nobody", n)
	}
	w.reopen()
	w.write(4000)
	if n := kept(); n != 0 {
		t.Errorf("%d logs are kept after a restart", n)
	}

	// Logs are also deleted if the folders exist but the server has no folder to write to.
	if _, _, err := runner(dir).TakeOnRequest(ctx, ""); err != nil {
		t.Fatal(err)
	}
	w.write(4000)
	ends("", true)
	w.write(100)
	if _, err := Ship(ctx, w.src(), InFolder(dir)); !errors.Is(err, storage.ErrLogTruncated) {
		t.Errorf("a segment over a gap: %v", err)
	}
	if _, _, err := runner(dir).TakeOnRequest(ctx, ""); err != nil {
		t.Fatal(err)
	}
	w.write(50)
	if _, err := Ship(ctx, w.src(), InFolder(dir)); err != nil {
		t.Fatal(err)
	}
	f, err := Open(t.Context(), InFolder(dir))
	if err != nil {
		t.Fatal(err)
	}
	if len(f.Timelines) != 1 {
		t.Errorf("%d timelines", len(f.Timelines))
	}
	last := w.times[len(w.times)-1]
	if got := restored(t, dir, last, false); len(got) != len(w.state(last)) {
		t.Errorf("%d keys of %d came back", len(got), len(w.state(last)))
	}
}
