//go:build unix

package wreck

import (
	"errors"
	"io"
	"os"
	"syscall"
)

// shareLock locks a file for reading. Errors: EAGAIN or EACCES if somebody has locked it for writing; what the file
// system says.
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
