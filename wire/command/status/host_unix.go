//go:build unix

package status

import "syscall"

// processUsage returns the processor time of the process in microseconds, and how often it has waited for a page of its
// memory from a disk (major page faults).
func processUsage() (userMicros, systemMicros, pageFaults int64) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0, 0, 0
	}
	return u.Utime.Nano() / 1000, u.Stime.Nano() / 1000, int64(u.Majflt)
}
