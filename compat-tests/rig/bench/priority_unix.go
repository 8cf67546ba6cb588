//go:build unix

package main

import "syscall"

// lowestPriority makes the process give way to all others.
func lowestPriority() error { return syscall.Setpriority(syscall.PRIO_PROCESS, 0, 19) }
