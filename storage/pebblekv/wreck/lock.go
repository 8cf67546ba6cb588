package wreck

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/cantledb/cantle/storage"
)

// Lock keeps servers away from a folder, until release is called. A folder that no server
// can have open, as there is no file of its lock, needs none.
// Errors: storage.ErrLocked.
func Lock(dir string) (release func(), err error) {
	path := filepath.Join(dir, "LOCK")
	if _, err := os.Stat(path); err != nil {
		return func() {}, nil
	}
	lock, err := ForReading(vfs.Default).Lock(path)
	if errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EACCES) && readable(path) {
		return nil, storage.ErrLocked
	}
	if err != nil {
		return func() {}, nil
	}
	return func() { _ = lock.Close() }, nil
}

func readable(path string) bool {
	file, err := os.Open(path)
	if err == nil {
		_ = file.Close()
	}
	return err == nil
}

// ForReading is a file system for those who write nothing: where the file of a lock cannot be written, as the file
// system takes no writes or the file is another user's, the lock is one that readers share, which keeps out
// a server and is kept out by one.
func ForReading(files vfs.FS) vfs.FS { return readers{files} }

type readers struct{ vfs.FS }

// Lock implements vfs.FS.
func (r readers) Lock(name string) (io.Closer, error) {
	lock, err := r.FS.Lock(name)
	if err == nil || !errors.Is(err, syscall.EROFS) && !errors.Is(err, syscall.EACCES) && !errors.Is(err, syscall.EPERM) {
		return lock, err
	}
	shared, err := shareLock(name)
	if errors.Is(err, fs.ErrNotExist) { // and nobody can make one
		return nothing{}, nil
	}
	return shared, err
}

// Unwrap implements vfs.FS.
func (r readers) Unwrap() vfs.FS { return r.FS }

// nothing is a lock that is not needed.
type nothing struct{}

func (nothing) Close() error { return nil }
