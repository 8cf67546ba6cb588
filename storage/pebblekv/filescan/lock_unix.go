//go:build unix

package filescan

import (
	"errors"
	"io"
	"os"
	"syscall"
)

// shareLock locks the lock file of a store for reading, a lock that several readers can have, until the closer is
// closed. Errors: EAGAIN or EACCES if another process has locked it for writing; errors of the file system.
func shareLock(name string) (io.Closer, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	lock := syscall.Flock_t{Type: syscall.F_RDLCK, Whence: io.SeekStart}
	if err := syscall.FcntlFlock(file.Fd(), syscall.F_SETLK, &lock); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}
