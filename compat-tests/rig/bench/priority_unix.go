//go:build unix

package main

import "syscall"

// lowestPriority gives the process the lowest scheduling priority.
func lowestPriority() error { return syscall.Setpriority(syscall.PRIO_PROCESS, 0, 19) }
