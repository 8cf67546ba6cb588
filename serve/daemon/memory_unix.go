//go:build unix

package daemon

import (
	"math"

	"golang.org/x/sys/unix"
)

// addressBytes is what a limit of the address space (ulimit -v) leaves: half of it, as
// much of what a Go program reserves is never used.
func addressBytes() int64 {
	var l unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_AS, &l); err != nil || l.Cur > math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(l.Cur / 2)
}
