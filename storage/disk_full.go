package storage

import (
	"errors"
	"slices"
	"syscall"
)

// IsDiskFull reports whether err means that the disk, or the quota of the operating system's user, has no room.
func IsDiskFull(err error) bool {
	return errors.Is(err, ErrDiskFull) || slices.ContainsFunc(noRoom, func(code syscall.Errno) bool { return errors.Is(err, code) })
}
