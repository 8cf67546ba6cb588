//go:build unix

package daemon

import (
	"math"

	"golang.org/x/sys/unix"
)

// addressBytes returns half of the limit of address space in bytes (ulimit -v), the largest int64 without a limit, as
// the memory that may be used: a Go program reserves much address space that it never uses.
func addressBytes() int64 {
	var l unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_AS, &l); err != nil || l.Cur > math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(l.Cur / 2)
}
