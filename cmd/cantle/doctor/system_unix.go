//go:build unix

package doctor

import "golang.org/x/sys/unix"

// filesMax returns the number of files and connections that this process may have open. The Go runtime has already
// raised the limit to the hard limit of the user.
func filesMax() (n uint64, known bool) {
	var l unix.Rlimit
	err := unix.Getrlimit(unix.RLIMIT_NOFILE, &l)
	return uint64(l.Cur), err == nil
}
