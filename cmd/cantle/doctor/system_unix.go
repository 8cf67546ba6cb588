//go:build unix

package doctor

import "golang.org/x/sys/unix"

// filesMax is how many files and connections this process may have open. A Go program
// begins by raising that to what its user may have.
func filesMax() (n uint64, known bool) {
	var l unix.Rlimit
	err := unix.Getrlimit(unix.RLIMIT_NOFILE, &l)
	return uint64(l.Cur), err == nil
}
