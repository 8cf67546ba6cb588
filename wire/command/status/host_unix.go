//go:build unix

package status

import "syscall"

// pageFaults returns how often the process waited for a page from a disk.
func pageFaults() int64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return int64(u.Majflt)
}
