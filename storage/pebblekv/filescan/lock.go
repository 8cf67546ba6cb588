package filescan

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

// Lock prevents servers from opening the store in a folder, until release is called. A folder without a lock file
// needs no lock, because no server can have it open. If locking fails for another reason than a lock, the folder is
// read without one. Errors: storage.ErrLocked if another process, usually a server, holds the lock.
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

// ForReading returns a file system for programs that read a store and write nothing. If the store's lock file
// cannot be opened for writing, because the file system is read-only or the file belongs to another user, its Lock
// takes a shared lock instead: several readers can hold it, but no reader and a server at the same time.
func ForReading(files vfs.FS) vfs.FS { return readers{files} }

type readers struct{ vfs.FS }

// Lock implements vfs.FS.
func (r readers) Lock(name string) (io.Closer, error) {
	lock, err := r.FS.Lock(name)
	if err == nil || !errors.Is(err, syscall.EROFS) && !errors.Is(err, syscall.EACCES) && !errors.Is(err, syscall.EPERM) {
		return lock, err
	}
	shared, err := shareLock(name)
	if errors.Is(err, fs.ErrNotExist) { // no process can create the file either, so no lock is needed
		return nothing{}, nil
	}
	return shared, err
}

// Unwrap implements vfs.FS.
func (r readers) Unwrap() vfs.FS { return r.FS }

// nothing is the lock used if none is needed.
type nothing struct{}

func (nothing) Close() error { return nil }
