//go:build unix

package status

import "syscall"

// pageFaults returns how often the process has waited for a page of its memory from a disk (major page faults).
func pageFaults() int64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return int64(u.Majflt)
}
