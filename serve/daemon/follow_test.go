package daemon

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rs/zerolog"
)

// TestMakeRoom checks that the former copy of a followed server is deleted before the new one is made only if the disk has no
// space for both, and that what killed starts have left is deleted.
func TestMakeRoom(t *testing.T) {
	d := &Daemon{cfg: Config{Data: t.TempDir()}, log: zerolog.Nop()}
	there := func(name string) bool {
		_, err := os.Stat(filepath.Join(d.cfg.Data, name))
		return err == nil
	}
	for _, name := range []string{storeName, formerName, UnfinishedName} {
		if err := os.MkdirAll(filepath.Join(d.cfg.Data, name, "folder"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.beginFollowing(t.Context()); err != nil || there(formerName) || !there(UnfinishedName) {
		t.Errorf("a server that follows none: %v", err)
	}
	d.cfg.Follow = "backups"
	if err := os.WriteFile(filepath.Join(d.cfg.Data, storeName, "000001.log"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := d.beginFollowing(t.Context()); err != nil || there(UnfinishedName) || !there(storeName) {
		t.Errorf("a server that has a copy: %v", err)
	}
	d.makeRoom(1)
	if !there(storeName) {
		t.Error("the former copy is deleted although there is space")
	}
	d.makeRoom(1 << 60)
	if there(storeName) || there(formerName) {
		t.Error("the former copy is there although there is no space")
	}
	d.makeRoom(1 << 60) // without one it does nothing
}
