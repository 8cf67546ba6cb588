package backup

import (
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/cantledb/cantle/storage"
)

// TestVerifyBesideWriter checks that Verify reports at most harmless findings while another goroutine makes
// backups, copies and merges logs, and deletes old backups, and for the remains of an interrupted backup.
func TestVerifyBesideWriter(t *testing.T) {
	w := newWorld(t, 1)
	dir := filepath.Join(t.TempDir(), "backups")
	take := func() {
		if _, err := Take(t.Context(), w.src(), InFolder(dir), Options{Program: "test", Now: time.Now}); err != nil {
			t.Error(err)
		}
	}
	w.write(50)
	take()
	var group sync.WaitGroup
	done := make(chan struct{})
	group.Go(func() {
		defer close(done)
		for i := range 24 {
			w.write(20)
			if _, err := Ship(t.Context(), w.src(), InFolder(dir)); err != nil {
				t.Error(err)
			}
			if i%3 == 0 {
				take()
			}
			if i%6 == 5 {
				if _, err := Prune(t.Context(), InFolder(dir), storage.Timestamp(w.times[len(w.times)-1])); err != nil {
					t.Error(err)
				}
			}
		}
	})
	harmful := func() {
		t.Helper()
		f, err := Open(t.Context(), InFolder(dir))
		if err != nil {
			t.Error(err)
			return
		}
		findings, err := f.Verify(t.Context(), nil)
		if err != nil {
			t.Error(err)
		}
		for _, x := range findings {
			if !x.Harmless() {
				t.Errorf("%+v", x)
			}
		}
	}
	for busy := true; busy; {
		select {
		case <-done:
			busy = false
		default:
			harmful()
		}
	}
	group.Wait()
	f, err := Open(t.Context(), InFolder(dir))
	if err != nil {
		t.Fatal(err)
	}
	line := filepath.Join(dir, f.Timelines[0].ID)
	if err := os.WriteFile(filepath.Join(line, logName, "0000000000000001-0000000000000009.log"+partSuffix), []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	unfinished := filepath.Join(line, basePrefix+"000099")
	if err := os.Mkdir(unfinished, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{unfinished + unfinishedSuffix, filepath.Join(unfinished, "MANIFEST-000001")} {
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	harmful()
	w.write(5)
	take()
	if left, _ := filepath.Glob(unfinished + "*"); len(left) > 0 {
		t.Errorf("the next backup leaves %q", left)
	}
}
