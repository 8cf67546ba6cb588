//go:build unix

package doctor

import "golang.org/x/sys/unix"

// filesMax returns how many files and connections this process may have open. The Go runtime has already raised
// that to the user's hard limit.
func filesMax() (n uint64, known bool) {
	var l unix.Rlimit
	err := unix.Getrlimit(unix.RLIMIT_NOFILE, &l)
	return uint64(l.Cur), err == nil
}
