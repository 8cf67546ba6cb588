package wreck

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/cantledb/cantle/storage"
)

// Lock keeps servers away from a folder, until release is called. A folder that no server
// can have open, as there is no file of its lock or it cannot be written to, needs none.
// Errors: storage.ErrLocked.
func Lock(dir string) (release func(), err error) {
	path := filepath.Join(dir, "LOCK")
	if _, err := os.Stat(path); err != nil {
		return func() {}, nil
	}
	lock, err := vfs.Default.Lock(path)
	if errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EACCES) && writable(path) {
		return nil, storage.ErrLocked
	}
	if err != nil {
		return func() {}, nil
	}
	return func() { _ = lock.Close() }, nil
}

func writable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().Perm()&0o200 != 0
}
