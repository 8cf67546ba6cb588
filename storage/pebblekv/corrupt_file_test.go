package pebblekv

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cantledb/cantle/storage"
)

// TestBlame checks which file is reported as damaged. If a log is missing, empty, cut off or has a flipped bit, it
// is that log, also beside a table that the store no longer uses and has not deleted yet. If a table has writes
// that no log has, it is the manifest, which has lost its end.
func TestBlame(t *testing.T) {
	copied := func(from, to string) {
		t.Helper()
		b, err := os.ReadFile(from)
		if err == nil {
			err = os.WriteFile(to, b, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name string
		do   func(log string) error
	}{
		{"gone", os.Remove},
		{"emptied", func(log string) error { return os.Truncate(log, 0) }},
		{"cut", func(log string) error { return os.Truncate(log, 300) }},
		{"flipped", func(log string) error { flip(t, log, 200); return nil }},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			s := mustOpen(t, dir, Options{}).(*store)
			for life := range 2 {
				for i := range 100 {
					mustPut(t, s, fmt.Sprintf("k%d%03d", life, i), "v")
				}
				if life == 0 {
					if err := s.db.Flush(); err != nil {
						t.Fatal(err)
					}
				}
			}
			mustClose(t, s)
			copied(only(t, dir, "*.sst"), filepath.Join(dir, "000999.sst"))
			log := only(t, dir, "*.log")
			if err := c.do(log); err != nil {
				t.Fatal(err)
			}
			_, err := Open(dir, Options{})
			var damaged *storage.DamagedError
			if !errors.As(err, &damaged) || damaged.Damages[0].Kind != storage.DamagedLog || damaged.Damages[0].File != filepath.Base(log) {
				t.Errorf("it is told as %v", err)
			}
		})
	}
	t.Run("list of tables", func(t *testing.T) {
		dir := t.TempDir()
		s := mustOpen(t, dir, Options{}).(*store)
		mustPut(t, s, "a", "v")
		manifest := only(t, dir, "MANIFEST-*")
		info, err := os.Stat(manifest)
		if err != nil {
			t.Fatal(err)
		}
		mustPut(t, s, "b", "v")
		if err := s.db.Flush(); err != nil {
			t.Fatal(err)
		}
		mustPut(t, s, "c", "v")
		mustClose(t, s)
		if err := os.Truncate(manifest, info.Size()); err != nil {
			t.Fatal(err)
		}
		logs, _ := filepath.Glob(filepath.Join(dir, "*.log")) // logs from before the flush are no longer used
		for _, log := range logs[:len(logs)-1] {
			if err := os.Remove(log); err != nil {
				t.Fatal(err)
			}
		}
		_, err = Open(dir, Options{})
		var damaged *storage.DamagedError
		if !errors.As(err, &damaged) || damaged.Damages[0].Kind != storage.DamagedManifest || !strings.HasPrefix(damaged.Damages[0].File, "MANIFEST-") {
			t.Errorf("it is told as %v", err)
		}
	})
}
