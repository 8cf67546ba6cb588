package doctor

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// mounted mounts a small disk in memory.
func mounted(t *testing.T, flags uintptr) string {
	t.Helper()
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", flags, "size=1m,mode=0700"); err != nil {
		t.Skip("this user may not mount: ", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// A full disk, and a read-only one.
func TestDisks(t *testing.T) {
	t.Run("full", func(t *testing.T) {
		dir := mounted(t, 0)
		want(t, Machine(t.Context(), config(t, "--data", dir), nil), "disk", Warning, "in memory")
		if err := os.WriteFile(filepath.Join(dir, "much"), make([]byte, 1<<20-8<<10), 0o600); err != nil {
			t.Fatal(err)
		}
		found := Machine(t.Context(), config(t, "--data", dir), nil)
		want(t, found, "space", Fault, "8.0 KB of 1.0 MB are free")
		if f, err := os.OpenFile(filepath.Join(dir, "much"), os.O_APPEND|os.O_WRONLY, 0); err != nil {
			t.Fatal(err)
		} else if _, err := f.Write(make([]byte, 8<<10)); err != nil {
			t.Fatal(err)
		} else {
			f.Close()
		}
		found = Machine(t.Context(), config(t, "--data", dir), nil)
		want(t, found, "space", Fault, "0 B of 1.0 MB are free")
		want(t, found, "sync", Note, "the disk is full")
		want(t, found, "folder", Good, "is writable")
	})
	t.Run("read-only", func(t *testing.T) {
		dir := mounted(t, unix.MS_RDONLY)
		want(t, Machine(t.Context(), config(t, "--data", dir), nil), "folder", Fault, "read-only file system")
		want(t, Machine(t.Context(), config(t, "--data", filepath.Join(dir, "new")), nil), "folder", Fault, "cannot be created")
	})
	t.Run("forbidden", func(t *testing.T) {
		if os.Getuid() == 0 {
			t.Skip("root may write everywhere")
		}
		dir := t.TempDir()
		if err := os.Chmod(dir, 0o500); err != nil {
			t.Fatal(err)
		}
		want(t, Machine(t.Context(), config(t, "--data", dir), nil), "folder", Fault, "permission denied")
	})
}
